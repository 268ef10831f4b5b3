"""When what came of a write is used again, and when it is worked out anew.

That both come to the same is tests/property/test_repeats.py.
"""

from __future__ import annotations

from typing import Any

import pytest

from schedlab.apimachinery.errors import Invalid
from schedlab.apimachinery.time import format_time
from schedlab.kernel.clock import SECOND_NS, VirtualClock
from schedlab.kernel.randomness import SeededRandom
from schedlab.registry import Registry, User, WriteOptions, bootstrap
from schedlab.registry.admission.chain import Admission, Attributes
from schedlab.registry.core import Core
from schedlab.store import Store
from tests.support.registries import provide_accounts


class TickingClock(VirtualClock):
    """A clock that can go on by a second whenever it is asked."""

    ticks = False

    def now_ns(self) -> int:
        if self.ticks:
            self.advance_to(super().now_ns() + SECOND_NS)
        return super().now_ns()


class Counted:
    """A registry that counts how often admission is asked about pods: once whenever a write is worked out."""

    def __init__(self, *, repeats: bool = True) -> None:
        self.clock = TickingClock()
        self.registry = provide_accounts(Registry(Store(), self.clock, SeededRandom(1)))
        bootstrap(self.registry)
        self.asked = 0
        self.registry.admit(Admission("Count", mutate=self._count, resources=("pods",), repeats=repeats))
        # The account of the namespace is made for the first pod.
        self.create("first")
        self.asked = 0

    def _count(self, _attributes: Attributes, _core: Core) -> None:
        self.asked += 1

    def create(self, name: str, options: WriteOptions | None = None, **spec: Any) -> dict[str, Any]:
        pod = {"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i:1"}], **spec}}
        chosen = WriteOptions() if options is None else options
        return self.registry.create("pods", self.registry.decode("pods", pod), "default", chosen).thaw()

    def report(self, name: str, address: str) -> dict[str, Any]:
        status = {"phase": "Running", "podIP": address, "podIPs": [{"ip": address}]}
        patch = {"status": status}
        return self.registry.patch("pods", name, "merge", patch, "default", subresource="status").object.thaw()


def test_the_third_of_three_like_pods_is_not_worked_out() -> None:
    """One that comes once is not worth remembering; the second is."""
    world = Counted()
    made = [world.create(f"web-{number}", hostNetwork=True) for number in range(5)]

    assert world.asked == 2
    assert [pod["metadata"]["name"] for pod in made] == [f"web-{number}" for number in range(5)]
    assert len({pod["metadata"]["uid"] for pod in made}) == 5
    assert len({pod["spec"]["volumes"][-1]["name"] for pod in made}) == 5


def test_what_asks_somebody_outside_is_always_asked() -> None:
    world = Counted(repeats=False)
    for number in range(5):
        world.create(f"web-{number}")

    assert world.asked == 5


def test_a_plugin_that_comes_later_is_asked() -> None:
    world = Counted()
    for number in range(4):
        world.create(f"web-{number}")
    later: list[str] = []
    world.registry.admit(
        Admission(
            "Later", mutate=lambda attributes, _: later.append(attributes.name), resources=("pods",), repeats=True
        )
    )
    for number in range(4, 9):
        world.create(f"web-{number}")

    assert later == ["web-4"]


def test_a_look_up_by_the_name_itself_keeps_it_from_being_remembered() -> None:
    """What is found may differ from name to name."""
    world = Counted()
    found: list[bool] = []

    def look(attributes: Attributes, core: Core) -> None:
        found.append(core.find("configmaps", "default", attributes.name) is not None)

    world.registry.admit(Admission("Look", mutate=look, resources=("pods",), repeats=True))
    for number in range(5):
        world.create(f"web-{number}")

    assert len(found) == 5


@pytest.mark.parametrize(
    ("resource", "body"),
    [
        ("limitranges", {"spec": {"limits": [{"type": "Container", "default": {"cpu": "1"}}]}}),
        ("priorityclasses.scheduling.k8s.io", {"value": 7, "globalDefault": True}),
        ("serviceaccounts", {"automountServiceAccountToken": False}),
        ("namespaces", {}),
        ("resourcequotas", {"spec": {"hard": {"pods": "9"}}}),
    ],
)
def test_a_change_of_anything_that_was_read_makes_it_be_worked_out_anew(resource: str, body: dict[str, Any]) -> None:
    world = Counted()
    for number in range(4):
        world.create(f"web-{number}")
    before, namespaced = world.asked, world.registry.resource(resource).namespaced
    decoded = world.registry.decode(resource, {"metadata": {"name": "new"}, **body})
    world.registry.create(resource, decoded, "default" if namespaced else "")
    world.create("web-9")

    assert world.asked == before + 1


def test_a_change_of_what_was_not_read_changes_nothing() -> None:
    world = Counted()
    for number in range(4):
        world.create(f"web-{number}")
    before = world.asked
    world.registry.create("configmaps", world.registry.decode("configmaps", {"metadata": {"name": "x"}}), "default")
    world.create("web-9")

    assert world.asked == before


