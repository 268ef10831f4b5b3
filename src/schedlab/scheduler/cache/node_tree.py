"""Which node comes when: zones take turns, in the order in which they appeared.

Mirrors: pkg/scheduler/backend/cache/node_tree.go (v1.36).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from schedlab.api.rules.topology import zone_key

if TYPE_CHECKING:
    from schedlab.api.views.core import Node


class NodeTree:
    """Node names by zone. Dicts keep both orders of appearance and forget a name in constant time."""

    def __init__(self) -> None:
        self._zones: dict[str, dict[str, None]] = {}
        self._zone_of: dict[str, str] = {}
        # Whether a copy has the same dicts: whoever changes them first makes some of its own.
        self._is_lent = False

    def __len__(self) -> int:
        return len(self._zone_of)

    def __contains__(self, name: str) -> bool:
        return name in self._zone_of

    def set_node(self, node: Node) -> None:
        """Take a node in, or move it to the end of its new zone if that is another one."""
        name, zone = node.metadata.name, zone_key(node)
        known = self._zone_of.get(name)
        if known == zone:
            return
        self._own()
        if known is not None:
            self.remove_node(name)
        self._zone_of[name] = zone
        self._zones.setdefault(zone, {})[name] = None

    def remove_node(self, name: str) -> None:
        """Forget a node; an empty zone loses its turn."""
        self._own()
        zone = self._zone_of.pop(name)
        names = self._zones[zone]
        del names[name]
        if not names:
            del self._zones[zone]

    def names(self) -> list[str]:
        """Return all names: the first of every zone, then the second of every zone, and so on."""
        columns = [list(names) for names in self._zones.values()]
        if len(columns) == 1:
            return columns[0]
        longest = max(map(len, columns), default=0)
        return [column[turn] for turn in range(longest) for column in columns if turn < len(column)]

    def copy(self) -> NodeTree:
        """Return an independent copy."""
        other = NodeTree()
        other._zones, other._zone_of = self._zones, self._zone_of
        self._is_lent = other._is_lent = True
        return other

    def _own(self) -> None:
        if self._is_lent:
            self._zones = {zone: dict(names) for zone, names in self._zones.items()}
            self._zone_of = dict(self._zone_of)
            self._is_lent = False
