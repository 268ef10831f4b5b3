"""Records: lines as kube-scheduler-simulator writes them, and what is said about wrong ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from schedlab.api.object import StoredObject, WatchEvent
from schedlab.apimachinery.time import parse_time
from schedlab.kernel.errors import SchedlabError
from schedlab.mirror.recording import line_of, read_record

NODE: dict[str, Any] = {
    "kind": "Node",
    "apiVersion": "v1",
    "metadata": {"name": "n", "uid": "u", "labels": {"a": "b"}},
    "spec": {},
    "status": {"phase": "x"},
}
MOMENT = parse_time("2025-04-28T10:00:00.123456789+09:00")


def _line(event: str = "Add", **resource: object) -> bytes:
    body = {**NODE, **resource}
    return orjson.dumps({"time": "2025-04-28T10:00:00.123456789+09:00", "event": event, "resource": body}) + b"\n"


def test_an_addition_holds_the_whole_object() -> None:
    stored = StoredObject.encode("nodes", NODE, 7)
    written = orjson.loads(line_of(WatchEvent("ADDED", stored), MOMENT))

    assert written["time"] == "2025-04-28T01:00:00.123456789Z"
    assert written["event"] == "Add"
    assert written["resource"] == {**NODE, "metadata": {**NODE["metadata"], "resourceVersion": "7"}}


def test_a_deletion_holds_only_what_names_the_object() -> None:
    stored = StoredObject.encode("nodes", NODE, 7)
    written = orjson.loads(line_of(WatchEvent("DELETED", stored, stored), MOMENT))

    assert written["event"] == "Delete"
    assert written["resource"] == {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "namespace": ""}}


def test_a_record_is_read_with_its_times(tmp_path: Path) -> None:
    file = tmp_path / "record.jsonl"
    file.write_bytes(_line() + _line("Delete"))
    events, warnings = read_record(file)

    assert [(event.at_ns, event.event, event.resource) for event in events] == [
        (MOMENT, "Add", "nodes"),
        (MOMENT, "Delete", "nodes"),
    ]
    assert warnings == []


def test_a_last_line_that_was_cut_off_is_left_out_and_told(tmp_path: Path) -> None:
    file = tmp_path / "record.jsonl"
    file.write_bytes(_line() + _line()[:-9])
    events, warnings = read_record(file)

    assert len(events) == 1
    assert warnings == ["line 2 was cut off and is left out"]


def test_a_last_line_without_its_end_counts_when_it_is_whole(tmp_path: Path) -> None:
    file = tmp_path / "record.jsonl"
    file.write_bytes(_line() + _line()[:-1])

    assert len(read_record(file)[0]) == 2


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"\n", "line 2: is not JSON"),
        (b"[]\n", "line 2: is no object"),
        (_line("Create"), "line 2: event is 'Create', not Add, Update or Delete"),
        (_line(kind="Toaster"), "line 2: no kind 'Toaster' of 'v1' is known"),
        (_line(metadata={}), "line 2: resource has no metadata.name"),
        (b'{"time":"yesterday","event":"Add","resource":{"metadata":{"name":"a"}}}\n', "line 2: time is 'yesterday'"),
        (b'{"event":"Add","resource":5}\n', "line 2: resource is no object"),
    ],
)
def test_a_wrong_line_is_refused_with_its_number(tmp_path: Path, line: bytes, said: str) -> None:
    file = tmp_path / "record.jsonl"
    file.write_bytes(_line() + line + _line())

    with pytest.raises(SchedlabError) as caught:
        read_record(file)

    assert said in caught.value.message
    assert caught.value.location == str(file)


def test_every_wrong_line_is_named_up_to_ten(tmp_path: Path) -> None:
    file = tmp_path / "record.jsonl"
    file.write_bytes(b"{}\n" * 12)

    with pytest.raises(SchedlabError, match=r"line 10: .* \(and 2 more\)"):
        read_record(file)


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(SchedlabError, match="cannot be read"):
        read_record(tmp_path / "none")
