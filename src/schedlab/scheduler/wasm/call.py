"""What is known during one call of a guest's function, and what the guest told in it.

Mirrors: stack of scheduler/plugin/host.go of kube-scheduler-wasm-extension.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from schedlab.scheduler.framework.interface import NodeToStatus
    from schedlab.scheduler.framework.types import PodInfo


@dataclass(slots=True)
class Call:
    """One call; fields that its function does not need are empty."""

    pod: PodInfo | None = None
    node_name: str = ""
    target_pod: PodInfo | None = None
    feasible: Sequence[str] = ()
    statuses: NodeToStatus | None = None
    scores: Mapping[str, int] | None = None
    # Results.
    reason: str = ""
    node_names: tuple[str, ...] | None = None
    nominated_node_name: str = ""
    cluster_events: bytes = b""
    normalized: Mapping[str, int] | None = None
