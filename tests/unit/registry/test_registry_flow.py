"""The way of an object through the registry: created, changed, bound, deleted, and what is refused on the way."""

from __future__ import annotations

from typing import Any

import pytest

from schedlab.api.object import WatchEvent
from schedlab.apimachinery import field_selectors, selectors
from schedlab.apimachinery.errors import AlreadyExists, Conflict, Expired, Forbidden, NotFound, StatusError
from schedlab.kernel.clock import SECOND_NS, VirtualClock
from schedlab.kernel.randomness import SeededRandom
from schedlab.registry import DeleteOptions, ListOptions, Registry, WriteOptions, bootstrap
from schedlab.store import Store
from tests.support.registries import provide_accounts

OPTIONS = WriteOptions(user_agent="test/1.0")
SPEC = {"containers": [{"name": "c", "image": "i"}]}


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def registry(clock: VirtualClock) -> Registry:
    made = provide_accounts(Registry(Store(), clock, SeededRandom(1)))
    bootstrap(made)
    return made


def create(registry: Registry, resource: str, obj: dict[str, Any], namespace: str = "") -> Any:
    return registry.create(resource, registry.decode(resource, obj), namespace, OPTIONS)


def pod(registry: Registry, name: str = "p", **spec: Any) -> Any:
    return create(registry, "pods", {"metadata": {"name": name}, "spec": {**SPEC, **spec}}, "default")


def bind(registry: Registry, name: str, node: str = "n") -> None:
    registry.bind(name, {"metadata": {"name": name}, "target": {"kind": "Node", "name": node}}, "default")


def test_created_pod_is_pending_with_system_metadata(registry: Registry) -> None:
    """A new pod gets uid, time, generation, defaults, a priority and the two default tolerations."""
    made = pod(registry).raw

    assert made["metadata"]["generation"] == 1
    assert made["metadata"]["creationTimestamp"] == "2026-01-01T00:00:00Z"
    assert len(made["metadata"]["uid"]) == 36
    assert made["status"] == {"phase": "Pending", "qosClass": "BestEffort"}
    assert made["spec"]["priority"] == 0
    assert [each["key"] for each in made["spec"]["tolerations"]] == [
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
    ]
    assert made["metadata"]["managedFields"][0]["manager"] == "test"


def test_generated_names_avoid_taken_ones(registry: Registry) -> None:
    """A prefix gets five random characters, and a taken name another try."""
    first = create(registry, "configmaps", {"metadata": {"generateName": "c-"}}, "default")
    second = create(registry, "configmaps", {"metadata": {"generateName": "c-"}}, "default")

    assert first.name != second.name
    assert all(len(each.name) == 7 for each in (first, second))


def test_taken_names_are_refused(registry: Registry) -> None:
    """A second object of a name is refused, with a word on a deletion that is under way."""
    pod(registry)
    with pytest.raises(AlreadyExists, match=r'^pods "p" already exists$'):
        pod(registry)
    bind(registry, "p")
    registry.delete("pods", "p", "default")
    with pytest.raises(AlreadyExists, match=r'^object is being deleted: pods "p" already exists$'):
        pod(registry)


def test_resource_version_on_create_is_an_internal_error(registry: Registry) -> None:
    """kube-apiserver answers 500 here."""
    with pytest.raises(StatusError) as refused:
        create(registry, "configmaps", {"metadata": {"name": "c", "resourceVersion": "1"}}, "default")

    assert (refused.value.code, refused.value.message) == (
        500,
        "resourceVersion should not be set on objects to be created",
    )


def test_update_needs_the_newest_version(registry: Registry) -> None:
    """A stale resourceVersion is a conflict, a missing one means the newest, and nothing new keeps the version."""
    made = create(registry, "configmaps", {"metadata": {"name": "c"}, "data": {"a": "1"}}, "default")
    changed = made.thaw()
    changed["data"] = {"a": "2"}
    after = registry.update("configmaps", "c", changed, "default", OPTIONS).object
    same = registry.update("configmaps", "c", after.thaw(), "default", OPTIONS).object
    stale = made.thaw()
    with pytest.raises(Conflict, match="the object has been modified"):
        registry.update("configmaps", "c", stale, "default", OPTIONS)
    blind = made.thaw()
    del blind["metadata"]["resourceVersion"]
    last = registry.update("configmaps", "c", blind, "default", OPTIONS).object

    assert after.revision > made.revision
    assert same.revision == after.revision
    assert last.raw["data"] == {"a": "1"}


