"""What is said on a Stage about how it fares: conditions, and events where something is wrong.

    Ready     True: it can be played; False: its selector, an expression or a template is broken, or nothing has its kind
    Matched   True: it has matched something; False: for a minute it has matched nothing
    Looping   True: it was played over and over for one object within a second; that object now waits longer each time
    Failing   True: a patch or an expression failed for an object; the last time is told

Mirrors: nothing; KWOK logs what fails.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from schedlab.api.object import StoredObject
from schedlab.apimachinery.time import format_time
from schedlab.client.event_recorder import EventRecorder
from schedlab.client.protocol import Write
from schedlab.kernel.clock import Clock
from schedlab.kubelet.stages.definition import STAGE, STAGES

#: What kind of event tells of a condition, if any.
EventType: TypeAlias = Literal["", "Normal", "Warning"]

_MESSAGE_LENGTH_MAX: Final = 1024
_FIELD_MANAGER: Final = {"fieldManager": "schedlab-kubelet"}


@dataclass(slots=True)
class _Condition:
    status: str
    reason: str
    message: str


@dataclass(slots=True)
class Reports:
    """The conditions of all Stages, by name, and those that have not been written yet."""

    clock: Clock
    events: EventRecorder
    _known: dict[str, dict[str, _Condition]] = field(default_factory=dict)
    _changed: dict[str, None] = field(default_factory=dict)

    def say(
        self, stage: StoredObject, kind: str, status: str, reason: str, message: str, event: EventType = ""
    ) -> None:
        """Set a condition of a Stage; when its status or reason is new, an event may tell of it."""
        message = message[:_MESSAGE_LENGTH_MAX]
        known = self._known.setdefault(stage.name, _written(stage))
        before = known.get(kind)
        if before is not None and (before.status, before.reason) == (status, reason):
            if kind == "Ready" and before.message != message:
                before.message = message
                self._changed[stage.name] = None
            return
        known[kind] = _Condition(status, reason, message)
        self._changed[stage.name] = None
        if event == "Warning":
            self.events.warning(STAGE, stage, reason, message)
        elif event == "Normal":
            self.events.normal(STAGE, stage, reason, message)

    def has(self, stage: str, kind: str, status: str) -> bool:
        """Say whether a condition has a status."""
        known = self._known.get(stage, {}).get(kind)
        return known is not None and known.status == status

    def renew(self, stage: str, kind: str) -> None:
        """Forget a condition of a Stage, whose next one is told again."""
        known = self._known.get(stage)
        if known is not None and known.pop(kind, None) is not None:
            self._changed[stage] = None

    def forget(self, stage: str) -> None:
        """Forget a Stage that is gone."""
        self._known.pop(stage, None)
        self._changed.pop(stage, None)

    def waits(self) -> bool:
        """Whether something is to be written."""
        return bool(self._changed)

    def write(self, find: Mapping[str, StoredObject]) -> Write | None:
        """Return the write of one Stage's conditions."""
        name = next(iter(self._changed))
        del self._changed[name]
        stage = find.get(name)
        if stage is None:
            return None
        before = {each["type"]: each for each in (stage.raw.get("status") or {}).get("conditions") or ()}
        conditions = [self._body(kind, one, before.get(kind)) for kind, one in self._known.get(name, {}).items()]
        body = {"status": {"conditions": conditions}}
        return Write("patch", STAGES, "", name, body, subresource="status", options=_FIELD_MANAGER)

    def _body(self, kind: str, condition: _Condition, before: Mapping[str, Any] | None) -> dict[str, str]:
        since = format_time(self.clock.now_ns())
        if before is not None and before.get("status") == condition.status:
            since = before.get("lastTransitionTime") or since
        return {
            "type": kind,
            "status": condition.status,
            "reason": condition.reason,
            "message": condition.message,
            "lastTransitionTime": since,
        }


def _written(stage: StoredObject) -> dict[str, _Condition]:
    """Return what a Stage says of itself already, after a restart."""
    conditions: Sequence[Mapping[str, str]] = (stage.raw.get("status") or {}).get("conditions") or ()
    return {each["type"]: _Condition(each["status"], each["reason"], each["message"]) for each in conditions}
