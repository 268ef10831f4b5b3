"""The new ReplicaSet of a Deployment: found by its template, kept in step, or created under the template's hash.

Mirrors: getNewReplicaSet of pkg/controller/deployment/sync.go (v1.36).
Differs: nothing.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any, Final

from schedlab.api.object import Object, StoredObject
from schedlab.apimachinery.errors import StatusError
from schedlab.client.event_recorder import EventRecorder
from schedlab.client.informers import Informer
from schedlab.client.protocol import Write
from schedlab.controllers.deployment import sets as replica_sets
from schedlab.controllers.deployment import status as statuses
from schedlab.controllers.deployment.draft import Draft
from schedlab.controllers.framework import kinds, ownership
from schedlab.controllers.framework.controller import Asking, Steps, ask, attempt
from schedlab.controllers.framework.pod_control import is_namespace_going
from schedlab.controllers.framework.template_hash import compute_hash
from schedlab.kernel.clock import Clock

_NAME_LENGTH_MAX: Final = 253

Sets = Sequence[StoredObject]


class NewSets:
    """Finds and creates the new sets of Deployments."""

    def __init__(self, sets: Informer, events: EventRecorder, clock: Clock) -> None:
        self._sets = sets
        self._events = events
        self._clock = clock

    def find(self, draft: Draft, sets: Sets) -> Asking[tuple[StoredObject | None, list[StoredObject]]]:
        """Return the new set, if there is one, and the old ones; revisions and annotations are brought in step."""
        new = replica_sets.find_new(draft.stored, sets)
        old = [each for each in sets if new is None or each.uid != new.uid]
        if new is not None:
            new = yield from self._keep_in_step(draft, new, replica_sets.max_revision(old) + 1)
        return new, old

    def find_or_create(self, draft: Draft, sets: Sets) -> Asking[tuple[StoredObject, list[StoredObject]]]:
        """Return the new set and the old ones."""
        new, old = yield from self.find(draft, sets)
        if new is None:
            new = yield from self._create(draft, old, replica_sets.max_revision(old) + 1)
        return new, old

    def _keep_in_step(self, draft: Draft, new: StoredObject, number: int) -> Asking[StoredObject]:
        have = new.view.metadata.annotations
        annotations = replica_sets.with_revision(replica_sets.handed_on(draft.stored, have), number)
        min_ready_s = draft.view.spec.min_ready_seconds
        if annotations != have or new.view.spec.min_ready_seconds != min_ready_s:
            raw = new.raw
            spec = {**raw["spec"], "minReadySeconds": min_ready_s}
            body: Object = {**raw, "metadata": {**raw["metadata"], "annotations": annotations}, "spec": spec}
            return (yield from ask(Write("update", new.resource, new.namespace, new.name, body)))
        changed = draft.set_revision(have.get(replica_sets.REVISION, ""))
        if self._note(draft, statuses.FOUND, f'Found new replica set "{new.name}"', replace=False) or changed:
            yield from draft.write_status()
        return new

    def _create(self, draft: Draft, old: Sets, number: int) -> Asking[StoredObject]:
        body = self._new_set(draft, old, number)
        name, size = body["metadata"]["name"], body["spec"]["replicas"]
        outcome = yield from attempt(Write("create", kinds.REPLICA_SET.resource, draft.stored.namespace, name, body))
        created, error = outcome.object, outcome.error
        if error is not None:
            created = yield from self._survive(draft, name, error)
        assert created is not None
        if error is None and size > 0:
            message = f"Scaled up replica set {name} from 0 to {size}"
            self._events.normal(kinds.DEPLOYMENT, draft.stored, "ScalingReplicaSet", message)
        changed = draft.set_revision(str(number))
        if error is None:
            changed = self._note(draft, statuses.CREATED, f'Created new replica set "{name}"') or changed
        if changed:
            yield from draft.write_status()
        return created

    def _new_set(self, draft: Draft, old: Sets, number: int) -> Object:
        deployment, raw = draft.view, draft.stored.raw
        template: Object = raw["spec"]["template"]
        code = compute_hash(template, deployment.status.collision_count)
        metadata: Object = template.get("metadata") or {}
        labels = {**(metadata.get("labels") or {}), replica_sets.HASH_LABEL: code}
        selector: Object = raw["spec"]["selector"]
        selector = {**selector, "matchLabels": {**(selector.get("matchLabels") or {}), replica_sets.HASH_LABEL: code}}
        annotations = replica_sets.with_revision(replica_sets.handed_on(draft.stored, {}), number)
        spec: dict[str, Any] = {
            "replicas": replica_sets.new_size(deployment, old, 0),
            "minReadySeconds": deployment.spec.min_ready_seconds,
            "selector": selector,
            "template": {**template, "metadata": {**metadata, "labels": labels}},
        }
        return {
            "apiVersion": kinds.REPLICA_SET.api_version,
            "kind": kinds.REPLICA_SET.kind,
            "metadata": {
                "name": _set_name(draft.stored.name, code),
                "namespace": draft.stored.namespace,
                "ownerReferences": [kinds.DEPLOYMENT.reference(draft.stored)],
                "labels": labels,
                "annotations": replica_sets.with_sizes(annotations, deployment),
            },
            "spec": spec,
        }

    def _survive(self, draft: Draft, name: str, error: StatusError) -> Asking[StoredObject]:
        """Return the set that was there already if it is the one that was to be made; else tell, and raise."""
        if error.reason == "AlreadyExists":
            found = self._sets.stored(name, draft.stored.namespace)
            if found is None:
                raise error
            if ownership.is_controlled_by(found, draft.stored) and replica_sets.same_template(draft.stored, found):
                return found
            # Another set has this name: the next try takes another hash.
            draft.status["collisionCount"] = (draft.view.status.collision_count or 0) + 1
            yield from draft.write_status()
        elif not is_namespace_going(error):
            yield from self._report_failure(draft, f'Failed to create new replica set "{name}": {error}')
        raise error

    def _report_failure(self, draft: Draft, message: str) -> Steps:
        if statuses.has_deadline(draft.view):
            now_ns = self._clock.now_ns()
            reason = statuses.CREATE_FAILED
            condition = statuses.new_condition(statuses.PROGRESSING, "False", reason, message, now_ns)
            statuses.set_condition(draft.status, condition)
            # What went wrong matters more than that it could not be written down.
            with contextlib.suppress(StatusError):
                yield from draft.write_status()
        self._events.warning(kinds.DEPLOYMENT, draft.stored, statuses.CREATE_FAILED, message)

    def _note(self, draft: Draft, reason: str, message: str, *, replace: bool = True) -> bool:
        """Set the Progressing condition of a Deployment with a deadline."""
        known = statuses.condition_of(draft.status, statuses.PROGRESSING)
        if not statuses.has_deadline(draft.view) or (known is not None and not replace):
            return False
        now_ns = self._clock.now_ns()
        statuses.set_condition(
            draft.status, statuses.new_condition(statuses.PROGRESSING, "True", reason, message, now_ns)
        )
        return True


def _set_name(deployment: str, code: str) -> str:
    return f"{deployment[: _NAME_LENGTH_MAX - len(code) - 1]}-{code}"
