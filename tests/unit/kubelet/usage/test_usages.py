"""What containers use: by objects of their own, by objects for many, by annotation."""

from __future__ import annotations

import pytest

from tests.support.usage import Metered


@pytest.fixture
def metered() -> Metered:
    return Metered()


def use(cpu: str, *containers: str) -> dict[str, object]:
    """Say that containers use so much CPU."""
    group: dict[str, object] = {"usage": {"cpu": {"value": cpu}}}
    return {**group, "containers": list(containers)} if containers else group


def test_by_annotation(metered: Metered) -> None:
    """Every container uses what the pod says, a little if it says nothing, nothing if it cannot be read."""
    metered.add_pod("plain")
    metered.add_pod("said", "a", "b", annotations={"kwok.x-k8s.io/usage-cpu": "250m"})
    metered.add_pod("wrong", annotations={"kwok.x-k8s.io/usage-cpu": "much"})
    metered.plane.run_for(15)
    found = metered.measurements.pod("said", "default")
    assert found is not None

    assert (metered.cpu("plain"), metered.cpu("said")) == ({"c": 0.001}, {"a": 0.25, "b": 0.25})
    assert metered.cpu("wrong") == {"c": 0.0}
    assert found.containers["a"].memory_bytes == 2**20


def test_of_one_pod(metered: Metered) -> None:
    """Its own object counts alone, whatever others say; containers that it does not name use nothing."""
    metered.add_pod("p", "a", "b", annotations={"kwok.x-k8s.io/usage-cpu": "1"})
    metered.say_for_all("all", use("2"))
    spec = {"usages": [use("3", "a")]}
    metered.plane.create("resourceusages.kwok.x-k8s.io", {"metadata": {"name": "p"}, "spec": spec})
    metered.plane.run_for(15)

    assert metered.cpu("p") == {"a": 3.0, "b": 0.0}


def test_of_many_pods(metered: Metered) -> None:
    """The first object that selects the pod and speaks of the container; one that names it before one that names none."""
    metered.say_for_all("a", use("1"), matchNames=["other"])
    metered.say_for_all("b", use("2", "a"), matchNamespaces=["default"])
    metered.say_for_all("c", use("3"), use("4", "b"))
    metered.add_pod("p", "a", "b", "c")
    metered.add_pod("other", "a")
    metered.plane.run_for(15)

    assert metered.cpu("p") == {"a": 2.0, "b": 4.0, "c": 3.0}
    assert metered.cpu("other") == {"a": 1.0}


def test_expressions(metered: Metered) -> None:
    """They are worked out for the time of the measurement; a broken one counts as nothing, a value counts before one."""
    metered.say("grows", {"cpu": {"expression": 'Quantity("100m") * pod.SinceSecond()'}})
    metered.say("broken", {"cpu": {"expression": "pod.nothing"}})
    metered.say("both", {"cpu": {"expression": "1", "value": "2"}})
    for name in ("grows", "broken", "both"):
        metered.add_pod(name)
    metered.plane.run_for(29)

    assert metered.cpu("grows") == {"c": 1.5}
    assert (metered.cpu("broken"), metered.cpu("both")) == ({"c": 0.0}, {"c": 2.0})


def test_dice_fall_as_they_fell(metered: Metered) -> None:
    """Who looks twice sees the same; other pods and other times have other numbers."""
    metered.say_for_all("all", {"usage": {"cpu": {"expression": "Rand()"}}})
    metered.add_pod("p")
    metered.add_pod("q")
    metered.plane.run_for(15)
    first, again, other = metered.cpu("p"), metered.cpu("p"), metered.cpu("q")
    metered.plane.run_for(15)

    assert first == again
    assert len({value["c"] for value in (first, other, metered.cpu("p"))}) == 3