def test_status_and_spec_are_written_apart(registry: Registry) -> None:
    """The object's own endpoint cannot change the status, the status endpoint cannot change the spec."""
    pod(registry)
    spec_patch = b'{"spec":{"activeDeadlineSeconds":5},"status":{"phase":"Running"}}'
    spec = registry.patch("pods", "p", "merge", spec_patch, "default", OPTIONS).object.raw
    status_patch = b'{"spec":{"activeDeadlineSeconds":9},"status":{"phase":"Running"}}'
    status = registry.patch("pods", "p", "merge", status_patch, "default", OPTIONS, "status").object.raw

    assert (spec["spec"]["activeDeadlineSeconds"], spec["status"]["phase"]) == (5, "Pending")
    assert (status["spec"]["activeDeadlineSeconds"], status["status"]["phase"]) == (5, "Running")
    assert [each["metadata"]["generation"] for each in (spec, status)] == [2, 2]


def test_apply_creates_and_owns(registry: Registry) -> None:
    """Server-side apply makes a missing object and says who owns what."""
    wanted = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "1"}}
    written = registry.apply("configmaps", "c", wanted, "default", WriteOptions(field_manager="me"))
    other = {**wanted, "data": {"a": "2"}}

    assert written.created
    assert written.object.raw["metadata"]["managedFields"][0]["operation"] == "Apply"
    with pytest.raises(Conflict, match="Apply failed with 1 conflict"):
        registry.apply("configmaps", "c", other, "default", WriteOptions(field_manager="you"))


def test_dry_run_stores_nothing(registry: Registry) -> None:
    """A dry run answers what would be and changes nothing."""
    before = registry.revision
    obj = registry.decode("configmaps", {"metadata": {"name": "c"}})
    made = registry.create("configmaps", obj, "default", WriteOptions(dry_run=True))

    assert "resourceVersion" not in made.raw["metadata"]
    assert registry.revision == before


def test_binding_sets_node_and_condition_once(registry: Registry) -> None:
    """A binding assigns a pod, and a second one is a conflict."""
    pod(registry)
    bind(registry, "p")
    bound = registry.get("pods", "p", "default").raw

    assert bound["spec"]["nodeName"] == "n"
    assert bound["status"]["conditions"][0]["type"] == "PodScheduled"
    with pytest.raises(Conflict, match='pods/binding "p": pod p is already assigned to node "n"'):
        bind(registry, "p", "other")


def test_gated_pod_cannot_be_bound(registry: Registry) -> None:
    """A pod with gates says why it waits and refuses a binding."""
    made = pod(registry, schedulingGates=[{"name": "g"}])

    assert made.raw["status"]["conditions"][0]["reason"] == "SchedulingGated"
    with pytest.raises(Conflict, match=r"has non-empty \.spec\.schedulingGates"):
        bind(registry, "p")


def test_pods_without_node_go_at_once(registry: Registry) -> None:
    """A pod on a node gets its grace period, shortened by a later deletion; one without node is gone."""
    pod(registry, "waiting")
    pod(registry, "bound", nodeName="n")
    gone = registry.delete("pods", "waiting", "default")
    marked = registry.delete("pods", "bound", "default")
    sooner = registry.delete("pods", "bound", "default", DeleteOptions(grace_period_seconds=5))
    forced = registry.delete("pods", "bound", "default", DeleteOptions(grace_period_seconds=0))

    assert (gone.immediate, marked.immediate, sooner.immediate, forced.immediate) == (True, False, False, True)
    assert marked.object is not None
    assert marked.object.raw["metadata"]["deletionTimestamp"] == "2026-01-01T00:00:30Z"
    assert sooner.object is not None
    assert sooner.object.raw["metadata"]["deletionTimestamp"] == "2026-01-01T00:00:05Z"
    with pytest.raises(NotFound):
        registry.get("pods", "bound", "default")


def test_finalizers_hold_a_deleted_object(registry: Registry) -> None:
    """An object with finalizers is marked; the update that removes the last one removes it."""
    create(registry, "configmaps", {"metadata": {"name": "c", "finalizers": ["a.b/c"]}}, "default")
    held = registry.delete("configmaps", "c", "default")
    registry.patch("configmaps", "c", "merge", b'{"metadata":{"finalizers":null}}', "default", OPTIONS)

    assert not held.immediate
    with pytest.raises(NotFound):
        registry.get("configmaps", "c", "default")


def test_preconditions_of_a_deletion(registry: Registry) -> None:
    """A deletion that means another object is a conflict."""
    pod(registry)
    with pytest.raises(Conflict, match="the UID in the precondition"):
        registry.delete("pods", "p", "default", DeleteOptions(uid="other"))
    with pytest.raises(Conflict, match="the ResourceVersion in the precondition"):
        registry.delete("pods", "p", "default", DeleteOptions(resource_version="1"))


