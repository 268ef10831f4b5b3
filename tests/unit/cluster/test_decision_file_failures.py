"""The decision log's file when the process is killed amid writing, when the disk is full, and when its limits change."""

from __future__ import annotations

import random
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from schedlab.cluster.decision_file import FILE_NAME
from tests.unit.cluster.test_decision_file import GIB, log_in
from tests.unit.decisions import records

#: Writes attempts without an end, and says how many are in the file for sure.
_WRITER = """
import sys
from pathlib import Path
from tests.unit.cluster.test_decision_file import full_record, log_in

log, file = log_in(Path(sys.argv[1]), file_bytes=int(sys.argv[2]))
number = file.next_sequence()
while True:
    for _ in range(40):
        log.cycle(full_record(number))
        number += 1
    if number % 3:
        file.flush()
        print(number - 1, flush=True)
"""
_LIMITED = """
import resource, sys
from pathlib import Path
from tests.unit.cluster.test_decision_file import log_in
from tests.unit.decisions import records

log, file = log_in(Path(sys.argv[1]))
_, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, hard))
number = 0
while not log.status()["archive"]["lostAttempts"]:
    number += 1
    log.cycle(records.scheduled(pod=records.pod(f"p{number}", f"uid-{number}")))
    if number % 50 == 0:
        file.flush()
file.flush()
error = log.status()["archive"]["error"]
resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
log.cycle(records.scheduled(pod=records.pod("last", "uid-last")))
file.close()
print(number, log.status()["archive"]["lostAttempts"], error)
"""


@pytest.mark.parametrize("limit", [GIB, 60_000], ids=["all is kept", "the oldest go"])
def test_what_was_written_outlives_kills_at_any_moment(tmp_path: Path, limit: int) -> None:
    """Each start finds a whole file: every attempt that was said to be written, none with a gap before it or unreadable."""
    chance = random.Random(3)
    for _ in range(3):
        command = [sys.executable, "-c", _WRITER, str(tmp_path), str(limit)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            told = [int(process.stdout.readline()) for _ in range(chance.randrange(1, 6))]
            process.kill()
            told += [int(line) for line in process.stdout if line.endswith("\n")]
        with sqlite3.connect(tmp_path / FILE_NAME) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        log, file = log_in(tmp_path, file_bytes=limit)
        found = [sequence for sequence, _, attempt in log.oldest_first() if attempt.cycle().attempt == sequence]

        assert found[-1] >= told[-1]
        assert found == list(range(found[0], found[-1] + 1))
        assert (found[0] == 1) == (limit == GIB)
        assert log.status()["archive"]["unreadable"] == 0
        file.close()


def test_a_full_disk_loses_what_it_says_and_nothing_else(tmp_path: Path) -> None:
    """And once there is room again attempts are kept again."""
    done = subprocess.run(
        [sys.executable, "-c", _LIMITED, str(tmp_path)], capture_output=True, text=True, timeout=120, check=True
    )
    number, lost, *error = done.stdout.split()
    log, file = log_in(tmp_path)

    assert int(lost) > 0
    assert error
    assert log.find("default", "last") is not None
    assert len(list(log.oldest_first())) == int(number) + 1 - int(lost)
    assert log.status()["archive"]["unreadable"] == 0
    file.close()


def test_a_start_without_room_says_so(tmp_path: Path) -> None:
    limited = (
        "import resource, sys\n"
        "from tests.unit.cluster.test_decision_file import DecisionFile, Path\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (5_000, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))\n"
        "try:\n"
        "    DecisionFile(Path(sys.argv[1]), bytes_max=0)\n"
        "except Exception as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", limited, str(tmp_path)], capture_output=True, text=True, check=True)

    said, hint = done.stdout.splitlines()
    assert said.startswith(f"{tmp_path / FILE_NAME}: the decision log cannot be used: ")
    assert hint == "hint: make room if the disk is full: the file may be as good as ever"


def test_a_pod_is_not_forgotten_where_forgetting_it_failed(tmp_path: Path) -> None:
    """Of two pods that have to go the second one cannot, and so none goes."""
    log, file = log_in(tmp_path, bytes_max=1)
    for name in ("first", "second"):
        log.cycle(records.scheduled(pod=records.pod(name, f"uid-{name}")))
    file.flush()
    writer = file._writer
    writer.bytes_max = 1
    writer.connection.execute(
        "CREATE TRIGGER stop BEFORE DELETE ON pods WHEN old.uid = 'uid-second' BEGIN SELECT raise(FAIL, 'stop'); END"
    )
    for name in ("third", "fourth"):
        log.cycle(records.scheduled(pod=records.pod(name, f"uid-{name}")))
        file.flush()

    assert log.status()["archive"]["lostAttempts"] == 2
    assert file.latest_uid("default", "first") == "uid-first"
    file.close()


def test_a_lower_limit_holds_from_the_next_attempt_on_and_a_higher_one_keeps_more(tmp_path: Path) -> None:
    def write(limit: int, first: int, last: int) -> list[int]:
        log, file = log_in(tmp_path, bytes_max=1, file_bytes=limit)
        for number in range(first, last):
            log.cycle(records.scheduled(pod=records.pod(f"p{number}", f"uid-{number}")))
        file.flush()
        found = [sequence for sequence, _, _ in log.oldest_first()]
        if limit:
            assert log.status()["archive"]["bytes"] <= limit
        file.close()
        return found

    assert len(write(0, 0, 800)) == 800
    few = write(50_000, 800, 801)
    assert few[-1] == 801
    assert 1 < len(few) < 800
    assert write(GIB, 801, 1200) == [*few, *range(802, 1201)]
