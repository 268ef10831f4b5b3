"""Playing records: order, time, what is tolerated, pause and seek."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from schedlab.kernel.clock import SECOND_NS
from schedlab.mirror.applier import Applier, EventWord
from schedlab.mirror.recording import RecordedEvent
from schedlab.mirror.replayer import Replayer
from tests.support.clusters import Lab


def _pod(name: str, node: str = "", **metadata: Any) -> dict[str, Any]:
    spec: dict[str, Any] = {"containers": [{"name": "c", "image": "i"}], "serviceAccountName": "robot"}
    if node:
        spec["nodeName"] = node
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {"name": name, "namespace": "default", "uid": "there", "resourceVersion": "9", **metadata},
        "spec": spec,
    }


def _event(second: float, word: EventWord, obj: Mapping[str, Any], resource: str = "pods") -> RecordedEvent:
    return RecordedEvent(int(second * SECOND_NS), word, resource, obj)


def _play(lab: Lab, *events: RecordedEvent, speed: float = 0) -> Replayer:
    replayer = Replayer(events, Applier(lab.registry), lab.clock, speed=speed)
    replayer.start()
    return replayer


def test_pods_that_were_created_are_scheduled_here() -> None:
    lab = Lab(nodes=1)
    replayer = _play(lab, _event(0, "Add", _pod("a")), _event(0, "Update", _pod("a", "their-node")))
    lab.run()

    assert lab.nodes_of_pods() == {"a": "node-0"}
    assert replayer.state == "ended"
    assert replayer.applied.skipped == {"Update pods: bound in the source": 1}


def test_what_cannot_happen_here_is_counted_and_ends_nothing() -> None:
    lab = Lab(nodes=1)
    changed = _pod("a")
    changed["spec"]["containers"].append({"name": "more", "image": "i"})
    replayer = _play(
        lab,
        _event(0, "Add", _pod("a")),
        _event(0, "Add", _pod("a")),
        _event(0, "Delete", _pod("never")),
        _event(0, "Update", _pod("unknown")),
        _event(0, "Update", changed),
        _event(0, "Add", {**_pod("Bad_Name")}),
        _event(0, "Add", _pod("b")),
    )
    lab.run()

    assert sorted(lab.names("pods")) == ["a", "b"]
    assert replayer.applied.tolerated == {
        "Add pods: AlreadyExists": 1,
        "Delete pods: NotFound": 1,
        "Update pods: NotFound": 1,
        "Update pods: Invalid": 1,
    }
    assert replayer.applied.failed == {"Add pods": 1}
    assert "Bad_Name" in replayer.applied.problems[-1]


def test_the_times_of_the_record_count_at_a_speed() -> None:
    lab = Lab(nodes=1)
    events = [_event(1000 + 10 * number, "Add", _pod(f"p-{number}")) for number in range(4)]
    _play(lab, *events, speed=2)
    lab.run(0.1)
    seen = [len(lab.names("pods"))]
    for _ in range(3):
        lab.run(5)
        seen.append(len(lab.names("pods")))

    assert seen == [1, 2, 3, 4]


def test_a_pause_holds_everything_and_time_goes_on_from_there() -> None:
    lab = Lab(nodes=1)
    events = [_event(10 * number, "Add", _pod(f"p-{number}")) for number in range(3)]
    replayer = _play(lab, *events, speed=1)
    lab.run(1)
    replayer.pause()
    lab.run(100)
    paused = len(lab.names("pods"))
    replayer.start()
    lab.run(0.1)
    resumed = len(lab.names("pods"))
    lab.run(11)

    assert (paused, resumed, len(lab.names("pods"))) == (1, 2, 3)


def test_another_speed_counts_from_the_moment_that_is_reached() -> None:
    lab = Lab(nodes=1)
    replayer = _play(lab, _event(0, "Add", _pod("a")), _event(100, "Add", _pod("b")), speed=1)
    lab.run(50)
    replayer.change_speed(10)
    lab.run(4)
    before = lab.names("pods")
    lab.run(2)

    assert before == ["a"]
    assert lab.names("pods") == ["a", "b"]


def test_a_replay_without_waiting_can_be_slowed_down_and_one_that_waits_hurried() -> None:
    lab = Lab(nodes=1)
    replayer = _play(lab, *(_event(10 * number, "Add", _pod(f"p-{number}")) for number in range(3)), speed=0.001)
    lab.run(1)
    replayer.change_speed(0)
    lab.run(1)

    assert len(lab.names("pods")) == 3
    assert replayer.state == "ended"


def test_seeking_leaves_out_what_lies_between() -> None:
    lab = Lab(nodes=1)
    replayer = Replayer(
        [_event(number, "Add", _pod(f"p-{number}")) for number in range(5)], Applier(lab.registry), lab.clock
    )
    replayer.seek(3)
    replayer.start()
    lab.run()

    assert lab.names("pods") == ["p-3", "p-4"]


def test_what_is_not_wanted_is_left_out() -> None:
    lab = Lab(nodes=1)
    applier = Applier(lab.registry, wanted=lambda resource, _: resource != "pods")
    namespace = {"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": "shop"}}
    replayer = Replayer([_event(0, "Add", namespace, "namespaces"), _event(0, "Add", _pod("a"))], applier, lab.clock)
    replayer.start()
    lab.run()

    assert "shop" in lab.names("namespaces")
    assert lab.names("pods") == []
    assert replayer.applied.skipped == {"Add pods: not asked for": 1}
