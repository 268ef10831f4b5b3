"""The log keeps every attempt, tells when one is complete, and forgets the oldest pods at its limit."""

from __future__ import annotations

import weakref

from schedlab.decisions.log import MOVES_MAX, DecisionLog, Move
from schedlab.decisions.packing import BLOCK_ATTEMPTS
from schedlab.scheduler.framework.record import CycleRecord, QueueMove
from schedlab.scheduler.framework.types import PodInfo
from tests.unit.decisions import records


def test_attempts_are_kept_in_order() -> None:
    log = DecisionLog()
    for number in (1, 2):
        log.cycle(records.failed(number))

    story = log.find("default", "p")

    assert story is not None
    assert [attempt.number for attempt in story.attempts] == [1, 2]


def test_failed_cycle_is_complete_at_once_and_a_scheduled_one_after_its_binding() -> None:
    log = DecisionLog()
    heard: list[str] = []
    log.on_change(heard.append)

    log.cycle(records.scheduled(1))
    assert heard == []
    log.binding(records.bound(1))
    log.cycle(records.failed(2))

    assert heard == ["uid-p", "uid-p"]
    story = log.story("uid-p")
    assert story is not None
    assert story.attempts[0].binding is not None
    assert story.attempts[1].binding is None


def test_pod_of_the_same_name_starts_a_story_of_its_own() -> None:
    log = DecisionLog()
    log.cycle(records.failed(1))
    again = records.failed(1)
    again.pod = records.pod(uid="uid-2")
    log.cycle(again)

    story = log.find("default", "p")

    assert story is not None
    assert story.uid == "uid-2"
    assert len(story.attempts) == 1
    assert log.story("uid-p") is not None


def test_oldest_pods_are_forgotten_and_counted() -> None:
    log = DecisionLog(bytes_max=5000)
    for number in range(5):
        record = records.failed()
        record.pod = records.pod(f"p{number}", f"uid-{number}")
        log.cycle(record)

    assert log.size_bytes <= 5000
    assert log.forgotten_pods == 5 - len(log)
    assert log.find("default", "p0") is None
    assert log.find("default", "p4") is not None


def test_long_messages_count() -> None:
    """A plugin or an extender may answer with a megabyte; the limit holds for that, too."""
    log = DecisionLog(bytes_max=5_000_000)
    for number in range(10):
        log.cycle(records.failed(pod=records.pod(f"p{number}", f"uid-{number}"), failure_message="x" * 1_000_000))

    assert len(log) == 4
    assert log.forgotten_pods == 6


def test_a_pod_that_stays_does_not_hold_those_that_are_forgotten() -> None:
    """It has attempts in every block, each of which stays as a whole."""
    log = DecisionLog(bytes_max=300_000)

    def attempt(number: int) -> weakref.ref[PodInfo]:
        name = "p" if number % 50 else "stays"
        record = records.failed(number, pod=records.pod(name, f"uid-{number}" if number % 50 else "stays"))
        log.cycle(record)
        return weakref.ref(record.pod)

    pods = [attempt(number) for number in range(1, 1001)]

    story = log.story("stays")
    assert story is not None
    assert len(story.attempts) == 20
    assert [attempt.head.pod.uid for attempt in story.attempts] == ["stays"] * 20
    # Those of the open block are there, too.
    assert sum(pod() is not None for pod in pods) < len(log) + 20 + BLOCK_ATTEMPTS


def test_node_names_are_shared_between_attempts() -> None:
    log = DecisionLog()
    log.cycle(records.scheduled(1, node_names=["a", "b", "c", "d"]))
    log.cycle(records.scheduled(2, node_names=["a", "b", "c", "d"]))

    story = log.story("uid-p")

    assert story is not None
    first, second = (attempt.cycle().node_names for attempt in story.attempts)
    assert first is second


def test_moves_in_the_queue_are_kept_from_before_the_first_attempt_on() -> None:
    log = DecisionLog()
    log.queue_move(QueueMove(records.pod(), 1, "active", "UnschedulablePodAdd"))
    log.cycle(records.failed())
    hints = (("NodeAdd", "NodeAffinity", "Queue", ""),)
    log.queue_move(QueueMove(records.pod(), 2, "unschedulable", "ScheduleAttemptFailure", None, hints))

    story = log.story("uid-p")
    assert story is not None
    assert story.moves == (
        Move(1, "active", "UnschedulablePodAdd", (), None),
        Move(2, "unschedulable", "ScheduleAttemptFailure", hints, None),
    )


def test_of_very_many_moves_the_newest_are_kept() -> None:
    log = DecisionLog()
    for number in range(1000):
        log.queue_move(QueueMove(records.pod(), number, "active", "PodUpdate"))

    story = log.story("uid-p")
    assert story is not None
    assert len(story.moves) <= MOVES_MAX
    assert story.moves[-1].at_ns == 999


def test_who_made_a_pod_go_is_remembered() -> None:
    log = DecisionLog()
    log.cycle(
        records.failed(
            post_filter={"DefaultPreemption": (None, "a", True)}, victims=("default/victim",), started_ns=7, attempt=3
        )
    )

    assert log.preempted_by("default", "victim") == ("default/p", 3, "a", 7)
    assert log.preempted_by("default", "p") is None


def test_a_pod_that_is_tried_again_and_again_lets_others_grow_old() -> None:
    log = DecisionLog(age_max_ns=10)
    for moment in range(100, 130):
        log.cycle(records.failed(moment, started_ns=moment))
        log.cycle(records.failed(pod=records.pod(f"p{moment}", f"uid-{moment}"), started_ns=moment))

    assert log.find("default", "p") is not None
    assert log.find("default", "p110") is None
    assert log.find("default", "p129") is not None


def test_bindings_keep_no_second_state_of_the_pod() -> None:
    log = DecisionLog()
    for number in (1, 2):
        log.cycle(records.scheduled(number))
        log.binding(records.bound(number))

    story = log.story("uid-p")
    assert story is not None
    first, second = (attempt.binding for attempt in story.attempts)
    assert first is not None
    assert second is not None
    assert first.pod is story.attempts[0].head.pod
    assert first.bind is second.bind


def test_attempts_are_found_by_the_revision_that_they_saw() -> None:
    """Of this cluster: what has come with another log has other revisions, and forgotten attempts leave gaps."""
    log, other = DecisionLog(), DecisionLog()
    other.cycle(at(5000, "foreign"))
    for revision in (10, 20, 20, 30):
        log.cycle(at(revision, f"p{revision}"))
    log.take_over(other.stories())
    for revision in (40, 50):
        log.cycle(at(revision, f"p{revision}"))
    found = {
        revision: [entry[1].name for entry in log.from_number(log.begun_at(revision)) if entry[2].is_own]
        for revision in (5, 10, 20, 30, 45, 50)
    }

    assert found == {
        5: ["p10", "p20", "p20", "p30", "p40", "p50"],
        10: ["p20", "p20", "p30", "p40", "p50"],
        20: ["p30", "p40", "p50"],
        30: ["p40", "p50"],
        45: ["p50"],
        50: [],
    }
    assert DecisionLog().begun_at(7) == 1


def at(revision: int, name: str) -> CycleRecord:
    """Return a failed attempt that saw a revision."""
    record = records.failed()
    record.pod = records.pod(name, f"uid-{name}")
    record.revision, record.position = revision, revision
    return record
