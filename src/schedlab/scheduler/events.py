"""The events the scheduler sends about pods.

Mirrors: staging/src/k8s.io/client-go/tools/events/event_recorder.go and truncateMessage of
pkg/scheduler/schedule_one.go (v1.36).
Differs: one object per event, no series; a note is never cut inside a character.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from schedlab.apimachinery.time import format_micro_time
from schedlab.client.protocol import Write

if TYPE_CHECKING:
    from schedlab.scheduler.framework.types import PodInfo

NOTE_LENGTH_MAX: Final = 1024
_NAME_LENGTH_MAX: Final = 253


def cut_note(message: str) -> str:
    """Return the message as an event may carry it; lengths are in bytes, as upstream's."""
    encoded = message.encode()
    if len(encoded) <= NOTE_LENGTH_MAX:
        return message
    suffix = " ..."
    return encoded[: NOTE_LENGTH_MAX - len(suffix)].decode(errors="ignore") + suffix


def event_write(
    regarding: PodInfo,
    related: PodInfo | None,
    type_: str,
    reason: str,
    action: str,
    note: str,
    controller: str,
    now_ns: int,
) -> Write:
    """Return the creation of an event about a pod."""
    suffix = f".{now_ns:x}"
    name = regarding.name[: _NAME_LENGTH_MAX - len(suffix)] + suffix
    namespace = regarding.namespace or "default"
    body: dict[str, Any] = {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": namespace},
        "eventTime": format_micro_time(now_ns),
        "reportingController": controller,
        "reportingInstance": f"{controller}-schedlab",
        "action": action,
        "reason": reason,
        "regarding": _reference(regarding),
        "note": note,
        "type": type_,
    }
    if related is not None:
        body["related"] = _reference(related)
    return Write("create", "events.events.k8s.io", namespace, name, body, wants_object=False)


def _reference(pod: PodInfo) -> dict[str, str]:
    reference = {"kind": "Pod", "apiVersion": "v1", "namespace": pod.namespace, "name": pod.name, "uid": pod.uid}
    if revision := pod.pod.metadata.resource_version:
        reference["resourceVersion"] = revision
    return reference
