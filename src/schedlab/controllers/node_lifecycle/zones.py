"""How many nodes of each zone are ready, and how fast those that are not may be emptied.

    every zone without a ready node ──► nothing is emptied: it is rather this side that is cut off
    55 % of a zone not ready        ──► one in 100 s if the zone has more than 50 nodes, else none
    otherwise                       ──► one in 10 s

Mirrors: ComputeZoneState, handleDisruption, setLimiterInZone of
pkg/controller/nodelifecycle/node_lifecycle_controller.go (v1.36).
Differs: the states follow each change, where upstream looks every 5 s.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from schedlab.kernel.clock import SECOND_NS

_NORMAL_NS: Final = 10 * SECOND_NS
_SLOW_NS: Final = 100 * SECOND_NS
_LARGE_ZONE: Final = 50
_UNHEALTHY_MIN: Final = 3


@dataclass(slots=True)
class _Zone:
    """One zone: its nodes, and those that wait for their taint."""

    ready: int = 0
    unhealthy: dict[str, None] = field(default_factory=dict)
    waiting: dict[str, None] = field(default_factory=dict)
    free_ns: int = 0

    @property
    def size(self) -> int:
        return self.ready + len(self.unhealthy)

    @property
    def interval_ns(self) -> int | None:
        """The time between two nodes; None when none may be tainted."""
        bad = len(self.unhealthy)
        # 55 %, in whole numbers. A zone that is down as a whole, while others are not, goes on as usual.
        if self.ready and bad >= _UNHEALTHY_MIN and 100 * bad >= 55 * self.size:
            return _SLOW_NS if self.size > _LARGE_ZONE else None
        return _NORMAL_NS


class Zones:
    """The zones by their key."""

    def __init__(self) -> None:
        self._zones: dict[str, _Zone] = {}
        #: Each node's zone, and whether it is ready.
        self._nodes: dict[str, tuple[str, bool]] = {}
        self._live_zones = 0

    @property
    def all_disrupted(self) -> bool:
        """Whether there are nodes and none is ready."""
        return bool(self._nodes) and not self._live_zones

    def put(self, name: str, zone_key: str, *, ready: bool) -> None:
        """Note the state of a node."""
        if self._nodes.get(name) == (zone_key, ready):
            return
        known = self._nodes.get(name)
        waited = known is not None and known[0] == zone_key and name in self._zones[zone_key].waiting
        self.remove(name)
        zone = self._zones.setdefault(zone_key, _Zone())
        self._nodes[name] = zone_key, ready
        if ready:
            zone.ready += 1
            self._live_zones += zone.ready == 1
        else:
            zone.unhealthy[name] = None
            if waited:
                zone.waiting[name] = None

    def remove(self, name: str) -> None:
        """Forget a node."""
        if name not in self._nodes:
            return
        zone_key, ready = self._nodes.pop(name)
        zone = self._zones[zone_key]
        zone.waiting.pop(name, None)
        if ready:
            zone.ready -= 1
            self._live_zones -= zone.ready == 0
        else:
            zone.unhealthy.pop(name, None)
        if not zone.size:
            del self._zones[zone_key]

    def unhealthy(self) -> tuple[str, ...]:
        """Return the nodes that are not ready."""
        return tuple(name for zone in self._zones.values() for name in zone.unhealthy)

    def wait(self, name: str) -> None:
        """Have a node that is not ready tainted when its turn comes."""
        known = self._nodes.get(name)
        if known is not None:
            self._zones[known[0]].waiting[name] = None

    def stop_waiting(self, name: str) -> None:
        """Take a node out of the queue of its zone."""
        known = self._nodes.get(name)
        if known is not None:
            self._zones[known[0]].waiting.pop(name, None)

    def take(self, now_ns: int) -> tuple[list[str], int | None]:
        """Return the nodes whose turn it is, and when to ask again."""
        if self.all_disrupted:
            return [], None
        taken: list[str] = []
        again: int | None = None
        for zone in self._zones.values():
            interval_ns = zone.interval_ns
            if interval_ns is None or not zone.waiting:
                continue
            if zone.free_ns <= now_ns:
                name = next(iter(zone.waiting))
                del zone.waiting[name]
                taken.append(name)
                zone.free_ns = now_ns + interval_ns
            if zone.waiting:
                again = zone.free_ns if again is None else min(again, zone.free_ns)
        return taken, again
