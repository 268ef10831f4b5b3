"""Turns down nodes where a host port that the pod wants is taken.

Mirrors: pkg/scheduler/framework/plugins/nodeports/node_ports.go (v1.36).
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

from schedlab.api.rules.ports import BIND_ALL_HOST_IP, HostPort, conflicts, host_ports
from schedlab.scheduler.framework.events import (
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    EventResource,
    QueueingHint,
)
from schedlab.scheduler.framework.explanations import Fact
from schedlab.scheduler.framework.helpers import signers
from schedlab.scheduler.framework.interface import PluginEntry, PreFilterResult
from schedlab.scheduler.framework.node_table import take_rows
from schedlab.scheduler.framework.status import SKIP, NodeStatuses, Status, error, unschedulable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from schedlab.api.views.core import Pod
    from schedlab.scheduler.framework.interface import CycleState, Handle
    from schedlab.scheduler.framework.node_table import NodeTable
    from schedlab.scheduler.framework.types import NodeInfo, PodInfo

REASON_TAKEN: Final = "node(s) didn't have free ports for the requested pod ports"

_TAKEN: Final = unschedulable(REASON_TAKEN)
_PRE_FILTER_KEY: Final = "PreFilterNodePorts"
_NO_PRE_FILTER: Final = error(f'reading "{_PRE_FILTER_KEY}" from cycleState: not found')


class NodePorts:
    """The plugin."""

    name = "NodePorts"
    looks_at = "ports"

    def __init__(self, _args: Any, _handle: Handle) -> None:
        """Ports need no arguments."""

    def pre_filter(
        self, state: CycleState, pod: PodInfo, _table: NodeTable
    ) -> tuple[PreFilterResult | None, Status | None]:
        if not pod.host_ports:
            return None, SKIP
        state.write(_PRE_FILTER_KEY, pod.host_ports)
        return None, None

    def filter(self, state: CycleState, _pod: PodInfo, node: NodeInfo) -> Status | None:
        wanted: tuple[HostPort, ...] | None = state.find(_PRE_FILTER_KEY)
        if wanted is None:
            return _NO_PRE_FILTER
        return _TAKEN if any(node.used_ports.conflicts(port) for port in wanted) else None

    def filter_nodes(self, state: CycleState, _pod: PodInfo, table: NodeTable, rows: slice) -> NodeStatuses:
        size = len(range(*rows.indices(len(table))))
        wanted: tuple[HostPort, ...] | None = state.find(_PRE_FILTER_KEY)
        if wanted is None:
            return NodeStatuses.of([_NO_PRE_FILTER] * size)
        statuses = NodeStatuses.success(size)
        used = table.column(PortColumn, PortColumn)
        for port in wanted:
            for taken in used.in_the_way_of(port):
                statuses.reject(taken[rows], _TAKEN)
        return statuses

    def explain_filter(self, _state: CycleState, pod: PodInfo, node: NodeInfo) -> Sequence[Fact]:
        return [_explain_port(port, node) for port in pod.host_ports]

    def is_row_local(self, _pod: PodInfo) -> bool:
        return True

    def is_pod_local(self, _pod: PodInfo) -> bool:
        return True

    def sign_pod(self, pod: PodInfo) -> tuple[Sequence[tuple[str, Any]] | None, Status | None]:
        return ((signers.HOST_PORTS, signers.host_ports_signature(pod.pod)),), None

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        return (
            ClusterEventWithHint(ClusterEvent(EventResource.POD, ActionType.DELETE), _after_pod_deletion),
            ClusterEventWithHint(ClusterEvent(EventResource.NODE, ActionType.ADD)),
        )


def _after_pod_deletion(pod: PodInfo, old: Pod, _new: Pod | None) -> QueueingHint:
    if not old.spec.node_name and not old.status.nominated_node_name:
        return QueueingHint.SKIP
    freed = host_ports(old)
    helps = any(conflicts(wanted, used) for wanted in pod.host_ports for used in freed)
    return QueueingHint.QUEUE if helps else QueueingHint.SKIP


def _explain_port(wanted: HostPort, node: NodeInfo) -> Fact:
    used = next((port for port in node.used_ports.used() if conflicts(wanted, port)), None)
    values: dict[str, Any] = {"port": port_text(wanted)}
    if used is None:
        return Fact(f"port {port_text(wanted)} is free", values, fits=True)
    # The first to go of two pods with the same port frees it, so the holder is not always among the pods.
    holder = next((pod.key for pod in node.pods if used in pod.host_ports), "")
    by = f"is held by {holder}" if holder else "is held"
    as_what = "" if used == wanted else f" as {port_text(used)}"
    return Fact(
        f"port {port_text(wanted)} {by}{as_what}", {**values, "heldBy": holder, "as": port_text(used)}, fits=False
    )


def port_text(port: HostPort) -> str:
    """Return `8080/TCP`, with the address before it unless it is any."""
    address, protocol, number = port
    return f"{number}/{protocol}" if address == BIND_ALL_HOST_IP else f"{address}:{number}/{protocol}"


class PortColumn:
    """The host ports in use: by (protocol, port) and address bool[N], whether node i has it taken."""

    def __init__(self) -> None:
        self._size = 0
        self._taken: dict[tuple[str, int], dict[str, NDArray[np.bool_]]] = {}

    def in_the_way_of(self, wanted: HostPort) -> Sequence[NDArray[np.bool_]]:
        """Return the arrays of the ports that conflict with the one wanted."""
        address, protocol, port = wanted
        by_address = self._taken.get((protocol, port), {})
        if address == BIND_ALL_HOST_IP:
            return tuple(by_address.values())
        return tuple(by_address[each] for each in (address, BIND_ALL_HOST_IP) if each in by_address)

    def reorder(self, old_rows: NDArray[np.int64]) -> None:
        """See Column."""
        self._size = len(old_rows)
        for by_address in self._taken.values():
            for address, taken in by_address.items():
                by_address[address] = cast("NDArray[np.bool_]", take_rows(taken, old_rows, 0))

    def set_node(self, row: int, info: NodeInfo) -> None:
        """See Column."""
        for by_address in self._taken.values():
            for taken in by_address.values():
                taken[row] = False
        for port in info.used_ports.used():
            self._array_of(port)[row] = True

    def add_pod(self, row: int, pod: PodInfo) -> None:
        """See Column."""
        for port in pod.host_ports:
            self._array_of(port)[row] = True

    def remove_pod(self, row: int, pod: PodInfo) -> None:
        """See Column."""
        for port in pod.host_ports:
            self._array_of(port)[row] = False

    def _array_of(self, port: HostPort) -> NDArray[np.bool_]:
        address, protocol, number = port
        by_address = self._taken.setdefault((protocol, number), {})
        if address not in by_address:
            by_address[address] = np.zeros(self._size, np.bool_)
        return by_address[address]


ENTRY: Final = PluginEntry(NodePorts.name, NodePorts)
