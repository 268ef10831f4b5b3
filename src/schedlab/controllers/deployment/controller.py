"""The controller: from a Deployment's ReplicaSets to the next step of its rollout.

    paused? rollback asked for? scaled? ──► those first
    RollingUpdate: new set up as far as surge allows ──► old ones down as far as availability allows
    Recreate:      old ones down ──► their pods gone ──► new one up

Mirrors: pkg/controller/deployment/{deployment_controller,sync,rolling,recreate,rollback}.go (v1.36).
Differs: see draft.py; RollbackTo is the annotation that upstream keeps for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from schedlab.api.object import Object, StoredObject, WatchEvent
from schedlab.api.rules.inert import is_inert
from schedlab.apimachinery import selectors
from schedlab.apimachinery.errors import StatusError
from schedlab.client.protocol import Write
from schedlab.controllers.deployment import sets as replica_sets
from schedlab.controllers.deployment import status as statuses
from schedlab.controllers.deployment.creation import NewSets
from schedlab.controllers.deployment.draft import Draft
from schedlab.controllers.framework import kinds, ownership, pods
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
from schedlab.controllers.framework.pod_control import is_namespace_going
from schedlab.kernel.clock import SECOND_NS

_TRIES_MAX: Final = 15
_INT32_MAX: Final = 2**31 - 1
Sets = Sequence[StoredObject]


class DeploymentController(Controller):
    """Rolls out Deployments."""

    name: ClassVar[str] = "deployment-controller"
    retries_max: ClassVar[int | None] = _TRIES_MAX

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._deployments = context.lister(kinds.DEPLOYMENT.resource)
        self._sets = context.lister(kinds.REPLICA_SET.resource)
        self._pods = context.lister("pods")
        for informer in (self._sets, self._pods):
            ownership.index_by_controller(informer)
        self._new_sets = NewSets(self._sets, self.events, context.clock)
        self._terminating = context.features.enabled("DeploymentReplicaSetTerminatingReplicas")
        self._deployments.on_change(lambda event: self.queue.add(event.object.key))
        self._sets.on_change(self._on_set)
        self._pods.on_change(self._on_pod)

    # --- Events ------------------------------------------------------------------------------------------------------

    def _on_set(self, event: WatchEvent) -> None:
        found, before = event.object, event.previous
        owner = ownership.controller_of(found)
        former = None if before is None else ownership.controller_of(before)
        for reference in (former, owner):
            deployment = ownership.resolve(self._deployments, kinds.DEPLOYMENT, found.namespace, reference)
            if deployment is not None:
                self.queue.add(deployment.key)
        if owner is not None or event.type == "DELETED" or ownership.is_deleted(found):
            return
        if before is None or former is not None or before.labels != found.labels:
            for deployment in self._deployments.all_stored(found.namespace):
                selector = selectors.selector_from_view(deployment.view.spec.selector)
                if not selector.is_empty and selector.matches(found.labels):
                    self.queue.add(deployment.key)

    def _on_pod(self, event: WatchEvent) -> None:
        """Go on with a Recreate rollout when the last of its pods has gone."""
        if event.type != "DELETED":
            return
        pod = event.object
        owner = ownership.resolve(self._sets, kinds.REPLICA_SET, pod.namespace, ownership.controller_of(pod))
        if owner is None:
            return
        reference = ownership.controller_of(owner)
        deployment = ownership.resolve(self._deployments, kinds.DEPLOYMENT, pod.namespace, reference)
        if deployment is None or deployment.view.spec.strategy.type != "Recreate":
            return
        sets = ownership.controlled_by(self._sets, deployment.uid)
        if not any(ownership.controlled_by(self._pods, each.uid) for each in sets):
            self.queue.add(deployment.key)

    def on_failure(self, key: str, error: StatusError | SyncError) -> None:
        """Give up after some tries: the next change of the Deployment starts anew."""
        if isinstance(error, StatusError) and is_namespace_going(error):
            self.queue.forget(key)
        else:
            super().on_failure(key, error)

    # --- Sync --------------------------------------------------------------------------------------------------------

    def sync(self, key: str) -> Steps:
        """Take one Deployment one step further."""
        namespace, name = split_key(key)
        stored = self._deployments.stored(name, namespace)
        if stored is None or is_inert(stored.view):
            return
        draft = Draft(stored)
        selector = selectors.selector_from_view(draft.view.spec.selector)
        if selector.is_empty:
            yield from self._refuse_everything(draft)
            return
        claim = ownership.Claim(
            kinds.DEPLOYMENT, stored, self._deployments, lambda found: selector.matches(found.labels)
        )
        sets = yield from claim.all(self._sets.all_stored(namespace))
        if ownership.is_deleted(stored):
            new, old = yield from self._new_sets.find(draft, sets)
            yield from self._report(draft, new, old, rollout=False)
            return
        yield from self._note_pause(draft)
        if draft.view.spec.paused:
            yield from self._scale(draft, sets)
        elif (target := _rollback_target(draft)) is not None:
            yield from self._roll_back(draft, sets, target)
        elif (yield from self._is_scaled(draft, sets)):
            yield from self._scale(draft, sets)
        elif draft.view.spec.strategy.type == "Recreate":
            yield from self._recreate(draft, sets)
        else:
            yield from self._roll(draft, sets)

    def _refuse_everything(self, draft: Draft) -> Steps:
        message = "This deployment is selecting all pods. A non-empty selector is required."
        self.events.warning(kinds.DEPLOYMENT, draft.stored, "SelectingAll", message)
        generation = draft.view.metadata.generation
        if draft.view.status.observed_generation < generation:
            draft.status["observedGeneration"] = generation
            yield from draft.write_status()

    def _note_pause(self, draft: Draft) -> Steps:
        """Tell when a Deployment was paused or resumed: the deadline counts from the latter."""
        if not statuses.has_deadline(draft.view):
            return
        condition = statuses.condition_of(draft.status, statuses.PROGRESSING)
        reason = None if condition is None else condition.get("reason")
        paused, known = draft.view.spec.paused, reason == statuses.PAUSED
        if reason == statuses.TIMED_OUT or paused == known:
            return
        word, text = (statuses.PAUSED, "paused") if paused else (statuses.RESUMED, "resumed")
        now_ns = self.clock.now_ns()
        note = statuses.new_condition(statuses.PROGRESSING, "Unknown", word, f"Deployment is {text}", now_ns)
        statuses.set_condition(draft.status, note)
        yield from draft.write_status()

    # --- Scaling -----------------------------------------------------------------------------------------------------

    def _is_scaled(self, draft: Draft, sets: Sets) -> Asking[bool]:
        """Whether the Deployment has another size than when its sets were scaled last."""
        new, old = yield from self._new_sets.find(draft, sets)
        sizes = map(replica_sets.desired_replicas, replica_sets.active([*old, new]))
        return any(size is not None and size != draft.view.spec.replicas for size in sizes)

    def _scale(self, draft: Draft, sets: Sets) -> Steps:
        """Scale without rolling out: the only set that has pods, or all in proportion."""
        new, old = yield from self._new_sets.find(draft, sets)
        deployment = draft.view
        current = {each.name: each for each in [*old, new] if each is not None}
        changes: list[tuple[StoredObject, int]] = []
        force = False
        if (only := replica_sets.active_or_latest(new, old)) is not None:
            changes = [(only, deployment.spec.replicas)]
        elif replica_sets.is_saturated(deployment, new):
            changes = [(each, 0) for each in replica_sets.active(old)]
        elif replica_sets.is_rolling(deployment):
            force = True
            changes = replica_sets.proportional_sizes(deployment, replica_sets.active([*old, new]))
        for found, size in changes:
            _, current[found.name] = yield from self._resize(draft, found, size, force=force)
        new = None if new is None else current[new.name]
        old = [current[each.name] for each in old]
        if deployment.spec.paused and _rollback_target(draft) is None:
            yield from self._clean_up(draft, old)
        yield from self._report(draft, new, old, rollout=False)

    def _resize(
        self, draft: Draft, found: StoredObject, size: int, *, force: bool = False
    ) -> Asking[tuple[bool, StoredObject]]:
        """Give a set another size; returns whether that happened, and the set."""
        before: int = found.view.spec.replicas
        if before == size and not force:
            return False, found
        annotations = replica_sets.with_sizes(found.view.metadata.annotations, draft.view)
        if before == size and annotations == found.view.metadata.annotations:
            return False, found
        updated = yield from ask(_update_of_set(found, annotations, {"replicas": size}))
        if before == size:
            return False, updated
        direction = "up" if before < size else "down"
        message = f"Scaled {direction} replica set {found.name} from {before} to {size}"
        self.events.normal(kinds.DEPLOYMENT, draft.stored, "ScalingReplicaSet", message)
        return True, updated

    # --- Rolling update ----------------------------------------------------------------------------------------------

    def _roll(self, draft: Draft, sets: Sets) -> Steps:
        new, old = yield from self._new_sets.find_or_create(draft, sets)
        moved, new = yield from self._grow_new(draft, new, old)
        if not moved:
            moved, old = yield from self._shrink_old(draft, new, old)
        if not moved and statuses.is_complete(draft.view, draft.status):
            yield from self._clean_up(draft, old)
        yield from self._report(draft, new, old, rollout=True)

    def _grow_new(self, draft: Draft, new: StoredObject, old: Sets) -> Asking[tuple[bool, StoredObject]]:
        size, wanted = new.view.spec.replicas, draft.view.spec.replicas
        if size < wanted:
            wanted = replica_sets.new_size(draft.view, [*old, new], size)
        return (yield from self._resize(draft, new, wanted))

    def _shrink_old(self, draft: Draft, new: StoredObject, old: Sets) -> Asking[tuple[bool, list[StoredObject]]]:
        """Take pods away from old sets, those first that are not available, as far as enough stay available."""
        current = list(old)
        deployment = draft.view
        floor = deployment.spec.replicas - replica_sets.max_unavailable(deployment)
        missing = new.view.spec.replicas - new.view.status.available_replicas
        room = replica_sets.wanted([*old, new]) - floor - missing
        if not replica_sets.active(old) or room <= 0:
            return False, current
        before = replica_sets.wanted(current)
        try:
            current = yield from self._drop_unhealthy(draft, current, room)
            current = yield from self._drop_available(draft, current, new, floor)
        except StatusError:
            # Whatever was in the way, its change leads to another sync; the status should not wait for it.
            return False, [self._sets.stored(each.name, each.namespace) or each for each in old]
        return replica_sets.wanted(current) < before, current

    def _drop_unhealthy(self, draft: Draft, old: Sets, room: int) -> Asking[list[StoredObject]]:
        kept = []
        for found in sorted(old, key=replica_sets.by_creation):
            size, available = found.view.spec.replicas, found.view.status.available_replicas
            drop = min(room, size - available)
            if size and drop > 0:
                _, found = yield from self._resize(draft, found, size - drop)  # noqa: PLW2901 - its newest version
                room -= drop
            kept.append(found)
        return kept

    def _drop_available(self, draft: Draft, old: Sets, new: StoredObject, floor: int) -> Asking[list[StoredObject]]:
        room = replica_sets.count([*old, new], "available_replicas") - floor
        kept = []
        for found in sorted(old, key=replica_sets.by_creation):
            size = found.view.spec.replicas
            drop = min(size, room)
            if drop > 0:
                _, found = yield from self._resize(draft, found, size - drop)  # noqa: PLW2901 - its newest version
                room -= drop
            kept.append(found)
        return kept

    # --- Recreate ----------------------------------------------------------------------------------------------------

    def _recreate(self, draft: Draft, sets: Sets) -> Steps:
        new, old = yield from self._new_sets.find(draft, sets)
        shrunk = False
        current = []
        for found in old:
            changed, updated = yield from self._resize(draft, found, 0)
            shrunk = shrunk or changed
            current.append(updated)
        if shrunk or self._old_pods_live(new, current, sets):
            yield from self._report(draft, new, current, rollout=True)
            return
        if new is None:
            new, current = yield from self._new_sets.find_or_create(draft, sets)
        _, new = yield from self._resize(draft, new, draft.view.spec.replicas)
        if statuses.is_complete(draft.view, draft.status):
            yield from self._clean_up(draft, current)
        yield from self._report(draft, new, current, rollout=True)

    def _old_pods_live(self, new: StoredObject | None, old: Sets, sets: Sets) -> bool:
        if replica_sets.count(old, "replicas"):
            return True
        others = (each for each in sets if new is None or each.uid != new.uid)
        found = (pod for each in others for pod in ownership.controlled_by(self._pods, each.uid))
        return any(not pods.is_finished(pod.view) for pod in found)

    # --- Rolling back ------------------------------------------------------------------------------------------------

    def _roll_back(self, draft: Draft, sets: Sets, target: int) -> Steps:
        """Take the template of an earlier revision, the one before the last if none is named."""
        new, old = yield from self._new_sets.find_or_create(draft, sets)
        everything = [*old, new]
        target = target or replica_sets.last_revision(everything)
        found = next((each for each in everything if target and replica_sets.revision(each) == target), None)
        template: Object | None = None
        done = ""
        if found is None:
            text = "Unable to find the revision to rollback to." if target else "Unable to find last revision."
            self.events.warning(kinds.DEPLOYMENT, draft.stored, "DeploymentRollbackRevisionNotFound", text)
        elif replica_sets.same_template(draft.stored, found):
            text = f'The rollback revision contains the same template as current deployment "{draft.stored.name}"'
            self.events.warning(kinds.DEPLOYMENT, draft.stored, "DeploymentRollbackTemplateUnchanged", text)
        else:
            template = _template_without_hash(found)
            own = replica_sets.OWN_ANNOTATIONS
            kept = {key: value for key, value in draft.annotations.items() if key in own}
            given = {key: value for key, value in found.view.metadata.annotations.items() if key not in own}
            draft.annotations = {**kept, **given}
            done = f'Rolled back deployment "{draft.stored.name}" to revision {target}'
        draft.annotations.pop(replica_sets.ROLLBACK_TO, None)
        yield from draft.write(template)
        if done:
            self.events.normal(kinds.DEPLOYMENT, draft.stored, "DeploymentRollback", done)

    # --- Afterwards --------------------------------------------------------------------------------------------------

    def _clean_up(self, draft: Draft, old: Sets) -> Steps:
        """Delete the oldest sets beyond the limit of the history."""
        limit = draft.view.spec.revision_history_limit
        if limit is None or limit == _INT32_MAX:
            return
        alive = sorted((each for each in old if not ownership.is_deleted(each)), key=replica_sets.by_revision)
        for found in alive[: max(0, len(alive) - limit)]:
            view = found.view
            unseen = view.metadata.generation > view.status.observed_generation
            if view.status.replicas or view.spec.replicas or unseen:
                continue
            outcome = yield from attempt(Write("delete", found.resource, found.namespace, found.name))
            if outcome.error is not None and outcome.error.reason != "NotFound":
                raise outcome.error

    def _report(self, draft: Draft, new: StoredObject | None, old: Sets, *, rollout: bool) -> Steps:
        """Write the status; during a rollout with its progress and failures."""
        everything = [*old, new]
        now_ns = self.clock.now_ns()
        have = draft.status
        status = statuses.calculate(draft.view, have, everything, new, now_ns, terminating=self._terminating)
        if rollout:
            statuses.note_progress(draft.view, have, status, new, now_ns)
            statuses.note_failures(status, everything, new)
        if status != have:
            draft.status = status
            yield from draft.write_status()
        elif rollout:
            self._plan_check(draft, now_ns)

    def _plan_check(self, draft: Draft, now_ns: int) -> None:
        """Look again when progress is overdue."""
        condition = statuses.condition_of(draft.status, statuses.PROGRESSING)
        if not statuses.has_deadline(draft.view) or condition is None or condition.get("reason") == statuses.TIMED_OUT:
            return
        if statuses.is_complete(draft.view, draft.status):
            return
        left_ns = statuses.deadline_ns(draft.view, condition) - now_ns
        # The deadline must be over by then: times in a status have no fractions of a second.
        self.queue.add_after(draft.stored.key, max(left_ns, 0) + SECOND_NS)


def _rollback_target(draft: Draft) -> int | None:
    """Return the revision to go back to, 0 for the one before the last."""
    text = draft.annotations.get(replica_sets.ROLLBACK_TO, "")
    digits = text.removeprefix("-")
    return int(text) if digits.isascii() and digits.isdigit() else None


def _template_without_hash(found: StoredObject) -> Object:
    template = dict(found.raw["spec"]["template"])
    metadata = dict(template.get("metadata") or {})
    labels: Object = metadata.get("labels") or {}
    metadata["labels"] = {key: value for key, value in labels.items() if key != replica_sets.HASH_LABEL}
    return {**template, "metadata": metadata}


def _update_of_set(found: StoredObject, annotations: replica_sets.Annotations, spec: Object) -> Write:
    raw = found.raw
    body: Object = {
        **raw,
        "metadata": {**raw["metadata"], "annotations": annotations},
        "spec": {**raw["spec"], **spec},
    }
    return Write("update", found.resource, found.namespace, found.name, body)
