"""A plugin whose methods are functions of a WebAssembly guest.

It takes part at the extension points whose function the guest exports. Each pod is served by one instance of the guest
from pre_filter to post_bind, so that what the guest keeps of a pod lasts as long as the pod's cycle state; when that
goes, the instance is free for another pod. Guests begin a pod by forgetting the one before, in `prefilter`.

Mirrors: scheduler/plugin/{plugin,pool,clusterevent}.go of kube-scheduler-wasm-extension.
Differs: normalised scores are matched by node name (upstream: by the random order of a map); a function that traps fails
the pod, or is told by an event where nothing can be turned down any more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from schedlab.scheduler.framework.events import ActionType, ClusterEvent, ClusterEventWithHint, EventResource
from schedlab.scheduler.framework.interface import NominatingInfo, PostFilterResult, PreFilterResult
from schedlab.scheduler.framework.status import Code, Status, error
from schedlab.scheduler.wasm.call import Call
from schedlab.scheduler.wasm.guest import Guest, GuestModule
from schedlab.scheduler.wasm.host import Host
from schedlab.scheduler.wasm.memory import GuestError
from schedlab.scheduler.wasm.objects import Objects
from schedlab.scheduler.wasm.wasi import Wasi

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from schedlab.scheduler.framework.interface import CycleState, Handle, NodeToStatus, Work
    from schedlab.scheduler.framework.node_table import NodeTable
    from schedlab.scheduler.framework.types import NodeInfo, PodInfo
    from schedlab.scheduler.wasm.args import WasmArgs

_MS_NS: Final = 1_000_000
_MODE_OVERRIDE: Final = 1
# One of these is needed: the others only go with them.
_MAIN: Final = ("filter", "score", "reserve", "unreserve", "permit", "bind")
# Which methods come with a function of the guest.
_METHODS: Final = {
    "prefilter": ("pre_filter",),
    "addpod": ("add_pod", "remove_pod"),
    "removepod": ("add_pod", "remove_pod"),
    "filter": ("filter",),
    "postfilter": ("post_filter",),
    "prescore": ("pre_score",),
    "score": ("score",),
    "normalizescore": ("normalize_score",),
    "reserve": ("reserve", "unreserve"),
    "unreserve": ("reserve", "unreserve"),
    "permit": ("permit",),
    "prebind": ("pre_bind", "pre_bind_pre_flight"),
    "bind": ("bind",),
    "postbind": ("post_bind",),
}
_RESOURCES: Final = (
    EventResource.POD,
    EventResource.NODE,
    EventResource.PERSISTENT_VOLUME,
    EventResource.PERSISTENT_VOLUME_CLAIM,
    None,  # PodSchedulingContext is gone
    EventResource.RESOURCE_CLAIM,
    EventResource.STORAGE_CLASS,
    EventResource.CSI_NODE,
    EventResource.CSI_DRIVER,
    EventResource.CSI_STORAGE_CAPACITY,
    EventResource.WILDCARD,
)
_DEFAULT_RESOURCES: Final = (
    EventResource.POD,
    EventResource.NODE,
    EventResource.CSI_NODE,
    EventResource.PERSISTENT_VOLUME,
    EventResource.PERSISTENT_VOLUME_CLAIM,
    EventResource.STORAGE_CLASS,
)
# The bits of the ABI, which knows fewer kinds of updates; all of them together stand for every update.
_ACTIONS: Final = (
    ActionType.ADD,
    ActionType.DELETE,
    ActionType.UPDATE_NODE_ALLOCATABLE,
    ActionType.UPDATE_NODE_LABEL,
    ActionType.UPDATE_NODE_TAINT,
    ActionType.UPDATE_NODE_CONDITION,
)
_UPDATES: Final = 0b111100


class Lease:
    """A guest that serves one pod; it goes back when the pod's cycle state is gone."""

    __slots__ = ("_free", "guest")

    def __init__(self, guest: Guest, free: list[Guest]) -> None:
        self.guest = guest
        self._free = free

    def __del__(self) -> None:
        if not self.guest.is_broken:
            self._free.append(self.guest)


