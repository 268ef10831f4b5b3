"""Which taints the conditions of a node ask for.

Mirrors: doNoScheduleTaintingPass, processTaintBaseEviction and reconcileNodeLabels of
pkg/controller/nodelifecycle/node_lifecycle_controller.go (v1.36).
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from schedlab.api.views.core import Node

NOT_READY: Final = "node.kubernetes.io/not-ready"
UNREACHABLE: Final = "node.kubernetes.io/unreachable"
UNSCHEDULABLE: Final = "node.kubernetes.io/unschedulable"

#: What is read of a taint: key and effect.
Mark: TypeAlias = tuple[str, str]

NOT_READY_EXECUTE: Final[Mark] = (NOT_READY, "NoExecute")
UNREACHABLE_EXECUTE: Final[Mark] = (UNREACHABLE, "NoExecute")

_OF_CONDITION: Final[Mapping[tuple[str, str], str]] = {
    ("Ready", "False"): NOT_READY,
    ("Ready", "Unknown"): UNREACHABLE,
    ("MemoryPressure", "True"): "node.kubernetes.io/memory-pressure",
    ("DiskPressure", "True"): "node.kubernetes.io/disk-pressure",
    ("NetworkUnavailable", "True"): "node.kubernetes.io/network-unavailable",
    ("PIDPressure", "True"): "node.kubernetes.io/pid-pressure",
}
_OURS: Final = (*_OF_CONDITION.values(), UNSCHEDULABLE)
_LABELS: Final = {
    "kubernetes.io/os": "beta.kubernetes.io/os",
    "kubernetes.io/arch": "beta.kubernetes.io/arch",
}


def no_schedule_changes(node: Node) -> tuple[list[Mark], list[Mark]]:
    """Return the NoSchedule taints that are missing and those that are too many."""
    keys = [_OF_CONDITION.get((each.type, each.status)) for each in node.status.conditions]
    wanted = [(key, "NoSchedule") for key in keys if key is not None]
    if node.spec.unschedulable:
        wanted.append((UNSCHEDULABLE, "NoSchedule"))
    present = [mark for mark in marks(node) if mark[1] == "NoSchedule" and mark[0] in _OURS]
    return [mark for mark in wanted if mark not in present], [mark for mark in present if mark not in wanted]


def marks(node: Node) -> list[Mark]:
    """Return key and effect of each taint."""
    return [(taint.key, taint.effect) for taint in node.spec.taints]


def with_changes(
    taints: Sequence[Mapping[str, Any]], added: Iterable[Mark], removed: Sequence[Mark], now: str
) -> list[Mapping[str, Any]]:
    """Return taints without some, and with others at the end."""
    kept = [taint for taint in taints if (taint["key"], taint["effect"]) not in removed]
    return [*kept, *({"key": key, "effect": effect, "timeAdded": now} for key, effect in added)]


def missing_labels(labels: Mapping[str, str]) -> dict[str, str]:
    """Return the old names of labels, where they are missing or wrong."""
    return {
        old: labels[label] for label, old in _LABELS.items() if label in labels and labels.get(old) != labels[label]
    }


def zone_key(labels: Mapping[str, str]) -> str:
    """Return what tells zones apart."""
    region = labels.get("topology.kubernetes.io/region", labels.get("failure-domain.beta.kubernetes.io/region", ""))
    zone = labels.get("topology.kubernetes.io/zone", labels.get("failure-domain.beta.kubernetes.io/zone", ""))
    return f"{region}:\0:{zone}" if region or zone else ""
