"""What readers of an informer's cache see.

Mirrors: the listers of client-go (v1.36). Differs: reads return typed views; `stored` gives the whole object.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from schedlab.api.object import StoredObject


class Lister(Protocol):
    """The current objects of one resource."""

    def get(self, name: str, namespace: str = "") -> Any | None:
        """Return the typed view of one object, or None."""

    def list(self, namespace: str | None = None) -> Sequence[Any]:
        """Return the typed views of all objects (of one namespace), in the order they were first seen."""

    def stored(self, name: str, namespace: str = "") -> StoredObject | None:
        """Return the whole object, or None."""


class Listers(Protocol):
    """One lister per resource, named as kubectl names it (`services`, `storageclasses.storage.k8s.io`)."""

    def lister(self, resource: str) -> Lister:
        """Return the lister of a resource; every caller gets the same one."""
