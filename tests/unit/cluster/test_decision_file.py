"""The decision log's file: what comes back after a restart or a kill, and what its limits let go."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from schedlab.cluster.decision_file import FILE_NAME, FORMAT_VERSION, DecisionFile
from schedlab.decisions.explain import PodQuestion, explain
from schedlab.decisions.log import MOVES_MAX, DecisionLog
from schedlab.decisions.tables import Query, attempts, rows
from schedlab.kernel.errors import SchedlabError
from schedlab.scheduler.framework.record import (
    CandidateRecord,
    CycleRecord,
    ExtenderCall,
    Nomination,
    PreemptionRecord,
    QueueMove,
)
from schedlab.scheduler.framework.status import Code, Status, unresolvable, unschedulable
from tests.unit.decisions import records

GIB = 1 << 30


def full_record(attempt: int = 1) -> CycleRecord:
    """A failed attempt with something in every field."""
    record = records.failed(
        attempt,
        start=np.int64(3),
        next_start=np.int64(4),
        position=11,
        nominated=(Nomination("a", "default", "q", "uid-q", waits=True),),
        chance=2**63 + 5,
        configuration="abc",
        pre_filter_nodes={"NodeAffinity": ("a",)},
        pre_filter_result=("a",),
        extender_failed={"a": unschedulable("no")},
        absent_nodes_status=unresolvable("left out"),
        permit={"Gate": (Status(Code.WAIT), 5)},
        preemption=PreemptionRecord(
            [CandidateRecord("a", ("default/v",), 1, (-1, -5, -(2**31) - 5, -1, 77))],
            {"b": unresolvable("no victims")},
            1,
            ("a",),
            ("a", "b"),
            ("default/v",),
        ),
        victims=("default/v",),
        extender_calls=[ExtenderCall("http://x", "filter", {"pod": "p"}, {"nodenames": ["a"]}, "")],
        node_hint="a",
        unschedulable_plugins=("NodeResourcesFit",),
        pending_plugins=("DynamicResources",),
        custom={"example.com/a": "b"},
    )
    assert record.filter is not None
    record.filter.full_code = np.array([[0], [2]], np.uint8)
    record.filter.full_reason = np.array([[0], [int(record.filter.reason[0])]], np.int32)
    return record


def log_in(folder: Path, **limits: int) -> tuple[DecisionLog, DecisionFile]:
    file = DecisionFile(folder, bytes_max=limits.pop("file_bytes", GIB), age_max_ns=limits.pop("file_age_ns", 0))
    return DecisionLog(archive=file, newest_revision=lambda: 41, **limits), file


def fill(log: DecisionLog) -> None:
    log.queue_move(QueueMove(records.pod(), 1, "active", "UnschedulablePodAdd"))
    log.cycle(full_record(1))
    log.queue_move(QueueMove(records.pod(), 2, "unschedulable", "ScheduleAttemptFailure", None, (("e", "p", "h", ""),)))
    log.cycle(records.scheduled(2))
    log.binding(records.bound(2))


def same(one: Any, other: Any) -> bool:
    """Whether two values of records are equal, arrays and all."""
    if hasattr(one, "__slots__") and not isinstance(one, str | tuple):
        return all(
            same(getattr(one, name), getattr(other, name)) for name in one.__slots__ if name not in {"pod", "texts"}
        )
    return bool(np.array_equal(one, other)) if isinstance(one, np.ndarray) else bool(one == other)


def test_everything_but_the_pod_comes_back_after_a_restart(tmp_path: Path) -> None:
    log, file = log_in(tmp_path)
    fill(log)
    before = log.find("default", "p")
    assert before is not None
    file.close()

    again, file = log_in(tmp_path)
    after = again.find("default", "p")

    assert after is not None
    assert after.moves == before.moves
    for old, new in zip(before.attempts, after.attempts, strict=True):
        assert same(old.cycle(), new.cycle())
        assert new.cycle().pod.key == "default/p"
        assert new.complete_since == old.complete_since == 42
        assert new.is_restored
    assert after.attempts[1].binding is not None
    assert after.attempts[1].binding.bind == {"DefaultBinder": None}
    assert explain(after, PodQuestion(attempt=1)) == explain(before, PodQuestion(attempt=1))
    file.close()


def test_a_process_that_is_killed_loses_only_what_was_queued(tmp_path: Path) -> None:
    """The file is never closed: another process opens it as it lies there."""
    log, file = log_in(tmp_path)
    fill(log)
    file.flush()

    again, other = log_in(tmp_path)

    story = again.find("default", "p")
    assert story is not None
    assert [attempt.number for attempt in story.attempts] == [1, 2]
    other.close()
    file.close()


def test_new_attempts_continue_the_story_and_the_numbers(tmp_path: Path) -> None:
    log, file = log_in(tmp_path)
    fill(log)
    file.close()
    again, file = log_in(tmp_path)
    again.cycle(records.failed(3))

    story = again.find("default", "p")

    assert story is not None
    assert [attempt.number for attempt in story.attempts] == [1, 2, 3]
    assert [row["sequence"] for row in attempts(again, Query(), limit=9)] == [3, 2, 1]
    assert [row["attempt"] for row in rows(again, "attempts", Query())] == [1, 2, 3]
    assert [row["attempt"] for row in attempts(again, Query(result="scheduled"), limit=9)] == [2]
    file.close()


def test_what_leaves_memory_is_still_in_the_file(tmp_path: Path) -> None:
    log, file = log_in(tmp_path, bytes_max=9000)
    for number in range(20):
        log.cycle(records.scheduled(pod=records.pod(f"p{number}", f"uid-{number}")))
    file.flush()

    assert log.status()["attempts"] < 20
    assert log.status()["forgottenPods"] == 0
    first = log.find("default", "p0")
    assert first is not None
    assert first.attempts[0].cycle().selected == "c"
    assert len(attempts(log, Query(), limit=100)) == 20
    file.close()


def test_attempts_that_left_memory_between_others_are_listed_in_their_place(tmp_path: Path) -> None:
    log, file = log_in(tmp_path, bytes_max=9000)
    for number in range(8):
        # The pod p is tried again and again; of the others nothing is heard any more.
        log.cycle(records.failed(number + 1))
        log.cycle(records.scheduled(pod=records.pod(f"p{number}", f"uid-{number}")))
    file.flush()

    assert 0 < log.status()["attempts"] < 16
    assert [row["sequence"] for row in attempts(log, Query(), limit=100)] == list(range(16, 0, -1))
    assert [row["sequence"] for row in rows(log, "attempts", Query())] == list(range(1, 17))
    assert [sequence for sequence, _, _ in log.newest_first(5)] == [4, 3, 2, 1]
    file.close()


def test_moves_are_exported_alike_after_a_restart(tmp_path: Path) -> None:
    log, file = log_in(tmp_path)
    fill(log)
    gated = records.pod("gated", "uid-gated")
    log.queue_move(QueueMove(gated, 3, "gated", "UnschedulablePodAdd", gate=("SchedulingGates", "waits")))
    for number in range(MOVES_MAX + 1):
        log.queue_move(QueueMove(records.pod("busy", "uid-busy"), number, "active", "PodUpdate"))
    before = list(rows(log, "moves", Query()))
    file.close()

    again, file = log_in(tmp_path)

    assert list(rows(again, "moves", Query())) == before
    assert [row["gate"] for row in rows(again, "moves", Query(pod="gated"))] == ["SchedulingGates: waits"]
    again.queue_move(QueueMove(gated, 4, "active", "PodUpdate"))
    assert [row["place"] for row in rows(again, "moves", Query(pod="gated"))] == ["gated", "active"]
    file.close()


def test_who_made_a_pod_go_is_known_after_a_restart(tmp_path: Path) -> None:
    log, file = log_in(tmp_path)
    log.cycle(full_record(1))
    told = log.preempted_by("default", "v")
    file.close()

    again, file = log_in(tmp_path)

    assert told is not None
    assert again.preempted_by("default", "v") == told
    assert again.preempted_by("default", "p") is None
    file.close()


def test_a_forked_process_has_what_was_asked_for_lately_and_touches_no_file(tmp_path: Path) -> None:
    log, file = log_in(tmp_path)
    fill(log)
    log.cycle(records.failed(pod=records.pod("q", "uid-q")))
    file.close()
    again, file = log_in(tmp_path)
    assert again.find("default", "p") is not None

    child = os.fork()
    if child == 0:
        known = again.find("default", "p"), again.find("default", "q"), list(again.newest_first())
        is_right = known[0] is not None and len(known[0].attempts) == 2 and known[1:] == (None, [])
        os._exit(0 if is_right else 1)

    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert again.find("default", "q") is not None
    file.close()


def test_nobody_else_may_read_the_file(tmp_path: Path) -> None:
    log, file = log_in(tmp_path)
    fill(log)
    file.flush()

    for each in tmp_path.iterdir():
        assert each.stat().st_mode & 0o077 == 0, each.name
    file.close()


def test_pods_that_were_never_tried_are_forgotten_at_the_limit_too(tmp_path: Path) -> None:
    log, file = log_in(tmp_path, bytes_max=1, file_bytes=5_000)
    for number in range(1500):
        pod = records.pod(f"p{number}", f"uid-{number}")
        log.queue_move(QueueMove(pod, number, "gated", "UnschedulablePodAdd"))
    file.flush()

    assert log.status()["archive"]["bytes"] <= 5_000
    assert log.find("default", "p0") is None
    file.close()


def test_a_file_of_before_there_were_victims_is_taken_over(tmp_path: Path) -> None:
    log, file = log_in(tmp_path)
    fill(log)
    file.close()
    with sqlite3.connect(tmp_path / FILE_NAME) as connection:
        connection.execute("DROP TABLE victims")

    again, file = log_in(tmp_path)

    assert again.find("default", "p") is not None
    assert again.preempted_by("default", "v") is None
    file.close()


def test_the_file_forgets_the_oldest_and_says_so(tmp_path: Path) -> None:
    log, file = log_in(tmp_path, bytes_max=1, file_bytes=100_000)
    for number in range(1500):
        log.cycle(records.scheduled(pod=records.pod(f"p{number}", f"uid-{number}")))
    file.flush()

    status = log.status()["archive"]
    assert 50_000 < status["bytes"] <= 100_000
    assert status["forgottenAttempts"] > 1000
    assert status["attempts"] + status["forgottenAttempts"] == 1500
    file.close()
    again, file = log_in(tmp_path)
    assert again.find("default", "p0") is None
    assert again.find("default", "p1499") is not None
    file.close()


def test_the_file_forgets_what_is_too_old(tmp_path: Path) -> None:
    log, file = log_in(tmp_path, bytes_max=1, file_age_ns=100)
    now = records.scheduled().started_ns
    log.cycle(records.scheduled(pod=records.pod("old", "uid-old"), started_ns=now))
    log.cycle(records.scheduled(pod=records.pod("new", "uid-new"), started_ns=now + 1000))
    file.flush()

    assert [row["pod"] for row in attempts(log, Query(), limit=9)] == ["new"]
    file.close()


def test_a_damaged_file_is_said_to_be_one(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_bytes(b"no database" * 100)

    with pytest.raises(SchedlabError, match="the decision log cannot be used"):
        DecisionFile(tmp_path, bytes_max=GIB)


@pytest.mark.parametrize(
    ("damage", "left"),
    [
        ("UPDATE attempts SET head = x'00112233' WHERE sequence = 1", ["p", "q"]),
        ("UPDATE attempts SET end = x'c1' WHERE sequence = 2", ["p", "q"]),
        ("UPDATE blocks SET blob = x'00112233'", []),
        ("DELETE FROM blocks", []),
        ("UPDATE names SET names = x'00112233'", []),
    ],
)
def test_what_cannot_be_read_is_left_out_and_told(tmp_path: Path, damage: str, left: list[str]) -> None:
    log, file = log_in(tmp_path)
    fill(log)
    log.cycle(records.failed(pod=records.pod("q", "uid-q")))
    file.close()
    with sqlite3.connect(tmp_path / FILE_NAME) as connection:
        connection.execute(damage)

    again, file = log_in(tmp_path)

    assert [row["pod"] for row in rows(again, "attempts", Query())] == left
    assert [row["pod"] for row in attempts(again, Query(), limit=9)] == left[::-1]
    assert [*rows(again, "scores", Query()), *rows(again, "moves", Query())]
    found = again.find("default", "p")
    assert found is not None
    assert found.moves
    assert bool(again.status()["archive"]["unreadable"]) == (damage != "DELETE FROM blocks")
    file.close()


def test_a_file_whose_pages_are_damaged_is_said_to_be_one(tmp_path: Path) -> None:
    log, file = log_in(tmp_path)
    for number in range(300):
        log.cycle(records.scheduled(pod=records.pod(f"p{number}", f"uid-{number}")))
    file.close()
    path = tmp_path / FILE_NAME
    content = bytearray(path.read_bytes())
    for page in range(3, len(content) // 4096):
        content[page * 4096 : page * 4096 + 600] = b"\xff" * 600
    path.write_bytes(content)

    with pytest.raises(
        SchedlabError, match="the decision log cannot be used: database disk image is malformed"
    ) as caught:
        DecisionFile(tmp_path, bytes_max=GIB)
    assert caught.value.hint.startswith("move the file away")


def test_a_file_of_a_later_version_is_left_alone(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / FILE_NAME) as connection:
        connection.execute("PRAGMA user_version = 99")

    with pytest.raises(SchedlabError, match="has format 99"):
        DecisionFile(tmp_path, bytes_max=GIB)


def test_a_file_of_an_earlier_version_is_read_and_from_then_on_one_of_this_version(tmp_path: Path) -> None:
    """So that a program of the earlier version, which cannot read what is added, says so."""
    log, file = log_in(tmp_path)
    fill(log)
    file.close()
    with sqlite3.connect(tmp_path / FILE_NAME) as connection:
        connection.execute("PRAGMA user_version = 1")

    again, file = log_in(tmp_path)

    story = again.find("default", "p")
    assert story is not None
    assert [attempt.cycle().attempt for attempt in story.attempts] == [1, 2]
    file.close()
    with sqlite3.connect(tmp_path / FILE_NAME) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (FORMAT_VERSION,)


def test_what_cannot_be_written_is_counted(tmp_path: Path) -> None:
    log, file = log_in(tmp_path)
    file._writer.connection.execute("PRAGMA query_only = ON")
    fill(log)
    file.flush()

    status = log.status()["archive"]
    assert status["lostAttempts"] == 2
    assert "readonly" in status["error"]
    file.close()
