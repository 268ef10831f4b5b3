"""The door to the store: every verb of the API, without HTTP.

Mirrors: staging/src/k8s.io/apiserver/pkg/endpoints/handlers, registry/generic/registry (v1.36)
Differs: nothing is asynchronous; `when_durable` says when an answer may be given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from schedlab.api.kinds.catalog import STRATEGIES
from schedlab.api.kinds.customresourcedefinition import DEFINITIONS
from schedlab.api.object import Object, StoredObject, WatchEvent
from schedlab.apimachinery.errors import Status, new_not_found, new_status
from schedlab.apimachinery.features import FeatureGates
from schedlab.apimachinery.gvk import GroupResource
from schedlab.apimachinery.patch.request import PatchBody, PatchType
from schedlab.apimachinery.resources import Resources, known_resources
from schedlab.apimachinery.schema import schema_for
from schedlab.kernel.clock import Clock
from schedlab.kernel.randomness import RandomSource
from schedlab.registry.admission.chain import Admission, choose
from schedlab.registry.admission.plugins import DEFAULT_NAMES, KNOWN
from schedlab.registry.adoption import Adopter
from schedlab.registry.core import Core
from schedlab.registry.custom.definitions import Definitions
from schedlab.registry.custom.resource import CustomResource
from schedlab.registry.deletes import Deleter
from schedlab.registry.eviction import Evictor
from schedlab.registry.patches import Patcher
from schedlab.registry.pods import Pods
from schedlab.registry.reads import Reader
from schedlab.registry.request import (
    EVERYTHING,
    NO_DELETE_OPTIONS,
    NO_OPTIONS,
    DeleteOptions,
    Deletion,
    ListOptions,
    ObjectList,
    WriteOptions,
    Written,
)
from schedlab.registry.resource import SCALE, Overlay, Resource, decoded, make_resource
from schedlab.registry.scales import Scaler
from schedlab.registry.services import ServiceAllocator
from schedlab.registry.writes import Writer
from schedlab.store import Store, StoreWatch

#: Hears of a write: the object as it is now, the verb, the subresource, and who asked how.
WriteListener: TypeAlias = Callable[[StoredObject, str, str, WriteOptions], None]


class Registry:
    """Creates, changes, deletes and reads objects of every served resource.

    Resources are named as kubectl names them (`pods`, `storageclasses.storage.k8s.io`). Objects handed in are in
    canonical form (see `decode`) and belong to the registry afterwards. Every refusal is a StatusError.
    """

    def __init__(
        self,
        store: Store,
        clock: Clock,
        random: RandomSource,
        features: FeatureGates | None = None,
        *,
        admission: Iterable[str] = DEFAULT_NAMES,
    ) -> None:
        gates = FeatureGates.default() if features is None else features
        resources = _served(gates)
        self._core = Core(store, clock, random, gates, choose(KNOWN, admission), resources)
        self._core.begin["services"] = ServiceAllocator(self._core).begin
        self._writer = Writer(self._core)
        self._patcher = Patcher(self._core, self._writer)
        self._deleter = Deleter(self._core)
        self._reader = Reader(self._core)
        self._definitions = Definitions(self._core, resources, self._writer, self._deleter)
        self._definitions.settle()
        self._scaler = Scaler(self._core, self._writer)
        self._pods = Pods(self._core)
        self._listener: WriteListener | None = None
        self._evictor = Evictor(self._core, self._writer, self._deleter)
        self._adopter = Adopter(self._core)

    # --- What is served ----------------------------------------------------------------------------------------------

    @property
    def resources(self) -> Resources:
        """The served resources, for discovery and routing."""
        return Resources(resource.type for resource in self.served)

    @property
    def served(self) -> Iterable[Resource]:
        """What is known of every served resource, each of its versions included."""
        known = self._core.resources.values()
        return [one for one in known if not isinstance(one, CustomResource) or one.is_served]

    def on_resources(self, listener: Callable[[], None]) -> None:
        """Call `listener` whenever other resources are served than before."""
        self._definitions.on_change(listener)

    def resource(self, name: str) -> Resource:
        """Return what is known of a resource; raises NotFound for one that is not served."""
        found = self._core.resources.get(name)
        if found is None:
            plural, _, group = name.partition(".")
            raise new_not_found(GroupResource(group, plural), "")
        return found

    def decode(self, resource: str, obj: Mapping[str, Any], subresource: str = "") -> Object:
        """Bring an object as a user writes it into canonical form, in a new dict; raises BadRequest."""
        known = self.resource(resource)
        if not subresource:
            return decoded(obj, known.type.gvk, known.schema)
        found = known.type.subresource(subresource)
        if found is None:
            raise known.not_supported("create")
        return decoded(obj, found.gvk, schema_for(*found.gvk))

    def admit(self, plugin: Admission) -> None:
        """Let an admission plugin look at writes after all others."""
        self._core.admission.append(plugin)

    # --- Durability --------------------------------------------------------------------------------------------------

    @property
    def revision(self) -> int:
        """The newest revision."""
        return self._core.store.revision

    @property
    def durable_revision(self) -> int:
        """The newest revision that nothing can take back."""
        return self._core.store.durable_revision

    def when_durable(self, revision: int, waiter: Callable[[Exception | None], None]) -> None:
        """Call `waiter` once nothing can take the revision back, or with the error that did."""
        self._core.store.when_durable(revision, waiter)

    # --- Writing -----------------------------------------------------------------------------------------------------

    def create(
        self, resource: str, obj: Object, namespace: str = "", options: WriteOptions = NO_OPTIONS
    ) -> StoredObject:
        """Store a new object."""
        known = self.resource(resource)
        return self._created(known, self._writer.create(known, obj, namespace, options), options)

    def create_written(
        self,
        resource: str,
        written: Mapping[str, Any],
        namespace: str = "",
        options: WriteOptions = NO_OPTIONS,
        decode: Callable[[], Object] | None = None,
    ) -> StoredObject:
        """Store a new object as a user writes it, which stays as it is; one that is like an earlier one is not decoded.

        `decode` does what the API server does with a body; without it, the method `decode` of this class is meant.
        """
        known = self.resource(resource)
        if decode is None:
            created = self._writer.create(
                known, written, namespace, options, "lenient", lambda: self.decode(resource, written)
            )
        else:
            created = self._writer.create(known, written, namespace, options, "checked", decode)
        return self._created(known, created, options)

    def _created(self, known: Resource, created: StoredObject, options: WriteOptions) -> StoredObject:
        self._definitions.written(known)
        self._told(created, "create", "", options)
        return known.present(created) if options.wants_object else created

    def update(
        self,
        resource: str,
        name: str,
        obj: Object,
        namespace: str = "",
        options: WriteOptions = NO_OPTIONS,
        subresource: str = "",
    ) -> Written:
        """Replace an object, or what a subresource stands for."""
        known = self.resource(resource)
        if subresource == SCALE:
            return self._scaler.update(known, obj, name, namespace, options)
        written = self._writer.update(known, obj, name, namespace, options, subresource)
        self._told(written.object, "update", subresource, options)
        return self._present(known, written)

    def patch(
        self,
        resource: str,
        name: str,
        patch_type: PatchType,
        patch: PatchBody,
        namespace: str = "",
        options: WriteOptions = NO_OPTIONS,
        subresource: str = "",
    ) -> Written:
        """Change an object by a patch."""
        known = self.resource(resource)
        if subresource == SCALE:
            return self._scaler.patch(known, name, namespace, patch_type, patch, options)
        written = self._patcher.patch(known, name, namespace, patch_type, patch, options, subresource)
        self._told(written.object, "patch", subresource, options)
        return self._present(known, written)

    def apply(
        self,
        resource: str,
        name: str,
        configuration: Mapping[str, Any],
        namespace: str = "",
        options: WriteOptions = NO_OPTIONS,
        subresource: str = "",
    ) -> Written:
        """Bring an object to what a manager wants of it, creating it if need be (server-side apply)."""
        known = self.resource(resource)
        if subresource == SCALE:
            return self._scaler.apply(known, name, namespace, configuration, options)
        written = self._patcher.apply(known, name, namespace, configuration, options, subresource)
        self._told(written.object, "apply", subresource, options)
        return self._present(known, written)

    def on_write(self, listener: WriteListener) -> None:
        """Call `listener` with every object that was created or changed, the verb, subresource and options."""
        self._listener = listener

    def _told(self, written: StoredObject, verb: str, subresource: str, options: WriteOptions) -> None:
        if self._listener is not None and not options.dry_run:
            self._listener(written, verb, subresource, options)

    def _present(self, resource: Resource, written: Written) -> Written:
        self._definitions.written(resource)
        return Written(resource.present(written.object), written.created)

    def bind(self, name: str, binding: Object, namespace: str = "", options: WriteOptions = NO_OPTIONS) -> Status:
        """Put a pod onto a node."""
        bound = self._pods.bind(name, namespace, binding, options)
        self._told(bound, "create", "binding", options)
        return new_status("Success")

    def evict(self, name: str, eviction: Object, namespace: str = "", options: WriteOptions = NO_OPTIONS) -> Status:
        """Delete a pod if its disruption budget allows it."""
        wanted: Mapping[str, Any] = eviction.get("deleteOptions") or {}
        preconditions: Mapping[str, Any] = wanted.get("preconditions") or {}
        delete_options = DeleteOptions(
            grace_period_seconds=wanted.get("gracePeriodSeconds"),
            uid=preconditions.get("uid"),
            resource_version=preconditions.get("resourceVersion"),
            propagation_policy=wanted.get("propagationPolicy"),
            orphan_dependents=wanted.get("orphanDependents"),
            dry_run=options.dry_run or bool(wanted.get("dryRun")),
            user=options.user,
        )
        return self._evictor.evict(name, namespace, eviction, options, delete_options)

    def touch(self, resource: str, name: str, namespace: str = "") -> None:
        """Give an object a new revision and nothing else, so that watchers see anew what is derived from it."""
        known = self.resource(resource)
        self._core.store.touch(known.storage, known.key(namespace, name))

    def delete(
        self, resource: str, name: str, namespace: str = "", options: DeleteOptions = NO_DELETE_OPTIONS
    ) -> Deletion:
        """Delete an object, at once or by marking it."""
        known = self.resource(resource)
        if resource == DEFINITIONS:
            deletion = self._definitions.delete(known, name, options)
        else:
            deletion = self._deleter.delete(known, name, namespace, options)
        self._definitions.written(known)
        shown = None if deletion.object is None else known.present(deletion.object)
        return Deletion(shown, deletion.status, deletion.immediate)

    def delete_collection(
        self,
        resource: str,
        namespace: str = "",
        selection: ListOptions = EVERYTHING,
        options: DeleteOptions = NO_DELETE_OPTIONS,
    ) -> ObjectList:
        """Delete what a list would show; returns that list."""
        known = self.resource(resource)
        found = self._reader.list(known, namespace, selection)
        self._deleter.delete_collection(known, found.items, options)
        self._definitions.written(known)
        return found

    def adopt(self, resource: str, obj: Mapping[str, Any]) -> StoredObject:
        """Store an object as another API server holds it, status and uid included; raises Invalid, BadRequest.

        It need not be in canonical form, and parts of it may be taken over as they are: it must not be changed later.
        """
        known = self.resource(resource)
        adopted = self._adopter.adopt(known, obj)
        self._definitions.written(known)
        return known.present(adopted)

    def remove(self, resource: str, name: str, namespace: str = "") -> None:
        """Take an object away at once, whatever its finalizers; nothing happens when it is gone."""
        known = self.resource(resource)
        self._adopter.remove(known, name, namespace)
        self._definitions.written(known)

    # --- Reading -----------------------------------------------------------------------------------------------------

    def get(self, resource: str, name: str, namespace: str = "", subresource: str = "") -> StoredObject:
        """Return an object, or its Scale; raises NotFound."""
        known = self.resource(resource)
        if subresource == SCALE:
            return self._scaler.get(known, name, namespace)
        return known.present(self._core.require(known, namespace, name))

    def list(self, resource: str, namespace: str = "", selection: ListOptions = EVERYTHING) -> ObjectList:
        """Return objects in key order."""
        return self._reader.list(self.resource(resource), namespace, selection)

    def overlay(self, resource: str, overlay: Overlay) -> None:
        """Derive some values of a resource when its objects are read through the API; what is stored stays as it is."""
        self.resource(resource).overlays.append(overlay)

    def provide_accounts(self, provide: Callable[[str], None]) -> None:
        """Call `provide` when a pod needs the account `default` of a namespace that has none yet."""
        self._core.provide_account = provide

    def watch(
        self,
        resource: str,
        since: int,
        handler: Callable[[WatchEvent], None],
        namespace: str = "",
        selection: ListOptions = EVERYTHING,
    ) -> StoreWatch:
        """Hand over what changes after a revision, as seen through the selectors; raises Expired."""
        return self._reader.watch(self.resource(resource), namespace, selection, since, handler)


def _served(features: FeatureGates) -> dict[str, Resource]:
    known = known_resources()
    served: dict[str, Resource] = {}
    for name, strategy in STRATEGIES.items():
        if strategy.feature and not features.enabled(strategy.feature):
            continue
        entry = known.named(name)
        served[name] = make_resource(entry, strategy, schema_for(entry.group, entry.version, entry.kind))
    return served
