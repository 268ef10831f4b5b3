"""Plugins for runtime tests: whatever methods a test gives them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from schedlab.scheduler.framework.interface import PluginEntry
from schedlab.scheduler.framework.status import NodeStatuses, Status, unschedulable

Form = Literal["scalar", "array"]


class FakePlugin:
    """A plugin with exactly the given methods."""

    def __init__(self, name: str, **methods: Callable[..., Any]) -> None:
        self.name = name
        for method, body in methods.items():
            setattr(self, method, body)


def registry_of(*plugins: FakePlugin) -> dict[str, PluginEntry]:
    """Return a registry whose factories return these instances."""

    def entry(plugin: FakePlugin) -> PluginEntry:
        return PluginEntry(plugin.name, lambda _args, _handle: plugin)

    return {plugin.name: entry(plugin) for plugin in plugins}


def rejecting(name: str, *nodes: str, form: Form = "scalar", status: Status | None = None) -> FakePlugin:
    """Return a filter that turns these nodes down, with an array form or without one; it counts its calls."""
    verdict = status or unschedulable(f"{name} says no")
    methods: dict[str, Callable[..., Any]] = {}
    calls: list[str] = []

    def filter_(_state: object, _pod: object, node: Any) -> Status | None:
        calls.append(node.name)
        return verdict if node.name in nodes else None

    def filter_nodes(_state: object, _pod: object, table: Any, rows: slice) -> NodeStatuses:
        here = table.names[rows]
        calls.extend(here)
        out = NodeStatuses.success(len(here))
        out.reject(np.array([name in nodes for name in here], np.bool_), verdict)
        return out

    methods["filter"] = filter_
    if form == "array":
        methods["filter_nodes"] = filter_nodes
    plugin = FakePlugin(name, **methods)
    plugin.calls = calls  # type: ignore[attr-defined]
    return plugin
