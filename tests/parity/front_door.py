"""What the API side of the data makes of a user's object before it is stored.

Every object gets its defaults; a pod also goes through the create strategy, priority admission and the default
tolerations. A status that is given stays. No other admission takes place.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from schedlab.api.kinds.strategy import Context
from schedlab.api.object import Object, StoredObject
from schedlab.apimachinery.features import FeatureGates
from schedlab.apimachinery.time import format_time
from schedlab.kernel.clock import EPOCH_NS, SECOND_NS, VirtualClock
from schedlab.kernel.randomness import SeededRandom
from schedlab.registry import Registry, WriteOptions, bootstrap
from schedlab.store import Store

#: When the objects that exist before the first step were made; a step's own follow one second apart.
CREATED_NS: Final = EPOCH_NS - 3600 * SECOND_NS

_ADMISSION: Final = ("Priority", "DefaultTolerationSeconds")
_DRY_RUN: Final = WriteOptions(dry_run=True)
_CLASSES: Final = "priorityclasses.scheduling.k8s.io"
# What a pod is created without, although its manifest may have it.
_KEPT_METADATA: Final = ("deletionTimestamp", "deletionGracePeriodSeconds")


class FrontDoor:
    """Makes stored objects of manifests. It knows the priority classes it has seen, and nothing else."""

    def __init__(self, features: FeatureGates, now_ns: int = CREATED_NS) -> None:
        self._store = Store()
        self._clock = VirtualClock(now_ns)
        self._registry = Registry(self._store, self._clock, SeededRandom(1), features, admission=_ADMISSION)
        self._features = features
        self._resources = self._registry.resources
        bootstrap(self._registry, namespaces=())

    def resource_of(self, manifest: Mapping[str, Any]) -> str:
        """Return the resource of a kind, named as kubectl names it."""
        group = manifest["apiVersion"].rpartition("/")[0] if "apiVersion" in manifest else None
        for entry in self._resources:
            if entry.kind == manifest["kind"] and group in {None, entry.group}:
                return entry.full_name
        raise LookupError(f"no resource of kind {manifest['kind']} is served")

    def learn(self, manifest: Mapping[str, Any]) -> None:
        """Take note of a priority class, so that pods can name it."""
        obj = self.admit(manifest)
        name = obj["metadata"]["name"]
        known = self._store.get(_CLASSES, name)
        stored = StoredObject.encode(_CLASSES, obj, self._store.next_revision)
        if known is None:
            self._store.create(stored)
        else:
            self._store.update(stored, known.revision)

    def admit(self, manifest: Mapping[str, Any]) -> Object:
        """Return the object as it is stored, without a creation time."""
        resource = self.resource_of(manifest)
        known = self._registry.resource(resource)
        obj = self._registry.decode(resource, manifest)
        metadata = obj["metadata"]
        if known.namespaced:
            metadata.setdefault("namespace", "default")
        if resource == "pods":
            return self._create_pod(obj)
        known.strategy.default(obj, Context(self._features, format_time(self._clock.now_ns())))
        metadata.setdefault("uid", uid_of(metadata))
        return obj

    def _create_pod(self, pod: Object) -> Object:
        given, status = pod["metadata"], pod.get("status") or {}
        uid = given.get("uid") or uid_of(given)
        kept = {key: given[key] for key in _KEPT_METADATA if key in given}
        made = self._registry.create("pods", pod, given["namespace"], _DRY_RUN).thaw()
        metadata = made["metadata"]
        for key in ("creationTimestamp", "managedFields", "resourceVersion"):
            metadata.pop(key, None)
        made["metadata"] = metadata | {"uid": uid} | kept
        made["status"] = made["status"] | status
        return made


def uid_of(metadata: Mapping[str, Any]) -> str:
    """Return the uid of an object whose manifest has none."""
    name: str = metadata["name"]
    return f"uid-{metadata['namespace']}/{name}" if metadata.get("namespace") else f"uid-{name}"