def test_namespaces_end_in_two_steps(registry: Registry) -> None:
    """A deleted namespace takes nothing new and goes when its finalizer has gone; three namespaces never go."""
    create(registry, "namespaces", {"metadata": {"name": "x"}})
    ending = registry.delete("namespaces", "x").object
    assert ending is not None
    with pytest.raises(Forbidden, match="because it is being terminated"):
        create(registry, "configmaps", {"metadata": {"name": "c"}}, "x")
    registry.update("namespaces", "x", {**ending.thaw(), "spec": {}}, subresource="finalize")

    assert ending.view.status.phase == "Terminating"
    with pytest.raises(NotFound):
        registry.get("namespaces", "x")
    with pytest.raises(NotFound, match='namespaces "x" not found'):
        create(registry, "configmaps", {"metadata": {"name": "c"}}, "x")
    with pytest.raises(Forbidden, match="this namespace may not be deleted"):
        registry.delete("namespaces", "default")


def test_priority_comes_from_the_class(registry: Registry) -> None:
    """The class decides on the priority; a missing class and another number are refused."""
    made = pod(registry, priorityClassName="system-node-critical")

    assert made.raw["spec"]["priority"] == 2_000_001_000
    with pytest.raises(Forbidden, match="no PriorityClass with name nope was found"):
        pod(registry, "q", priorityClassName="nope")
    with pytest.raises(Forbidden, match=r"the integer value of priority \(5\) must not be provided"):
        pod(registry, "q", priority=5)


def test_lists_select_and_page(registry: Registry) -> None:
    """Labels and fields select; pages of one list show one revision and end with an empty token."""
    for number in range(4):
        metadata = {"name": f"c{number}", "labels": {"even": str(number % 2 == 0)}}
        create(registry, "configmaps", {"metadata": metadata}, "default")
    even = ListOptions(labels=selectors.parse("even=True"))
    one = ListOptions(fields=field_selectors.parse("metadata.name=c1"))
    first = registry.list("configmaps", "default", ListOptions(limit=3))
    rest = registry.list("configmaps", "default", ListOptions(limit=3, continue_token=first.continue_token))

    assert [item.name for item in registry.list("configmaps", selection=even).items] == ["c0", "c2"]
    assert [item.name for item in registry.list("configmaps", "default", one).items] == ["c1"]
    assert ([item.name for item in first.items], first.remaining) == (["c0", "c1", "c2"], 1)
    assert ([item.name for item in rest.items], rest.continue_token) == (["c3"], "")
    assert rest.revision == first.revision


def test_watches_see_through_their_selector(registry: Registry) -> None:
    """An object that comes to match is added, one that ceases to match is deleted."""
    seen: list[tuple[str, str]] = []

    def handler(event: WatchEvent) -> None:
        seen.append((event.type, event.object.raw["data"]["v"]))

    selection = ListOptions(labels=selectors.parse("on=yes"))
    registry.watch("configmaps", registry.revision, handler, "default", selection)
    create(registry, "configmaps", {"metadata": {"name": "c"}, "data": {"v": "0"}}, "default")
    for value, label in (("1", '"yes"'), ("2", '"yes"'), ("3", "null"), ("4", "null")):
        text = f'{{"metadata":{{"labels":{{"on":{label}}}}},"data":{{"v":"{value}"}}}}'
        registry.patch("configmaps", "c", "merge", text.encode(), "default", OPTIONS)

    assert seen == [("ADDED", "1"), ("MODIFIED", "2"), ("DELETED", "2")]


def test_old_revisions_are_expired(clock: VirtualClock) -> None:
    """A watch from a revision that is no longer kept answers Expired."""
    store = Store()
    registry = provide_accounts(Registry(store, clock, SeededRandom(1)))
    bootstrap(registry)
    store.compact(store.revision)
    with pytest.raises(Expired, match=r"The resourceVersion for the provided watch is too old\."):
        registry.watch("pods", 1, lambda event: None)


def test_events_have_two_forms(registry: Registry) -> None:
    """An event written in its new form is read in both."""
    event = {
        "metadata": {"name": "e"},
        "eventTime": "2026-01-01T00:00:00.000001Z",
        "reason": "R",
        "action": "A",
        "type": "Normal",
        "reportingController": "x",
        "reportingInstance": "y",
        "regarding": {"kind": "Pod", "namespace": "default", "name": "p"},
        "note": "hi",
    }
    create(registry, "events.events.k8s.io", event, "default")
    old = registry.get("events", "e", "default").raw
    new = registry.get("events.events.k8s.io", "e", "default").raw

    assert (old["apiVersion"], old["message"], old["involvedObject"]["name"]) == ("v1", "hi", "p")
    assert (new["apiVersion"], new["note"], new["regarding"]["name"]) == ("events.k8s.io/v1", "hi", "p")


def test_same_inputs_give_the_same_bytes() -> None:
    """Two registries with one seed and the same requests hold the same objects, bit for bit."""

    def run() -> list[bytes]:
        clock = VirtualClock()
        registry = provide_accounts(Registry(Store(), clock, SeededRandom(7)))
        bootstrap(registry)
        pod(registry)
        clock.advance_to(clock.now_ns() + SECOND_NS)
        bind(registry, "p")
        return [item.json() for item in registry.list("pods").items]

    assert run() == run()
