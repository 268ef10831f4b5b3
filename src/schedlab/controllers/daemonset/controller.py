"""The controller: nodes that lack a pod get one, pods that do not belong where they are go, revisions roll.

Mirrors: pkg/controller/daemon/daemon_controller.go (v1.36).
Differs: a status that met a conflict is written by the next sync.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar, Final

from schedlab.api.object import StoredObject, WatchEvent
from schedlab.api.rules.inert import is_inert
from schedlab.api.views.core import Node, Pod
from schedlab.api.views.workloads import DaemonSet
from schedlab.apimachinery import selectors
from schedlab.apimachinery.errors import StatusError
from schedlab.apimachinery.selectors import Selector
from schedlab.controllers.daemonset import rolling
from schedlab.controllers.daemonset.history import History
from schedlab.controllers.daemonset.placement import (
    Placement,
    Verdict,
    daemon_template,
    is_updated,
    on_node,
    target_node,
    template_generation,
)
from schedlab.controllers.framework import kinds, ownership, pods
from schedlab.controllers.framework.backoff import Backoff
from schedlab.controllers.framework.controller import Asking, Controller, ControllerContext, Steps, ask, split_key
from schedlab.controllers.framework.expectations import Expectations
from schedlab.controllers.framework.pod_control import PodControl, is_namespace_going, slow_start
from schedlab.controllers.framework.revisions import REVISION_HASH
from schedlab.controllers.framework.status import new_status
from schedlab.kernel.clock import SECOND_NS

BURST_REPLICAS: Final = 250
_NODE_KEY: Final = "node:"
_NODE_INDEX: Final = "node"

NodePods = dict[str, list[StoredObject]]


class _Sync:
    """What one sync has found out."""

    def __init__(self, daemons: StoredObject, placement: Placement, nodes: Sequence[Node]) -> None:
        self.daemons = daemons
        self.view: DaemonSet = daemons.view
        self.selector: Selector = selectors.selector_from_view(self.view.spec.selector)
        self.generation = template_generation(daemons)
        self.nodes = nodes
        self.verdicts: dict[str, Verdict] = {node.metadata.name: placement.judge(node) for node in nodes}
        self.code = ""

    def should_run(self, node_name: str) -> bool:
        verdict = self.verdicts.get(node_name)
        return verdict is not None and verdict.should_run


class DaemonSetsController(Controller):
    """Keys are those of DaemonSets, and names of nodes behind `node:`."""

    name: ClassVar[str] = "daemonset-controller"
    workers: ClassVar[int] = 2

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._expectations = Expectations(context.clock)
        self._control = PodControl(kinds.DAEMON_SET, self.events)
        self._backoff = Backoff(context.clock, SECOND_NS, 900 * SECOND_NS)
        self._comparison = context.features.enabled("TaintTolerationComparisonOperators")
        self._daemon_sets = context.lister(kinds.DAEMON_SET.resource)
        self._history = History(context, self._daemon_sets)
        self._pods = context.lister("pods")
        self._nodes = context.lister("nodes")
        ownership.index_by_controller(self._pods)
        self._pods.add_index(_NODE_INDEX, lambda pod: str(pod.view.spec.node_name))
        self._daemon_sets.on_change(self._on_daemon_set)
        context.lister(kinds.CONTROLLER_REVISION.resource).on_change(self._on_revision)
        self._pods.on_change(self._on_pod)
        self._nodes.on_change(self._on_node)

    # --- Events ------------------------------------------------------------------------------------------------------

    def _on_daemon_set(self, event: WatchEvent) -> None:
        if event.type == "DELETED":
            self._expectations.forget(event.object.key)
        self.queue.add(event.object.key)

    def _on_revision(self, event: WatchEvent) -> None:
        self._enqueue_owner(event.object)
        if event.previous is not None:
            self._enqueue_owner(event.previous)
        if event.type != "DELETED" and ownership.controller_of(event.object) is None:
            self._enqueue_matching(event.object)

    def _on_pod(self, event: WatchEvent) -> None:
        if ownership.is_foreign(event, kinds.DAEMON_SET):
            return
        pod, before = event.object, event.previous
        owner = self._enqueue_owner(pod)
        if event.type == "DELETED" or ownership.is_deleted(pod):
            if owner is not None:
                self._expectations.deletion_observed(owner.key, pod.key)
            return
        if before is None:
            if owner is not None:
                self._expectations.creation_observed(owner.key)
        else:
            self._enqueue_owner(before)
            min_ready_s = 0 if owner is None else owner.view.spec.min_ready_seconds
            if owner is not None and min_ready_s and pods.is_ready(pod.view) and not pods.is_ready(before.view):
                self.queue.add_after(owner.key, (min_ready_s + 1) * SECOND_NS)
        released = before is None or before.labels != pod.labels or ownership.controller_of(before) is not None
        if ownership.controller_of(pod) is None and released:
            self._enqueue_matching(pod)

    def _enqueue_owner(self, obj: StoredObject) -> StoredObject | None:
        reference = ownership.controller_of(obj)
        owner = ownership.resolve(self._daemon_sets, kinds.DAEMON_SET, obj.namespace, reference)
        if owner is not None:
            self.queue.add(owner.key)
        return owner

    def _enqueue_matching(self, obj: StoredObject) -> None:
        for each in self._daemon_sets.all_stored(obj.namespace):
            selector = selectors.selector_from_view(each.view.spec.selector)
            if not selector.is_empty and selector.matches(obj.labels):
                self.queue.add(each.key)

    def _on_node(self, event: WatchEvent) -> None:
        if event.type == "DELETED":
            return
        node: Node = event.object.view
        before: Node | None = None if event.previous is None else event.previous.view
        same_labels = before is not None and before.metadata.labels == node.metadata.labels
        if before is not None and same_labels and before.spec.taints == node.spec.taints:
            return
        self.queue.add(_NODE_KEY + node.metadata.name)

    # --- Sync --------------------------------------------------------------------------------------------------------

    def sync(self, key: str) -> Steps:
        """Look at one DaemonSet, or find those that a changed node concerns."""
        if key.startswith(_NODE_KEY):
            self._sync_node(key.removeprefix(_NODE_KEY))
            return
        namespace, name = split_key(key)
        daemons = self._daemon_sets.stored(name, namespace)
        if daemons is None:
            self._expectations.forget(key)
            return
        if is_inert(daemons.view):
            return
        if selectors.selector_from_view(daemons.view.spec.selector).is_empty:
            message = "This daemon set is selecting all pods. A non-empty selector is required."
            self.events.warning(kinds.DAEMON_SET, daemons, "SelectingAll", message)
            return
        if ownership.is_deleted(daemons):
            return
        yield from self._sync_daemons(key, daemons)

    def _sync_node(self, name: str) -> None:
        node = self._nodes.get(name)
        if node is None:
            return
        owners = {}
        for pod in self._pods.indexed(_NODE_INDEX, name):
            reference = ownership.controller_of(pod)
            if reference is not None and reference.kind == kinds.DAEMON_SET.kind:
                owners[reference.uid] = pod
        for daemons in self._daemon_sets.all_stored():
            verdict = self._placement(daemons).judge(node)
            scheduled = daemons.uid in owners
            misplaced = scheduled and daemons.view.status.number_misscheduled > 0
            if (verdict.should_run and not scheduled) or (scheduled and not verdict.may_stay) or misplaced:
                self.queue.add(daemons.key)

    def _placement(self, daemons: StoredObject) -> Placement:
        return Placement(daemons, comparison=self._comparison)

    def _sync_daemons(self, key: str, daemons: StoredObject) -> Steps:
        sync = _Sync(daemons, self._placement(daemons), self._nodes.list())
        self.queue.rest(key, len(sync.nodes))
        claim = ownership.Claim(
            kinds.DAEMON_SET, daemons, self._daemon_sets, lambda pod: sync.selector.matches(pod.labels)
        )
        orphans = ownership.orphans(self._pods, daemons.namespace)
        claimed = yield from claim.all([*ownership.controlled_by(self._pods, daemons.uid), *orphans])
        current, old = yield from self._history.construct(daemons, claimed)
        sync.code = current.labels[REVISION_HASH]
        if not self._expectations.satisfied(key):
            yield from self._report(sync, observed=False)
            return
        error: StatusError | None = None
        try:
            yield from self._manage(sync)
            if self._expectations.satisfied(key) and sync.view.spec.update_strategy.type == "RollingUpdate":
                yield from self._roll(sync)
            yield from self._history.clean_up(daemons, old, self._mine(sync))
        except StatusError as failed:
            error = failed
        yield from self._report(sync, observed=True)
        if error is not None:
            raise error

    def _mine(self, sync: _Sync) -> list[StoredObject]:
        """Return the DaemonSet's pods as they are now."""
        found = ownership.controlled_by(self._pods, sync.daemons.uid)
        return [pod for pod in found if sync.selector.matches(pod.labels)]

    def _by_node(self, sync: _Sync) -> NodePods:
        """Return the pods by the node for which they are; those that have ended and are going are left out."""
        grouped: NodePods = {}
        for pod in self._mine(sync):
            view: Pod = pod.view
            node_name = target_node(view)
            if node_name and not (pods.is_finished(view) and ownership.is_deleted(pod)):
                grouped.setdefault(node_name, []).append(pod)
        for each in grouped.values():
            each.sort(key=_scheduled_and_old_first)
        return grouped

    # --- Pods --------------------------------------------------------------------------------------------------------

    def _manage(self, sync: _Sync) -> Steps:
        """Make what is missing and delete what is too much."""
        by_node = self._by_node(sync)
        moves = rolling.Moves()
        for node in sync.nodes:
            name = node.metadata.name
            verdict, mine = sync.verdicts[name], by_node.get(name, [])
            if verdict.should_run and not mine:
                moves.create.append(name)
            elif verdict.may_stay:
                self._sort_out(sync, name, mine, moves)
            else:
                moves.delete += [pod for pod in mine if not ownership.is_deleted(pod)]
        for name, mine in by_node.items():
            if name not in sync.verdicts:
                moves.delete += [pod for pod in mine if not pod.view.spec.node_name]
        yield from self._move(sync, moves)

    def _sort_out(self, sync: _Sync, node_name: str, mine: Sequence[StoredObject], moves: rolling.Moves) -> None:
        """Decide on the pods of a node on which they may stay: what has ended goes, and one is enough."""
        running = []
        for pod in mine:
            if ownership.is_deleted(pod):
                continue
            phase = pod.view.status.phase
            where = f"daemon pod {pod.key} on node {node_name}"
            if phase == "Succeeded":
                message = f"Found succeeded {where}, will try to delete it"
                self.events.normal(kinds.DAEMON_SET, sync.daemons, "SucceededDaemonPod", message)
                moves.delete.append(pod)
            elif phase != "Failed":
                running.append(pod)
            elif not self._waits(sync, node_name):
                message = f"Found failed {where}, will try to kill it"
                self.events.warning(kinds.DAEMON_SET, sync.daemons, "FailedDaemonPod", message)
                moves.delete.append(pod)
        if not rolling.surge_count(sync.view.spec, 1):
            moves.delete += running[1:]
        elif not running and sync.should_run(node_name):
            moves.create.append(node_name)
        elif len(running) > 1:
            moves.delete += self._too_much(sync, running)

    def _waits(self, sync: _Sync, node_name: str) -> bool:
        """Whether a failed pod stays for a while, so that a node where all fail is not flooded."""
        key = f"{sync.daemons.uid}/{sync.view.status.observed_generation}/{node_name}"
        remaining_ns = self._backoff.remaining_ns(key)
        if remaining_ns:
            self.queue.add_after(sync.daemons.key, remaining_ns)
            return True
        self._backoff.failed(key)
        return False

    def _too_much(self, sync: _Sync, running: Sequence[StoredObject]) -> list[StoredObject]:
        """Of several pods on a node keep one of each sort, and the old one until the new one is available."""
        new = [pod for pod in running if pod.labels.get(REVISION_HASH) == sync.code]
        old = [pod for pod in running if pod.labels.get(REVISION_HASH) != sync.code]
        excess = [*new[1:], *old[1:]]
        if new and old and (not pods.is_ready(old[0].view) or self._is_available(sync, new[0])):
            excess.append(old[0])
        return excess

    def _is_available(self, sync: _Sync, pod: StoredObject) -> bool:
        return pods.is_available(pod.view, sync.view.spec.min_ready_seconds, self.clock.now_ns())

    def _roll(self, sync: _Sync) -> Steps:
        by_node: NodePods = {name: [] for name, verdict in sync.verdicts.items() if verdict.should_run}
        desired = len(by_node)
        by_node |= self._by_node(sync)
        rollout = rolling.Rollout(
            by_node,
            lambda pod: is_updated(pod, sync.code, sync.generation),
            partial(self._is_available, sync),
            sync.should_run,
        )
        yield from self._move(sync, rollout.moves(rolling.bounds(sync.view.spec, desired)))

    def _move(self, sync: _Sync, moves: rolling.Moves) -> Steps:
        """Create and delete pods, so many at a time; raises the first error."""
        key, daemons = sync.daemons.key, sync.daemons
        create, delete = moves.create[:BURST_REPLICAS], moves.delete[:BURST_REPLICAS]
        if not create and not delete:
            return
        self._expectations.expect(key, len(create), [pod.key for pod in delete])
        template = daemon_template(daemons, sync.code)
        writes = [self._control.creation(daemons, on_node(template, name)) for name in create]
        outcomes = yield from slow_start(writes)
        failed = [error for error in (self._control.created(daemons, each) for each in outcomes) if error is not None]
        self._expectations.creation_observed(key, len(failed) + len(create) - len(outcomes))
        failed = [error for error in failed if not is_namespace_going(error)]
        if delete:
            failed += yield from self._delete(daemons, delete)
        if failed:
            raise failed[0]

    def _delete(self, daemons: StoredObject, delete: Sequence[StoredObject]) -> Asking[list[StatusError]]:
        errors = yield from self._control.delete(daemons, delete)
        for pod, error in zip(delete, errors, strict=True):
            if error is not None:
                self._expectations.deletion_observed(daemons.key, pod.key)
        return [error for error in errors if error is not None and error.reason != "NotFound"]

    # --- Status ------------------------------------------------------------------------------------------------------

    def _report(self, sync: _Sync, *, observed: bool) -> Steps:
        daemons = self._daemon_sets.stored(sync.daemons.name, sync.daemons.namespace)
        if daemons is None or daemons.uid != sync.daemons.uid:
            return
        status = self._status(sync, daemons, observed=observed)
        if status != daemons.raw.get("status"):
            yield from ask(new_status(daemons, status))
        min_ready_s = sync.view.spec.min_ready_seconds
        if min_ready_s > 0 and status["numberReady"] != status.get("numberAvailable", 0):
            self.queue.add_after(daemons.key, min_ready_s * SECOND_NS)

    def _status(self, sync: _Sync, daemons: StoredObject, *, observed: bool) -> dict[str, Any]:
        desired = current = misplaced = ready = updated = available = 0
        by_node = self._by_node(sync)
        for name, verdict in sync.verdicts.items():
            mine = by_node.get(name)
            if not verdict.should_run:
                misplaced += bool(mine)
                continue
            desired += 1
            if mine:
                current += 1
                ready += pods.is_ready(mine[0].view)
                available += self._is_available(sync, mine[0])
                updated += is_updated(mine[0], sync.code, sync.generation)
        status = {
            "currentNumberScheduled": current,
            "numberMisscheduled": misplaced,
            "desiredNumberScheduled": desired,
            "numberReady": ready,
        }
        known = daemons.raw.get("status") or {}
        generation = sync.view.metadata.generation if observed else known.get("observedGeneration", 0)
        rare = {
            "observedGeneration": generation,
            "updatedNumberScheduled": updated,
            "numberAvailable": available,
            "numberUnavailable": desired - available,
        }
        kept = {key: known[key] for key in ("collisionCount", "conditions") if key in known}
        return {**status, **{key: number for key, number in rare.items() if number}, **kept}


def _scheduled_and_old_first(pod: StoredObject) -> tuple[bool, str, str]:
    return not pod.view.spec.node_name, pod.view.metadata.creation_timestamp or "", pod.name