class WasmPlugin:
    """See the module; raises ValueError when the guest cannot be used."""

    def __init__(self, name: str, binary: bytes, args: WasmArgs, handle: Handle) -> None:
        self.name = name
        self._table: NodeTable = handle.table
        system = Wasi(handle.clock, handle.random.split(f"wasm/{name}"), args.args)
        self._module = GuestModule(binary, Host(name, args, handle, Objects(handle)), system)
        exports = self._module.exports
        if not any(export in _MAIN for export in exports) and exports != ("prefilter",):
            raise ValueError("wasm: filter, score, reserve, permit or bind must be exported")
        for export in exports:
            for method in _METHODS.get(export, ()):
                setattr(self, method, getattr(self, f"_{method}"))
        self._free = [self._module.instance()]

    def _run(self, state: CycleState, function: str, call: Call) -> int:
        if function not in self._module.exports:
            return 0
        lease: Lease | None = state.find((WasmPlugin, self.name))
        if lease is None or lease.guest.is_broken:
            lease = Lease(self._free.pop() if self._free else self._module.instance(), self._free)
            state.write((WasmPlugin, self.name), lease)
        return lease.guest.run(function, call)

    def _ask(self, state: CycleState, function: str, call: Call) -> Status | None:
        """Call a function that returns a status code."""
        try:
            return _status(self._run(state, function, call), call.reason)
        except GuestError as failure:
            return error(str(failure))

    # --- Queue ---

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        """Ask the guest; without an answer it is upstream's choice for guests."""
        if "enqueue" in self._module.exports:
            call, guest = Call(), self._free.pop()
            guest.run("enqueue", call)
            self._free.append(guest)
            events = _cluster_events(call.cluster_events)
            if events:
                return events
        return [ClusterEventWithHint(ClusterEvent(resource, ActionType.ALL)) for resource in _DEFAULT_RESOURCES]

    # --- Scheduling cycle ---

    def _pre_filter(
        self, state: CycleState, pod: PodInfo, _table: NodeTable
    ) -> tuple[PreFilterResult | None, Status | None]:
        call = Call(pod=pod)
        status = self._ask(state, "prefilter", call)
        return None if call.node_names is None else PreFilterResult(call.node_names), status

    def _add_pod(self, state: CycleState, pod: PodInfo, added: PodInfo, node: NodeInfo) -> Status | None:
        return self._ask(state, "addpod", Call(pod=pod, target_pod=added, node_name=node.name))

    def _remove_pod(self, state: CycleState, pod: PodInfo, removed: PodInfo, node: NodeInfo) -> Status | None:
        return self._ask(state, "removepod", Call(pod=pod, target_pod=removed, node_name=node.name))

    def _filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        return self._ask(state, "filter", Call(pod=pod, node_name=node.name))

    def _post_filter(
        self, state: CycleState, pod: PodInfo, statuses: NodeToStatus
    ) -> tuple[PostFilterResult | None, Status | None, Work | None]:
        call = Call(pod=pod, statuses=statuses)
        try:
            answer = self._run(state, "postfilter", call)
        except GuestError as failure:
            return None, error(str(failure)), None
        nominating = NominatingInfo(call.nominated_node_name, _high(answer) == _MODE_OVERRIDE)
        return PostFilterResult(nominating), _status(_low(answer), call.reason), None

    def _pre_score(self, state: CycleState, pod: PodInfo, table: NodeTable, rows: NDArray[np.int64]) -> Status | None:
        return self._ask(state, "prescore", Call(pod=pod, feasible=[table.names[row] for row in rows.tolist()]))

    def _score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> tuple[int, Status | None]:
        call = Call(pod=pod, node_name=node.name)
        try:
            answer = self._run(state, "score", call)
        except GuestError as failure:
            return 0, error(str(failure))
        return _high(answer), _status(_low(answer), call.reason)

    def _normalize_score(
        self, state: CycleState, pod: PodInfo, rows: NDArray[np.int64], scores: NDArray[np.int64]
    ) -> Status | None:
        names = [self._table.names[row] for row in rows.tolist()]
        call = Call(pod=pod, scores=dict(zip(names, scores.tolist(), strict=True)))
        status = self._ask(state, "normalizescore", call)
        # A guest that does not normalise tells nothing.
        if call.normalized:
            if call.normalized.keys() != dict.fromkeys(names).keys():
                return error(
                    f"size mismatch: scores has {len(names)} elements, but updatedScores has {len(call.normalized)} elements"
                )
            scores[:] = [call.normalized[name] for name in names]
        return status

    # --- From reserve to post_bind ---

    def _reserve(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        return self._ask(state, "reserve", Call(pod=pod, node_name=node_name))

    def _unreserve(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        self._run(state, "unreserve", Call(pod=pod, node_name=node_name))

    def _permit(self, state: CycleState, pod: PodInfo, node_name: str) -> tuple[Status | None, int]:
        call = Call(pod=pod, node_name=node_name)
        try:
            answer = self._run(state, "permit", call)
        except GuestError as failure:
            return error(str(failure)), 0
        return _status(_high(answer), call.reason), (answer & 0xFFFF_FFFF) * _MS_NS

    def _pre_bind_pre_flight(self, _state: CycleState, _pod: PodInfo, _node_name: str) -> Status | None:
        return None

    def _pre_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        return self._ask(state, "prebind", Call(pod=pod, node_name=node_name))

    def _bind(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        return self._ask(state, "bind", Call(pod=pod, node_name=node_name))

    def _post_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        self._run(state, "postbind", Call(pod=pod, node_name=node_name))


# --- Numbers of the ABI ---


def _low(number: int) -> int:
    """Return the lower half of an i64 as a signed number."""
    return (number & 0xFFFF_FFFF ^ 0x8000_0000) - 0x8000_0000


def _high(number: int) -> int:
    return _low(number >> 32)


def _status(code: int, reason: str) -> Status | None:
    if code == Code.SUCCESS:
        return None
    if code == Code.ERROR:
        return error(reason or "wasm: guest returned an error")
    try:
        return Status(Code(code), (reason,) if reason else ())
    except ValueError:
        return error(f"wasm: guest returned the unknown status code {code}")


def _cluster_events(encoded: bytes) -> list[ClusterEventWithHint]:
    """Decode pairs of 32-bit numbers: which resource, and what happens to it."""
    events = []
    for at in range(0, len(encoded) - 7, 8):
        resource, action = (int.from_bytes(encoded[start : start + 4], "little") for start in (at, at + 4))
        known = _RESOURCES[resource] if resource < len(_RESOURCES) else None
        if known is not None:
            events.append(ClusterEventWithHint(ClusterEvent(known, _action(action))))
    return events


def _action(bits: int) -> ActionType:
    action = ActionType.UPDATE if bits & _UPDATES == _UPDATES else ActionType.NONE
    for number, known in enumerate(_ACTIONS):
        if bits >> number & 1:
            action |= known
    return action
