"""The revisions of a DaemonSet: the current one, made when the template is new, and those before it.

Mirrors: constructHistory, snapshot, dedupCurHistories and cleanupHistory of pkg/controller/daemon/update.go (v1.36).
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from schedlab.api.object import StoredObject
from schedlab.apimachinery import selectors
from schedlab.client.informers import Informer
from schedlab.client.protocol import Outcome, Write
from schedlab.controllers.framework import kinds, ownership, revisions
from schedlab.controllers.framework.controller import Asking, ControllerContext, Steps, ask, attempt
from schedlab.controllers.framework.revisions import REVISION_HASH
from schedlab.controllers.framework.status import new_status
from schedlab.controllers.framework.template_hash import compute_hash

Revisions = list[StoredObject]


class History:
    """Keeps the revisions of DaemonSets."""

    def __init__(self, context: ControllerContext, daemon_sets: Informer) -> None:
        self._daemon_sets = daemon_sets
        self._revisions = context.lister(kinds.CONTROLLER_REVISION.resource)
        ownership.index_by_controller(self._revisions)

    def construct(self, daemons: StoredObject, pods: Sequence[StoredObject]) -> Asking[tuple[StoredObject, Revisions]]:
        """Return the current revision and the old ones."""
        selector = selectors.selector_from_view(daemons.view.spec.selector)
        claim = ownership.Claim(
            kinds.DAEMON_SET, daemons, self._daemon_sets, lambda revision: selector.matches(revision.labels)
        )
        claimed = yield from claim.all(self._revisions.all_stored(daemons.namespace))
        data = revisions.template_data(daemons)
        current: Revisions = []
        old: Revisions = []
        for each in claimed:
            labelled = each
            if REVISION_HASH not in each.labels:
                labelled = yield from ask(_labelled(each))
            (current if revisions.same_data(labelled, data) else old).append(labelled)
        number = revisions.highest(old) + 1
        if not current:
            return (yield from self._snapshot(daemons, data, number)), old
        kept = yield from self._only_one(current, pods)
        if kept.view.revision < number:
            kept = yield from ask(revisions.with_number(kept, number))
        return kept, old

    def clean_up(self, daemons: StoredObject, old: Iterable[StoredObject], pods: Iterable[StoredObject]) -> Steps:
        """Delete the oldest revisions beyond the limit that no pod is of."""
        known = sorted(old, key=revisions.by_number)
        excess = len(known) - (daemons.view.spec.revision_history_limit or 0)
        if excess <= 0:
            return
        live = {pod.labels.get(REVISION_HASH): None for pod in pods}
        for each in [each for each in known if each.labels.get(REVISION_HASH) not in live][:excess]:
            _raise_unless_gone((yield from attempt(revisions.deletion(each))))

    def _snapshot(self, daemons: StoredObject, data: Mapping[str, Any], number: int) -> Asking[StoredObject]:
        view = daemons.view
        template = daemons.raw["spec"]["template"]
        code = compute_hash(template, view.status.collision_count)
        name = f"{daemons.name}-{code}"
        labels = {**((template.get("metadata") or {}).get("labels") or {}), REVISION_HASH: code}
        write = revisions.new_revision(kinds.DAEMON_SET, daemons, name, labels, dict(data), number)
        outcome = yield from attempt(write)
        if outcome.error is None:
            assert outcome.object is not None
            return outcome.object
        found = self._revisions.stored(name, daemons.namespace)
        if outcome.error.reason != "AlreadyExists" or found is None:
            raise outcome.error
        if revisions.same_data(found, data):
            return found
        status = {**daemons.raw["status"], "collisionCount": (view.status.collision_count or 0) + 1}
        yield from ask(new_status(daemons, status))
        raise outcome.error

    def _only_one(self, current: Revisions, pods: Sequence[StoredObject]) -> Asking[StoredObject]:
        """Keep the newest of several revisions with the same data, and let all pods be of it."""
        kept = max(current, key=lambda revision: revision.view.revision)
        if len(current) == 1:
            return kept
        code = kept.labels[REVISION_HASH]
        for pod in pods:
            if pod.labels.get(REVISION_HASH) != code:
                patch = {"metadata": {"labels": {REVISION_HASH: code}}}
                yield from ask(Write("patch", "pods", pod.namespace, pod.name, patch))
        for each in current:
            if each.uid != kept.uid:
                _raise_unless_gone((yield from attempt(revisions.deletion(each))))
        return kept


def _labelled(revision: StoredObject) -> Write:
    raw = revision.raw
    metadata = raw["metadata"]
    labels = {**(metadata.get("labels") or {}), REVISION_HASH: revision.name}
    body = {**raw, "metadata": {**metadata, "labels": labels}}
    return Write("update", revision.resource, revision.namespace, revision.name, body)


def _raise_unless_gone(outcome: Outcome) -> None:
    if outcome.error is not None and outcome.error.reason != "NotFound":
        raise outcome.error
