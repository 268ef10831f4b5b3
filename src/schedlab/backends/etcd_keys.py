"""Where objects lie in etcd: the keys of kube-apiserver, and back.

    /registry/pods/default/web                      most kinds: plural, namespace, name
    /registry/minions/node-0                        a few have older names
    /registry/example.com/widgets/default/a         custom resources: group first
    /registry/schedlab/cluster                      schedlab's own: its revision (`etcd_marker`), who may write

Mirrors: pkg/kubeapiserver/default_storage_factory_builder.go (SpecialDefaultResourcePrefixes),
staging/src/k8s.io/apiserver/pkg/server/storage/storage_factory.go (ResourcePrefix), the prefixes of
kube-aggregator and apiextensions-apiserver (v1.36)
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Final

from schedlab.apimachinery.resources import known_resources

#: kube-apiserver's --etcd-prefix.
DEFAULT_PREFIX: Final = "/registry"

_FOLDERS: Final[Mapping[str, str]] = {
    "apiservices.apiregistration.k8s.io": "apiregistration.k8s.io/apiservices",
    "customresourcedefinitions.apiextensions.k8s.io": "apiextensions.k8s.io/customresourcedefinitions",
    "endpoints": "services/endpoints",
    "ingresses.networking.k8s.io": "ingress",
    "nodes": "minions",
    "replicationcontrollers": "controllers",
    "services": "services/specs",
}
#: Stored with the core kind of the same name.
_COHABITANTS: Final = frozenset(("events.events.k8s.io",))


@functools.cache
def folder_of(resource: str) -> str:
    """Return the folder of a resource under the prefix."""
    special = _FOLDERS.get(resource)
    if special is not None:
        return special
    plural, _, group = resource.partition(".")
    return plural if resource in _built_in().values() else f"{group}/{plural}"


@functools.cache
def _built_in() -> Mapping[str, str]:
    """Map the folder of each resource that comes with Kubernetes to its name."""
    names = dict.fromkeys(entry.full_name for entry in known_resources() if entry.full_name not in _COHABITANTS)
    return {_FOLDERS.get(name, name.partition(".")[0]): name for name in names}


class KeySpace:
    """The keys under one prefix."""

    def __init__(self, prefix: str = DEFAULT_PREFIX) -> None:
        #: With a slash at both ends.
        self.start = f"/{prefix.strip('/')}/"
        self.marker = f"{self.start}schedlab/cluster".encode()
        self.writer = f"{self.start}schedlab/writer".encode()

    @property
    def range(self) -> tuple[bytes, bytes]:
        """The first key, and the first one behind all of them."""
        start = self.start.encode()
        return start, start[:-1] + b"0"

    def key(self, resource: str, key: str) -> bytes:
        """Return the place of an object whose key in the store is given."""
        return f"{self.start}{folder_of(resource)}/{key}".encode()

    def resource(self, key: bytes) -> str | None:
        """Return the resource of the object at a place; None where no object can lie."""
        first, _, rest = key.decode(errors="replace").removeprefix(self.start).partition("/")
        second, _, name = rest.partition("/")
        built_in = _built_in()
        if rest and first in built_in:
            return built_in[first]
        if not name:
            return None
        return built_in.get(f"{first}/{second}") or (f"{second}.{first}" if "." in first else None)
