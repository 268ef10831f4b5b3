"""The in-tree plugins without their array forms, so that the scalar forms alone decide."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from schedlab.scheduler.framework.interface import Handle, PluginEntry
from schedlab.scheduler.plugins.registry import IN_TREE

_ARRAY_FORMS: Final = frozenset({"filter_nodes", "score_nodes", "looks_at", "is_row_local"})


class ScalarPlugin:
    """A plugin that looks as if it had no array forms."""

    def __init__(self, plugin: Any) -> None:
        self._plugin = plugin
        self.name: str = plugin.name

    def __getattr__(self, name: str) -> Any:
        if name in _ARRAY_FORMS:
            raise AttributeError(f"{name} of {self.name} is not to be used")
        return getattr(self._plugin, name)


def scalar_registry() -> dict[str, PluginEntry]:
    """Return the registry's entries with scalar plugins."""
    return {name: PluginEntry(name, _maker(entry), entry.args) for name, entry in IN_TREE.items()}


def _maker(entry: PluginEntry) -> Callable[[Any, Handle], Any]:
    return lambda args, handle: ScalarPlugin(entry.factory(args, handle))
