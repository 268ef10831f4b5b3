"""Which pre_bind plugins have work for a pod, and which of them work side by side.

Mirrors: RunPreBindPreFlights and the grouping in RunPreBindPlugins of pkg/scheduler/framework/runtime/framework.go (v1.36).
Differs: plugins that say that they have no work for pods made alike (`pre_binds_nothing`) are not asked about each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from schedlab.scheduler.framework.status import SKIP, Code, Status
from schedlab.scheduler.runtime.errors import as_status, failure_of, wrapped

if TYPE_CHECKING:
    from schedlab.scheduler.framework.interface import CycleState
    from schedlab.scheduler.framework.types import PodInfo


def ask_pre_flights(plugins: Sequence[Any], state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
    """Ask which plugins have work, and note in the state who has none: None if any has, SKIP if none, else an error."""
    skip: list[str] = []
    result: Status | None = SKIP
    for plugin in plugins:
        name = plugin.name
        try:
            status = as_status(plugin.pre_bind_pre_flight(state, pod, node_name))
        except Exception as error:  # noqa: BLE001 - a plugin may raise anything
            status = failure_of(error)
        if status is None or status.code == Code.SUCCESS:
            result = None
        elif status.code == Code.SKIP:
            skip.append(name)
        elif status.code == Code.ERROR:
            return wrapped(f'running PreBindPreFlight "{name}"', status)
        else:
            text = (
                f'PreBindPreFlight {name} returned "{status.code.text}", which is unsupported. '
                "It is supposed to return Success, Skip, or Error status"
            )
            return Status(Code.ERROR, (), "", text)
    state.skip_pre_bind = frozenset(skip)
    return result


def grouped(plugins: Sequence[Any], skipped: frozenset[str]) -> list[list[Any]]:
    """Return the plugins that have work; those of a group work side by side."""
    groups: list[list[Any]] = []
    group: list[Any] = []
    for plugin in plugins:
        skips = plugin.name in skipped
        if getattr(plugin, "pre_bind_parallel", False):
            if not skips:
                group.append(plugin)
            continue
        if group:
            groups.append(group)
            group = []
        if not skips:
            groups.append([plugin])
    if group:
        groups.append(group)
    return groups