@pytest.mark.parametrize("change", ["manager", "user", "spec", "dry run", "name"])
def test_whatever_counts_is_part_of_being_alike(change: str) -> None:
    world = Counted()
    for number in range(4):
        world.create(f"web-{number}")
    before = world.asked
    options = {
        "manager": WriteOptions(field_manager="else"),
        "user": WriteOptions(user=User("ann")),
        "dry run": WriteOptions(dry_run=True),
    }.get(change)
    world.create(
        "web.dotted" if change == "name" else "web-9", options, **{"hostPID": True} if change == "spec" else {}
    )

    assert world.asked == before + 1


def test_the_second_of_a_request_is_a_value_like_others() -> None:
    world = Counted()
    for number in range(4):
        world.create(f"web-{number}")
    before = world.asked
    world.clock.advance_to(world.clock.now_ns() + 90 * SECOND_NS)
    world.create("web-9")

    assert world.asked == before
    stored = world.registry.get("pods", "web-9", "default").raw["metadata"]
    assert stored["creationTimestamp"] == "2026-01-01T00:01:30Z"
    assert [entry["time"] for entry in stored["managedFields"]] == ["2026-01-01T00:01:30Z"]


def test_a_write_in_whose_course_a_second_ends_is_not_remembered() -> None:
    """Several times stand in it, and only the first was a blank."""
    world = Counted()
    world.clock.ticks = True
    for number in range(4):
        name, started = f"web-{number}", format_time(world.clock.now_ns())
        made = world.create(name)["metadata"]
        reported = world.report(name, f"10.0.0.{number}")["metadata"]["managedFields"][-1]

        assert made["creationTimestamp"] > started
        assert reported["subresource"] == "status"
        assert reported["time"] > made["creationTimestamp"]


@pytest.mark.parametrize("prefix", [{}, {"generateName": ""}, {"generateName": None}])
def test_a_pod_whose_name_is_null_is_like_no_pod_with_a_name(prefix: dict[str, Any]) -> None:
    world = Counted()

    def create(name: str | None) -> None:
        pod = {"metadata": {**prefix, "name": name}, "spec": {"containers": [{"name": "c", "image": "i:1"}]}}
        world.registry.create_written("pods", pod, "default")

    for number in range(4):
        create(f"web-{number}")

    with pytest.raises(Invalid, match="name or generateName is required"):
        create(None)


def test_pods_that_kubectl_applies_are_alike() -> None:
    """The annotation with what was applied holds the name, too."""
    world = Counted()
    world.asked = 0
    for number in range(4):
        text = f'{{"metadata":{{"name":"web-{number}"}}}}\n'
        metadata = {"name": f"web-{number}", "annotations": {"kubectl.kubernetes.io/last-applied-configuration": text}}
        pod = {"metadata": metadata, "spec": {"containers": [{"name": "c", "image": "i:1"}]}}
        made = world.registry.create_written("pods", pod, "default").thaw()

        assert made["metadata"]["annotations"] == metadata["annotations"]
    assert world.asked == 2


def test_where_nothing_is_alike_only_some_requests_are_tried() -> None:
    """To describe a request costs, too; once something is alike again, all are tried."""
    world = Counted()
    for number in range(100):
        world.create(f"lone-{number}", hostname=f"host-{number}")
    world.asked = 0
    for number in range(40):
        world.create(f"web-{number}")

    assert 2 < world.asked < 20


def test_reports_of_like_pods_differ_in_their_addresses() -> None:
    world = Counted()
    for number in range(5):
        world.create(f"web-{number}")
    world.asked = 0
    made = [world.report(f"web-{number}", f"10.0.0.{number}") for number in range(5)]

    assert world.asked == 2
    assert [pod["status"]["podIP"] for pod in made] == [f"10.0.0.{number}" for number in range(5)]
    assert all(
        f'k:{{"ip":"10.0.0.{number}"}}' in str(pod["metadata"]["managedFields"]) for number, pod in enumerate(made)
    )


def test_a_report_that_changes_nothing_is_not_written() -> None:
    world = Counted()
    for number in range(4):
        world.create(f"web-{number}")
        world.report(f"web-{number}", f"10.0.0.{number}")
    revision = world.registry.revision
    world.report("web-3", "10.0.0.3")

    assert world.registry.revision == revision


def test_a_report_about_another_pod_of_that_name_is_refused() -> None:
    """Preconditions are not among what may differ."""
    world = Counted()
    for number in range(4):
        world.create(f"web-{number}")
        world.report(f"web-{number}", f"10.0.0.{number}")
    patch = {"metadata": {"uid": "another"}, "status": {"phase": "Running"}}
    with pytest.raises(Invalid, match="field is immutable"):
        world.registry.patch("pods", "web-3", "merge", patch, "default", subresource="status")
