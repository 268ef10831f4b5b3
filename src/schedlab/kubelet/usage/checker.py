"""Says on a ResourceUsage or ClusterResourceUsage whether its expressions can be compiled.

The condition Ready is False, with the first mistake, or True; an object without expressions has none.

Differs: KWOK writes a line into its log for each evaluation that fails.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from schedlab.api.object import StoredObject, WatchEvent
from schedlab.apimachinery.cel import CelError
from schedlab.apimachinery.time import format_time
from schedlab.client.effects import Effect, WriteEffect
from schedlab.client.informers import Informer
from schedlab.client.protocol import Write
from schedlab.kernel.clock import Clock
from schedlab.kubelet.usage.expressions import compile_usage

_READY: Final = "Ready"


class UsageChecker:
    """Reads every new version of the objects once (client.effects.Part)."""

    def __init__(self, clock: Clock, *informers: Informer) -> None:
        self._clock = clock
        self._waiting: dict[tuple[str, str], StoredObject] = {}
        for informer in informers:
            informer.on_change(self._on_change)

    def _on_change(self, event: WatchEvent) -> None:
        key = event.object.resource, event.object.key
        if event.type == "DELETED":
            self._waiting.pop(key, None)
        else:
            self._waiting[key] = event.object

    def ready(self) -> bool:
        """Whether a version was not read yet."""
        return bool(self._waiting)

    def step(self) -> Sequence[Effect]:
        """Read the object that has waited longest."""
        found = self._waiting.pop(next(iter(self._waiting)))
        fault = _fault(found.raw["spec"])
        if fault is None:
            return ()
        conditions = (found.raw.get("status") or {}).get("conditions") or ()
        known: Mapping[str, Any] = next((each for each in conditions if each["type"] == _READY), {})
        condition = {
            "type": _READY,
            "status": "False" if fault else "True",
            "reason": "InvalidExpression" if fault else "ExpressionsCompiled",
            "message": fault,
        }
        if all(known.get(key) == value for key, value in condition.items()):
            return ()
        condition["lastTransitionTime"] = format_time(self._clock.now_ns())
        others = [each for each in conditions if each["type"] != _READY]
        body = {"metadata": {"uid": found.uid}, "status": {"conditions": [*others, condition]}}
        return [WriteEffect(None, Write("patch", found.resource, found.namespace, found.name, body, "status"))]

    def complete(self, effect: Effect, outcome: object) -> Sequence[Effect]:  # noqa: ARG002 - of the protocol
        """Leave it at that: whoever changes the object has it read again."""
        return ()


def _fault(spec: Mapping[str, Any]) -> str | None:
    """Return the first mistake in the expressions, "" if there is none, None without expressions."""
    verdict: str | None = None
    for place, source in _expressions(spec):
        try:
            compile_usage(source)
        except CelError as error:
            return f"{place}: {error}"
        verdict = ""
    return verdict


def _expressions(spec: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for index, group in enumerate(spec.get("usages") or ()):
        for resource, value in (group.get("usage") or {}).items():
            if value.get("expression") is not None and value.get("value") is None:
                yield f"spec.usages[{index}].usage.{resource}.expression", value["expression"]
