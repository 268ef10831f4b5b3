"""Pods made from templates and deleted for an owner, with the events that tell of it.

Mirrors: RealPodControl and GetPodFromTemplate of pkg/controller/controller_utils.go, slowStartBatch of
pkg/controller/replicaset/replica_set.go (v1.36).
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from schedlab.api.object import StoredObject
from schedlab.apimachinery import names
from schedlab.apimachinery.errors import StatusError
from schedlab.client.event_recorder import EventRecorder
from schedlab.client.protocol import Outcome, Write
from schedlab.controllers.framework.controller import Asking
from schedlab.controllers.framework.kinds import Kind

SLOW_START_INITIAL: Final = 1
NAMESPACE_TERMINATING: Final = "NamespaceTerminating"


def is_namespace_going(error: StatusError) -> bool:
    """Whether a creation failed because its namespace is being deleted: nothing can be done, nor need be."""
    return error.has_cause(NAMESPACE_TERMINATING)


def pod_prefix(owner_name: str) -> str:
    """Return the beginning of the names of an owner's pods."""
    prefix = f"{owner_name}-"
    return owner_name if names.name_is_dns_subdomain(prefix, prefix=True) else prefix


def pod_from_template(template: Mapping[str, Any], owner: StoredObject, kind: Kind) -> dict[str, Any]:
    """Return the pod that a template asks for, controlled by `owner`; parts of the template are shared."""
    source: Mapping[str, Any] = template.get("metadata") or {}
    metadata: dict[str, Any] = {"generateName": pod_prefix(owner.name), "ownerReferences": [kind.reference(owner)]}
    for key in ("labels", "annotations"):
        if source.get(key):
            metadata[key] = dict(source[key])
    if source.get("finalizers"):
        metadata["finalizers"] = list(source["finalizers"])
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template.get("spec") or {}}


class PodControl:
    """Creates and deletes the pods of one kind of owner."""

    def __init__(self, kind: Kind, events: EventRecorder) -> None:
        self._kind = kind
        self._events = events

    def creation(self, owner: StoredObject, template: Mapping[str, Any]) -> Write:
        """Return the creation of one pod."""
        return Write("create", "pods", owner.namespace, "", pod_from_template(template, owner, self._kind))

    def created(self, owner: StoredObject, outcome: Outcome) -> StatusError | None:
        """Tell of a creation; returns its error."""
        if outcome.error is None:
            assert outcome.object is not None
            self._events.normal(self._kind, owner, "SuccessfulCreate", f"Created pod: {outcome.object.name}")
        elif not is_namespace_going(outcome.error):
            self._events.warning(self._kind, owner, "FailedCreate", f"Error creating: {outcome.error}")
        return outcome.error

    def deleted(self, owner: StoredObject, name: str, outcome: Outcome) -> StatusError | None:
        """Tell of a deletion; returns its error."""
        error = outcome.error
        if error is None:
            self._events.normal(self._kind, owner, "SuccessfulDelete", f"Deleted pod: {name}")
        elif error.reason != "NotFound":
            self._events.warning(self._kind, owner, "FailedDelete", f"Error deleting: {error}")
        return error

    def delete(self, owner: StoredObject, pods: Sequence[StoredObject]) -> Asking[list[StatusError | None]]:
        """Delete pods, all at once; returns an error, or None, for each."""
        outcomes = yield [deletion(pod) for pod in pods]
        return [self.deleted(owner, pod.name, outcome) for pod, outcome in zip(pods, outcomes, strict=True)]


def deletion(pod: StoredObject) -> Write:
    """Return the deletion of a pod with its own grace period."""
    return Write("delete", "pods", pod.namespace, pod.name)


def slow_start(writes: Sequence[Write], initial: int = SLOW_START_INITIAL) -> Asking[list[Outcome]]:
    """Submit writes in batches that double as long as all of a batch succeed; returns the outcomes that there are."""
    outcomes: list[Outcome] = []
    size = initial
    while len(outcomes) < len(writes):
        batch = writes[len(outcomes) : len(outcomes) + size]
        results = yield batch
        outcomes += results
        if any(result.error is not None and not is_namespace_going(result.error) for result in results):
            break
        size *= 2
    return outcomes
