"""Volumes and claims as they will be once what was decided has been written.

    assume(changed)            the change counts from now on ...
    restore(changed)           ... until it is taken back ...
                               ... or the object has another version: what the API server says wins

Mirrors: pkg/scheduler/framework/plugins/volumebinding/{passive_assume_cache.go,assume_cache.go} (v1.36).
Differs: versions are compared when an object is read, so nothing has to listen to changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from schedlab.api.views.meta import ObjectMeta
    from schedlab.client.listers import Lister


class Named(Protocol):
    """A view with metadata."""

    @property
    def metadata(self) -> ObjectMeta: ...


V = TypeVar("V", bound=Named)


class AssumeCache(Generic[V]):
    """What a lister knows, changed by what is assumed."""

    def __init__(self, lister: Lister, resource: str) -> None:
        self.lister = lister
        self._resource = resource
        self._assumed: dict[tuple[str, str], V] = {}

    def get(self, name: str, namespace: str = "") -> V | None:
        """Return an object as it will be, or None."""
        found: V | None = self.lister.get(name, namespace)
        return found if found is None or not self._assumed else self._as_assumed(found)

    def __iter__(self) -> Iterator[V]:
        found: V
        for found in self.lister.list():
            yield self._as_assumed(found) if self._assumed else found

    def assume(self, changed: V) -> str | None:
        """Let a changed object count in place of the current one; return why that cannot be, or None."""
        meta = changed.metadata
        found: V | None = self.lister.get(meta.name, meta.namespace)
        shown = f"{meta.namespace}/{meta.name}" if meta.namespace else meta.name
        if found is None:
            return f'{self._resource} "{shown}" not found'
        if found.metadata.resource_version != meta.resource_version:
            versions = f"stored: {found.metadata.resource_version}, assume: {meta.resource_version}"
            return f'"{shown}" is out of sync ({versions})'
        self._assumed[meta.namespace, meta.name] = changed
        return None

    def restore(self, changed: V) -> None:
        """Take back what was assumed of this version of the object."""
        meta = changed.metadata
        assumed = self._assumed.get((meta.namespace, meta.name))
        if assumed is not None and assumed.metadata.resource_version == meta.resource_version:
            del self._assumed[meta.namespace, meta.name]

    def _as_assumed(self, found: V) -> V:
        key = found.metadata.namespace, found.metadata.name
        assumed = self._assumed.get(key)
        if assumed is None:
            return found
        if assumed.metadata.resource_version == found.metadata.resource_version:
            return assumed
        del self._assumed[key]
        return found
