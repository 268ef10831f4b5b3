"""What is to become of the slices of one service and one family of addresses, gathered before anything is written.

Slices that are not to be changed are the cache's own; whoever changes one takes a copy (`Changes.touch`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from schedlab.api.object import Object
from schedlab.controllers.endpointslice.slices import endpoints_of, is_ready_endpoint


@dataclass(eq=False)
class Changes:
    """Slices to create, to update and to delete, and those that can stay as they are."""

    create: list[Object] = field(default_factory=list)
    update: list[Object] = field(default_factory=list)
    delete: list[Object] = field(default_factory=list)
    unchanged: list[Object] = field(default_factory=list)

    def all(self) -> Iterator[Object]:
        """Return the slices that there will be."""
        yield from self.create
        yield from self.update
        yield from self.unchanged

    def ready_endpoints(self) -> int:
        """Count the endpoints that traffic will go to."""
        return sum(is_ready_endpoint(each) for found in self.all() for each in endpoints_of(found))

    def touch(self, found: Object) -> None:
        """Let an unchanged slice be updated, too."""
        self.unchanged.remove(found)
        self.update.append({**found, "endpoints": [dict(each) for each in endpoints_of(found)]})

    def merge(self, other: Changes) -> None:
        """Take over the changes of other slices."""
        self.create += other.create
        self.update += other.update
        self.delete += other.delete
        self.unchanged += other.unchanged
