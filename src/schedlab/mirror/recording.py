"""Records of what happened in a cluster: a file of JSON lines, kube-scheduler-simulator's.

    {"time":"2025-04-28T10:00:00.123456789+09:00","event":"Add","resource":{…}}

A Delete has only apiVersion, kind, name and namespace of its resource. A last line that was cut off, as a recorder that
was killed leaves it, is left out and told.

Mirrors: simulator/recorder of kube-scheduler-simulator
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import orjson

from schedlab.api.object import WatchEvent
from schedlab.apimachinery.gvk import GroupVersionKind
from schedlab.apimachinery.resources import known_resources
from schedlab.apimachinery.time import TimeError, format_nano_time, parse_time
from schedlab.kernel.errors import SchedlabError
from schedlab.mirror.applier import EventWord

_WORDS: Final[Mapping[str, EventWord]] = {"ADDED": "Add", "MODIFIED": "Update", "DELETED": "Delete"}
_MISTAKES_MAX: Final = 10


@dataclass(frozen=True, slots=True)
class RecordedEvent:
    """One event; at_ns: when it was seen, since the epoch."""

    at_ns: int
    event: EventWord
    resource: str
    object: Mapping[str, Any]


def line_of(event: WatchEvent, now_ns: int) -> bytes:
    """Return the line of a change."""
    obj = event.object
    if event.type == "DELETED":
        whole = obj.raw
        metadata = {"name": obj.name, "namespace": obj.namespace}
        resource = orjson.dumps({"apiVersion": whole["apiVersion"], "kind": whole["kind"], "metadata": metadata})
    else:
        resource = obj.json()
    time, word = format_nano_time(now_ns).encode(), _WORDS[event.type].encode()
    return b'{"time":"%b","event":"%b","resource":%b}\n' % (time, word, resource)


def read_record(file: Path) -> tuple[Sequence[RecordedEvent], Sequence[str]]:
    """Return the events of a file and warnings; raises SchedlabError with every line that is wrong."""
    try:
        content = file.read_bytes()
    except OSError as error:
        raise SchedlabError(
            f"cannot be read: {error.strerror}", location=str(file), hint="name a file that a recorder has written"
        ) from error
    lines = content.split(b"\n")
    warnings: list[str] = []
    if (rest := lines.pop()) and not _is_whole(rest):
        warnings.append(f"line {len(lines) + 1} was cut off and is left out")
    elif rest:
        lines.append(rest)
    events: list[RecordedEvent] = []
    mistakes: list[str] = []
    for number, line in enumerate(lines, 1):
        try:
            events.append(_event(line))
        except _LineError as error:
            mistakes.append(f"line {number}: {error}")
    if mistakes:
        more = f" (and {len(mistakes) - _MISTAKES_MAX} more)" if len(mistakes) > _MISTAKES_MAX else ""
        raise SchedlabError(
            "; ".join(mistakes[:_MISTAKES_MAX]) + more, location=str(file), hint="nothing was applied; mend these lines"
        )
    return events, warnings


class _LineError(ValueError):
    pass


def _is_whole(line: bytes) -> bool:
    try:
        orjson.loads(line)
    except orjson.JSONDecodeError:
        return False
    return True


def _event(line: bytes) -> RecordedEvent:
    try:
        found = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise _LineError(f"is not JSON: {error}") from None
    if not isinstance(found, dict):
        raise _LineError("is no object")
    word = found.get("event")
    if word not in ("Add", "Update", "Delete"):
        raise _LineError(f"event is {word!r}, not Add, Update or Delete")
    resource = found.get("resource")
    if not isinstance(resource, dict):
        raise _LineError("resource is no object")
    metadata = resource.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str) or not metadata["name"]:
        raise _LineError("resource has no metadata.name")
    return RecordedEvent(_moment(found.get("time")), word, _resource_name(resource), resource)


def _resource_name(obj: Mapping[str, Any]) -> str:
    group, _, version = str(obj.get("apiVersion", "")).rpartition("/")
    kind = known_resources().find_gvk(GroupVersionKind(group, version, str(obj.get("kind", ""))))
    if kind is None:
        raise _LineError(f"no kind {obj.get('kind')!r} of {obj.get('apiVersion')!r} is known")
    return kind.full_name


def _moment(text: object) -> int:
    """Return a time with up to nine digits of fraction and any offset, in nanoseconds since the epoch."""
    if not isinstance(text, str):
        raise _LineError(f"time is {text!r}")
    try:
        return parse_time(text)
    except TimeError:
        raise _LineError(f"time is {text!r}, not like 2025-04-28T10:00:00.123456789Z") from None
