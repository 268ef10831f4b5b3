"""The controller: pods in order, one after the other or side by side, updated from the last to the first.

    revisions ──► make and mend wanted pods, in order ──► delete surplus ones, last first ──► update, last first ──► status

Mirrors: pkg/controller/statefulset/{stateful_set,stateful_set_control}.go (v1.36).
Differs: a status that met a conflict is written by the next sync.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from schedlab.api.object import StoredObject, WatchEvent
from schedlab.api.rules.inert import is_inert
from schedlab.api.views.workloads import RollingUpdate, StatefulSet
from schedlab.apimachinery import selectors
from schedlab.apimachinery.errors import StatusError
from schedlab.apimachinery.selectors import Selector
from schedlab.controllers.framework import kinds, ownership, pods, revisions
from schedlab.controllers.framework.controller import (
    Asking,
    Controller,
    ControllerContext,
    Steps,
    SyncError,
    ask,
    attempt,
    split_key,
)
from schedlab.controllers.framework.status import new_status, scaled_value
from schedlab.controllers.statefulset import identity
from schedlab.controllers.statefulset.pod_control import StatefulPodControl
from schedlab.controllers.statefulset.replicas import Replica, Replicas, Revision
from schedlab.controllers.statefulset.retention import PodIdentity
from schedlab.kernel.clock import SECOND_NS

#: Looks after one pod; returns whether nothing more is to be done in this sync.
Process = Callable[[Replica], Asking[bool]]


class StatefulSetController(Controller):
    """Runs StatefulSets."""

    name: ClassVar[str] = "statefulset-controller"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._sets = context.lister(kinds.STATEFUL_SET.resource)
        self._pods = context.lister("pods")
        self._revisions = context.lister(kinds.CONTROLLER_REVISION.resource)
        ownership.index_by_controller(self._pods)
        ownership.index_by_controller(self._revisions)
        claims = context.lister(kinds.PERSISTENT_VOLUME_CLAIM.resource)
        self._control = StatefulPodControl(claims, self.events)
        self._many_unavailable = context.features.enabled("MaxUnavailableStatefulSet")
        self._sets.on_change(lambda event: self.queue.add(event.object.key))
        self._pods.on_change(self._on_pod)

    # --- Events ------------------------------------------------------------------------------------------------------

    def _on_pod(self, event: WatchEvent) -> None:
        if ownership.is_foreign(event, kinds.STATEFUL_SET):
            return
        pod, before = event.object, event.previous
        owner = self._enqueue_owner(pod)
        if event.type == "DELETED":
            return
        former = None if before is None else self._enqueue_owner(before)
        if before is not None and owner is not None and pods.is_ready(pod.view) and not pods.is_ready(before.view):
            self.queue.add_after(owner.key, owner.view.spec.min_ready_seconds * SECOND_NS)
        if ownership.controller_of(pod) is None and (
            before is None or former is not None or before.labels != pod.labels
        ):
            for each in self._sets.all_stored(pod.namespace):
                selector = selectors.selector_from_view(each.view.spec.selector)
                if not selector.is_empty and selector.matches(pod.labels):
                    self.queue.add(each.key)

    def _enqueue_owner(self, pod: StoredObject) -> StoredObject | None:
        reference = ownership.controller_of(pod)
        owner = ownership.resolve(self._sets, kinds.STATEFUL_SET, pod.namespace, reference)
        if owner is not None:
            self.queue.add(owner.key)
        return owner

    # --- Sync --------------------------------------------------------------------------------------------------------

    def sync(self, key: str) -> Steps:
        """Take one set as far as its pods allow."""
        namespace, name = split_key(key)
        found = self._sets.stored(name, namespace)
        if found is None or is_inert(found.view):
            return
        selector = selectors.selector_from_view(found.view.spec.selector)
        history = yield from self._history(found, selector)

        def is_member(pod: StoredObject) -> bool:
            return selector.matches(pod.labels) and identity.parent_and_ordinal(pod.name)[0] == found.name

        claim = ownership.Claim(kinds.STATEFUL_SET, found, self._sets, is_member)
        orphans = ownership.orphans(self._pods, namespace)
        claimed = yield from claim.all([*ownership.controlled_by(self._pods, found.uid), *orphans])
        self.queue.rest(key, len(claimed))
        current, update, collisions = yield from self._choose_revisions(found, history)
        error = yield from self._update(found, claimed, current, update, collisions)
        yield from self._truncate(found, claimed, history, (current, update))
        if error is not None:
            raise error

    def _update(
        self,
        found: StoredObject,
        claimed: Sequence[StoredObject],
        current: StoredObject,
        update: StoredObject,
        collisions: int,
    ) -> Asking[StatusError | SyncError | None]:
        """Do what can be done, and report; returns what went wrong before the report."""
        now_ns = self.clock.now_ns()
        replicas = Replicas(found, claimed, _revision(current), _revision(update), now_ns)
        status = replicas.status(collisions)
        error: StatusError | SyncError | None = None
        try:
            if not ownership.is_deleted(found):
                yield from self._process(found, replicas, status)
        except (StatusError, SyncError) as failed:
            error = failed
        yield from self._report(found, status)
        view: StatefulSet = found.view
        min_ready_s = view.spec.min_ready_seconds
        if min_ready_s > 0 and status["readyReplicas"] != status["availableReplicas"]:
            after_ns = pods.next_availability_ns((pod.view for pod in claimed), min_ready_s, now_ns)
            self.queue.add_after(found.key, min_ready_s * SECOND_NS if after_ns is None else after_ns)
        return error

    # --- Revisions ---------------------------------------------------------------------------------------------------

    def _history(self, found: StoredObject, selector: Selector) -> Asking[list[StoredObject]]:
        """Return the set's revisions from first to last; orphans that match are adopted."""
        owned = [each for each in ownership.controlled_by(self._revisions, found.uid) if selector.matches(each.labels)]
        claim = ownership.Claim(kinds.STATEFUL_SET, found, self._sets, lambda each: selector.matches(each.labels))
        adopted = yield from claim.all(ownership.orphans(self._revisions, found.namespace))
        return sorted([*owned, *adopted], key=revisions.by_number)

    def _choose_revisions(
        self, found: StoredObject, history: list[StoredObject]
    ) -> Asking[tuple[StoredObject, StoredObject, int]]:
        """Return the current revision, the one that pods are updated to, and the count of collisions."""
        collisions: int = found.view.status.collision_count or 0
        data = revisions.template_data(found)
        equal = [each for each in history if revisions.same_data(each, data)]
        if equal and equal[-1] is history[-1]:
            update = equal[-1]
        elif equal:
            number = history[-1].view.revision + 1
            update = yield from ask(revisions.with_number(equal[-1], number))
        else:
            number = history[-1].view.revision + 1 if history else 1
            update, collisions = yield from self._new_revision(found, data, number, collisions)
        known = {each.name: each for each in history}
        return known.get(found.view.status.current_revision, update), update, collisions

    def _new_revision(
        self, found: StoredObject, data: dict[str, Any], number: int, collisions: int
    ) -> Asking[tuple[StoredObject, int]]:
        labels = (found.raw["spec"]["template"].get("metadata") or {}).get("labels") or {}
        labels = revisions.data_labels(labels, revisions.data_hash(data, collisions))
        while True:
            name = revisions.revision_name(found.name, revisions.data_hash(data, collisions))
            write = revisions.new_revision(kinds.STATEFUL_SET, found, name, labels, data, number)
            outcome = yield from attempt(write)
            if outcome.error is None:
                assert outcome.object is not None
                return outcome.object, collisions
            known = self._revisions.stored(name, found.namespace)
            if outcome.error.reason != "AlreadyExists" or known is None:
                raise outcome.error
            if revisions.same_data(known, data):
                return known, collisions
            collisions += 1

    def _truncate(
        self,
        found: StoredObject,
        claimed: Sequence[StoredObject],
        history: Sequence[StoredObject],
        kept: Sequence[StoredObject],
    ) -> Steps:
        """Delete the oldest revisions beyond the limit that nothing is of."""
        live = {each.name: None for each in kept} | {identity.revision_of(pod): None for pod in claimed}
        unused = [each for each in history if each.name not in live]
        limit = found.view.spec.revision_history_limit
        if limit is None or limit < 0:
            return
        for each in unused[: max(0, len(unused) - limit)]:
            outcome = yield from attempt(revisions.deletion(each))
            if outcome.error is not None and outcome.error.reason != "NotFound":
                raise outcome.error

    # --- Pods --------------------------------------------------------------------------------------------------------

    def _process(self, found: StoredObject, replicas: Replicas, status: dict[str, Any]) -> Steps:
        in_order = found.view.spec.pod_management_policy != "Parallel"

        def look_after(replica: Replica) -> Asking[bool]:
            return self._look_after(found, replicas, replica, in_order=in_order)

        def own(replica: Replica) -> Asking[bool]:
            assert replica.stored is not None
            if not self._control.claims_are_owned(found, PodIdentity(replica.name, replica.stored.uid)):
                yield from self._control.own_claims(found, replica.stored)
            return False

        def condemn(replica: Replica) -> Asking[bool]:
            return self._condemn(found, replicas, replica, in_order=in_order)

        for process, listed in (
            (look_after, replicas.wanted),
            (own, replicas.condemned),
            (condemn, replicas.condemned),
        ):
            if (yield from _for_all(listed, process, in_order=in_order)):
                return
        if found.view.spec.update_strategy.type != "OnDelete":
            yield from self._roll(found, replicas, status)

    def _look_after(self, found: StoredObject, replicas: Replicas, replica: Replica, *, in_order: bool) -> Asking[bool]:
        """Make, replace or mend one pod that is wanted."""
        stored = replica.stored
        if stored is not None and replica.phase in pods.FINISHED:
            if not replica.is_terminating:
                yield from self._control.delete(found, stored)
            return True
        if stored is None:
            assert replica.body is not None
            if self._control.has_stale_claim(found, replica.name):
                return True
            yield from self._control.create(found, replica.body)
            return in_order
        if replica.phase == "Pending":
            yield from self._control.complete_claims(found, stored)
        if in_order and (replica.is_terminating or not replica.is_ready or not replicas.is_available(replica)):
            return True
        owned = self._control.claims_are_owned(found, PodIdentity(replica.name, stored.uid))
        if not (identity.has_identity(stored) and identity.has_storage(found, stored) and owned):
            yield from self._control.mend(found, stored)
        return False

    def _condemn(self, found: StoredObject, replicas: Replicas, replica: Replica, *, in_order: bool) -> Asking[bool]:
        """Delete one pod that is too many, in order only while all others are well."""
        assert replica.stored is not None
        if replica.is_terminating:
            return in_order
        well = replica.is_ready and replicas.is_available(replica)
        if in_order and not well and replica is not replicas.first_unavailable:
            return True
        yield from self._control.delete(found, replica.stored)
        return True

    def _roll(self, found: StoredObject, replicas: Replicas, status: dict[str, Any]) -> Steps:
        """Delete pods of old revisions, from the last one on, as long as few enough are unavailable."""
        view: StatefulSet = found.view
        room = 1
        if self._many_unavailable:
            rolling = view.spec.update_strategy.rolling_update or RollingUpdate()
            allowed = 1 if rolling.max_unavailable is None else rolling.max_unavailable
            room = max(1, scaled_value(allowed, view.spec.replicas, round_up=False))
            room -= sum(map(replicas.is_unavailable, replicas.wanted))
        for replica in reversed(replicas.wanted[replicas.partition :]):
            if room <= 0:
                return
            stored = replica.stored
            outdated = replica.revision != status["updateRevision"]
            if stored is not None and outdated and not replica.is_terminating:
                yield from self._control.delete(found, stored)
                status["currentReplicas"] -= 1
                room -= 1
            elif not self._many_unavailable and replicas.is_unavailable(replica):
                return

    # --- Status ------------------------------------------------------------------------------------------------------

    def _report(self, found: StoredObject, status: dict[str, Any]) -> Steps:
        view: StatefulSet = found.view
        size = view.spec.replicas
        counts = ("updatedReplicas", "readyReplicas", "replicas")
        if view.spec.update_strategy.type == "RollingUpdate" and all(status[name] == size for name in counts):
            status["currentReplicas"] = status["updatedReplicas"]
            status["currentRevision"] = status["updateRevision"]
        # Negative where a pod that was not counted as current was deleted.
        status["currentReplicas"] = max(0, status["currentReplicas"])
        omitted = ("readyReplicas", "currentReplicas", "updatedReplicas")
        shown = {name: value for name, value in status.items() if value or name not in omitted}
        if shown != found.raw.get("status"):
            yield from ask(new_status(found, shown))


def _for_all(listed: Sequence[Replica], process: Process, *, in_order: bool) -> Asking[bool]:
    """Look after pods one by one until one says that is all, or after all of them; returns whether one said so."""
    if in_order:
        for replica in listed:
            if (yield from process(replica)):
                return True
        return False
    size, done = 1, 0
    error: StatusError | SyncError | None = None
    while done < len(listed) and error is None:
        for replica in listed[done : done + size]:
            try:
                yield from process(replica)
            except (StatusError, SyncError) as failed:
                error = error or failed
        done, size = done + size, size * 2
    if error is not None:
        raise error
    return False


def _revision(stored: StoredObject) -> Revision:
    template = {key: value for key, value in stored.raw["data"]["spec"]["template"].items() if key != "$patch"}
    return Revision(stored.name, template)
