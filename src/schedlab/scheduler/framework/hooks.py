"""Hooks: what runs before and after the methods of a plugin, without a change to the plugin.

    class FitHooks:
        def __init__(self, handle): ...                 # or without `handle`

        def after_filter(self, state, pod, node, status):
            add_custom_result(state, "example.com/fit", ...)
            return status

A hooks class has any of the methods below. A before-hook that returns something else than success ends the call: the
plugin is not asked, and what the hook returned is the answer. What an after-hook returns is the answer. Hooks are called
only where the plugin takes part itself. Filters of a plugin with filter hooks are asked node by node, and may be asked
about a node more than once (for records, nominated pods and preemption).

Mirrors: PluginExtenders of kube-scheduler-simulator (scheduler/plugin/wrappedplugin.go).
Differs: records hold the answer that counts, which is that of the hook.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, Protocol

from schedlab.scheduler.framework.plugin_class import PluginClassError, check_method

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from schedlab.scheduler.framework.interface import (
        CycleState,
        Handle,
        NodeToStatus,
        PostFilterResult,
        PreFilterResult,
    )
    from schedlab.scheduler.framework.node_table import NodeTable
    from schedlab.scheduler.framework.status import Status
    from schedlab.scheduler.framework.types import NodeInfo, PodInfo

    Filtered = tuple[PreFilterResult | None, Status | None]
    PostFiltered = tuple[PostFilterResult | None, Status | None]
    Scored = tuple[int, Status | None]
    Permitted = tuple[Status | None, int]

# Makes the hooks of one profile.
HooksFactory = Callable[["Handle"], Any]


class PreFilterHooks(Protocol):
    """Around pre_filter."""

    def before_pre_filter(self, state: CycleState, pod: PodInfo, table: NodeTable) -> Filtered: ...

    def after_pre_filter(
        self, state: CycleState, pod: PodInfo, table: NodeTable, result: PreFilterResult | None, status: Status | None
    ) -> Filtered: ...


class FilterHooks(Protocol):
    """Around filter."""

    def before_filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None: ...

    def after_filter(self, state: CycleState, pod: PodInfo, node: NodeInfo, status: Status | None) -> Status | None: ...


class PostFilterHooks(Protocol):
    """Around post_filter, requests to extenders included."""

    def before_post_filter(self, state: CycleState, pod: PodInfo, statuses: NodeToStatus) -> PostFiltered: ...

    def after_post_filter(
        self,
        state: CycleState,
        pod: PodInfo,
        statuses: NodeToStatus,
        result: PostFilterResult | None,
        status: Status | None,
    ) -> PostFiltered: ...


class PreScoreHooks(Protocol):
    """Around pre_score; `rows: int64[F]` are the feasible nodes."""

    def before_pre_score(
        self, state: CycleState, pod: PodInfo, table: NodeTable, rows: NDArray[np.int64]
    ) -> Status | None: ...

    def after_pre_score(
        self, state: CycleState, pod: PodInfo, table: NodeTable, rows: NDArray[np.int64], status: Status | None
    ) -> Status | None: ...


class ScoreHooks(Protocol):
    """Around score."""

    def before_score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Scored: ...

    def after_score(
        self, state: CycleState, pod: PodInfo, node: NodeInfo, score: int, status: Status | None
    ) -> Scored: ...


class NormalizeScoreHooks(Protocol):
    """Around normalize_score; `scores: int64[F]` may be changed in place."""

    def before_normalize_score(
        self, state: CycleState, pod: PodInfo, rows: NDArray[np.int64], scores: NDArray[np.int64]
    ) -> Status | None: ...

    def after_normalize_score(
        self,
        state: CycleState,
        pod: PodInfo,
        rows: NDArray[np.int64],
        scores: NDArray[np.int64],
        status: Status | None,
    ) -> Status | None: ...


class ReserveHooks(Protocol):
    """Around reserve and unreserve; unreserve has no answer."""

    def before_reserve(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None: ...

    def after_reserve(
        self, state: CycleState, pod: PodInfo, node_name: str, status: Status | None
    ) -> Status | None: ...

    def before_unreserve(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None: ...

    def after_unreserve(self, state: CycleState, pod: PodInfo, node_name: str) -> None: ...


class PermitHooks(Protocol):
    """Around permit; the timeout is in ns."""

    def before_permit(self, state: CycleState, pod: PodInfo, node_name: str) -> Permitted: ...

    def after_permit(
        self, state: CycleState, pod: PodInfo, node_name: str, status: Status | None, timeout_ns: int
    ) -> Permitted: ...


class PreBindHooks(Protocol):
    """Around pre_bind, everything it waits for included."""

    def before_pre_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None: ...

    def after_pre_bind(
        self, state: CycleState, pod: PodInfo, node_name: str, status: Status | None
    ) -> Status | None: ...


class BindHooks(Protocol):
    """Around bind, everything it waits for included."""

    def before_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None: ...

    def after_bind(self, state: CycleState, pod: PodInfo, node_name: str, status: Status | None) -> Status | None: ...


class PostBindHooks(Protocol):
    """Around post_bind, which has no answer."""

    def before_post_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None: ...

    def after_post_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> None: ...


_PROTOCOLS: Final = (
    PreFilterHooks,
    FilterHooks,
    PostFilterHooks,
    PreScoreHooks,
    ScoreHooks,
    NormalizeScoreHooks,
    ReserveHooks,
    PermitHooks,
    PreBindHooks,
    BindHooks,
    PostBindHooks,
)
PARAMETERS: Final[Mapping[str, tuple[str, ...]]] = {
    name: tuple(inspect.signature(method).parameters)[1:]
    for protocol in _PROTOCOLS
    for name, method in vars(protocol).items()
    if inspect.isfunction(method) and not name.startswith("_")
}


def factory_of(hooks: Any) -> HooksFactory:
    """Return how the hooks of a class are made; raises PluginClassError when it is no class of hooks."""
    if not isinstance(hooks, type):
        raise PluginClassError(f"{hooks!r} is no class", hint="hooks are a class with methods such as after_filter")
    present = [name for name in dir(hooks) if name.startswith(("before_", "after_"))]
    if not present:
        raise PluginClassError(f"{hooks.__name__} has no hook", hint=f"give it one of: {', '.join(PARAMETERS)}")
    for name in present:
        if name not in PARAMETERS:
            raise PluginClassError(f"{hooks.__name__}.{name} is no hook", hint=f"hooks are: {', '.join(PARAMETERS)}")
        check_method(hooks, name, PARAMETERS[name])
    make: Callable[..., Any] = hooks
    if "handle" in inspect.signature(hooks).parameters:
        return lambda handle: make(handle=handle)
    return lambda _handle: make()
