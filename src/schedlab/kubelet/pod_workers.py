"""What kubelets do with the pods of their nodes.

    bound ──admitted──> quick life: Running at once            ──deletionTimestamp──> stopped ──> deleted
      │       └──annotations ask for more──> PodLife, see life/
      └───refused────> Failed                └──run time over, or deadline──> Succeeded, Failed

Mirrors: syncPod of pkg/kubelet/{kubelet,pod_workers}.go (v1.36); KWOK's fast stages.
Differs: a pod without annotations of its own runs as soon as it is admitted, all its containers ready; a pod of a Job
ends after one second. A pod that is not always restarted ends after what its annotation
pod-complete.stage.kwok.x-k8s.io/delay says, also without a Job.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from schedlab.api.object import StoredObject
from schedlab.api.views.core import Node, Pod
from schedlab.apimachinery.time import TimeError, format_time, parse_duration, parse_time
from schedlab.client.event_recorder import EventRecorder
from schedlab.client.protocol import Write
from schedlab.kernel.clock import SECOND_NS, Clock
from schedlab.kernel.randomness import RandomSource
from schedlab.kubelet import preemption, resize, status
from schedlab.kubelet.admission import Rejection, admit
from schedlab.kubelet.life.container_life import Note
from schedlab.kubelet.life.plan import has_plan
from schedlab.kubelet.life.pod_life import DEADLINE_MESSAGE, DEADLINE_REASON, PodLife
from schedlab.kubelet.life.program import NoPrograms, Program, Programs
from schedlab.kubelet.simulated_node import SimulatedNode

MANAGER: Final = {"fieldManager": "kubelet"}
FINISHED: Final = ("Succeeded", "Failed")
_RUN_TIME: Final = "pod-complete.stage.kwok.x-k8s.io/delay"
_RUN_TIME_NS: Final = SECOND_NS
_FIELD_PATHS: Final = {"main": "spec.containers", "init": "spec.initContainers", "sidecar": "spec.initContainers"}


@dataclass(frozen=True, slots=True)
class _PodKind:
    api_version: str = "v1"
    kind: str = "Pod"


POD: Final = _PodKind()


class Stages(Protocol):
    """The Stages of users, which go before what happens here by itself."""

    def holds(self, stored: StoredObject) -> bool:
        """Say whether a Stage matches the object as it is."""

    def replaces(self, name: str) -> bool:
        """Say whether a Stage takes the place of a part of the built-in life, by its name."""

    def node_came(self, node: str) -> None:
        """Look at a node whose kubelet has begun to live, and at its pods."""


class NoStages:
    """There are none."""

    def holds(self, stored: StoredObject) -> bool:  # noqa: ARG002 - protocol
        return False

    def replaces(self, name: str) -> bool:  # noqa: ARG002 - protocol
        return False

    def node_came(self, node: str) -> None:
        """Nobody wants to know."""


class Observer(Protocol):
    """Hears of what kubelets do with a pod."""

    def pod_step(self, pod: StoredObject, step: str, text: str) -> None:
        """A pod went a step further."""


class PodWorkers:
    """The pods of all nodes; `later` has a pod looked at again at a time, `pods_on` are those of a node."""

    def __init__(
        self,
        clock: Clock,
        random: RandomSource,
        events_of: Callable[[SimulatedNode], EventRecorder],
        later: Callable[[str, str, int], None],
        pods_on: Callable[[str], Iterable[StoredObject]],
    ) -> None:
        self._clock = clock
        self._random = random
        self._events_of = events_of
        self._later = later
        self._pods_on = pods_on
        self.stages: Stages = NoStages()
        self.observer: Observer | None = None
        self.programs: Programs = NoPrograms()
        # Running pods that will end by themselves, by uid, and when and why.
        self._ends: dict[str, int] = {}
        self._lives: dict[str, PodLife] = {}
        # Changes that a node could not grant, by its name, to be looked at when something is free.
        self._deferred: dict[str, dict[tuple[str, str], None]] = {}
        # Pods whose change is to be looked at again.
        self._retry: dict[tuple[str, str], None] = {}

    # --- hearing -----------------------------------------------------------------------------------------------------

    def gone(self, pod: Pod, node: SimulatedNode | None) -> Iterator[tuple[str, str]]:
        """Forget a pod that ended or was deleted; yields the pods that may now have what they waited for."""
        uid = pod.metadata.uid
        self._ends.pop(uid, None)
        if self._lives.pop(uid, None) is not None:
            self.programs.gone(uid)
        if node is not None:
            node.account.release(uid)
            node.pod_addresses.release(uid)
            waiting = self._deferred.pop(node.name, {})
            waiting.pop((pod.metadata.namespace, pod.metadata.name), None)
            self._retry.update(waiting)
            yield from waiting

    def runs(self, pod: Pod, node: SimulatedNode | None) -> bool:
        """Whether the pod is as its kubelet wants it; then it is counted in and needs nothing."""
        meta = pod.metadata
        if node is None or meta.deletion_timestamp is not None or meta.uid in self._lives:
            return False
        if pod.status.phase != "Running" or not pod.status.pod_ip:
            return False
        if (
            has_plan(meta.annotations)
            or self.programs.holds(pod)
            or 0 < pod.status.observed_generation < meta.generation
        ):
            return False
        if self._retry and (meta.namespace, meta.name) in self._retry:
            return False
        node.account.take(pod)
        return not self._is_over(pod)

    def resume(self, pod: Pod, node: SimulatedNode) -> None:
        """Find a pod that runs already: it keeps its address and what it uses."""
        if pod.status.phase not in FINISHED and pod.status.pod_ip:
            node.account.take(pod)
            if not pod.spec.host_network:
                node.pod_addresses.keep(pod.metadata.uid, pod.status.pod_ip)

    def _is_over(self, pod: Pod) -> bool:
        """Whether the time of a pod is over; the first time it is asked about one that will end, it waits for it."""
        meta = pod.metadata
        end_ns = self._ends.get(meta.uid)
        if end_ns is None:
            end_ns = self._end_ns(pod)
            if end_ns is None:
                return False
            self._ends[meta.uid] = end_ns
            if end_ns > self._clock.now_ns():
                self._later(meta.namespace, meta.name, end_ns)
        return end_ns <= self._clock.now_ns()

    def _end_ns(self, pod: Pod) -> int | None:
        owner, deadline = pod.metadata.controller(), pod.spec.active_deadline_seconds
        is_of_job = owner is not None and owner.kind == "Job"
        completes = (is_of_job or _RUN_TIME in pod.metadata.annotations) and pod.spec.restart_policy != "Always"
        if not completes and deadline is None:
            return None
        start_ns = parse_time(pod.status.start_time) if pod.status.start_time else self._clock.now_ns()
        ends = [start_ns + _run_time_ns(pod)] if completes else []
        if deadline is not None:
            ends.append(start_ns + deadline * SECOND_NS)
        return min(ends)

    # --- doing -------------------------------------------------------------------------------------------------------

    def sync(self, stored: StoredObject, node: Node, state: SimulatedNode) -> Sequence[Write]:
        """Return the write that brings a pod one stage further."""
        pod: Pod = stored.view
        if pod.metadata.deletion_timestamp is not None:
            return () if self._leaves(stored, "pod-delete") else self._terminate(stored, pod, state)
        if pod.status.phase in FINISHED or self.runs(pod, state):
            return ()
        rejection = None if pod.metadata.uid in state.account.requests else admit(pod, node, state.account)
        now_ns = self._clock.now_ns()
        if rejection is not None and preemption.is_critical(pod):
            others = [each for each in self._pods_on(state.name) if each.uid in state.account.requests]
            room = preemption.make_room(pod, node, state.account, others)
            if not isinstance(room, Rejection):
                self._later(stored.namespace, stored.name, now_ns + SECOND_NS)
                return [self._preempt(victim, state) for victim in room]
            rejection = room
        if rejection is not None:
            self._tell(stored, state, Note("Warning", rejection.reason, rejection.message))
            report = status.rejected_status(stored.raw, rejection, format_time(now_ns))
            return [self._status(stored, report)]
        if pod.metadata.uid not in state.account.requests:
            state.account.take(pod)
            self._observe(stored, "kubelet", f"admitted on {state.name}, resources reserved")
        if pod.metadata.uid in self._ends and self._is_over(pod):
            return () if self._leaves(stored, "pod-complete") else self._end(stored, state)
        if pod.status.phase == "Running" and pod.status.pod_ip and not self._needs_life(pod, state):
            return self._respec(stored, pod, node, state)
        if self._leaves(stored, "pod-ready"):
            return ()
        address = state.address if pod.spec.host_network else state.pod_addresses.take(pod.metadata.uid)
        if self._needs_life(pod, state):
            return self._live(stored, node, state, address)
        return [self._status(stored, status.running_status(stored.raw, state.address, address, format_time(now_ns)))]

    def _preempt(self, stored: StoredObject, state: SimulatedNode) -> Write:
        """End a pod that is in the way of a critical one."""
        self._tell(stored, state, Note("Warning", preemption.REASON, preemption.MESSAGE))
        return self._status(stored, preemption.preempted_status(stored.raw, format_time(self._clock.now_ns())))

    def _leaves(self, stored: StoredObject, part: str) -> bool:
        """Whether a part of a pod's life is left to a Stage."""
        return self.stages.replaces(part) or self.stages.holds(stored)

    def _needs_life(self, pod: Pod, state: SimulatedNode) -> bool:
        uid = pod.metadata.uid
        return (
            uid in self._lives
            or has_plan(pod.metadata.annotations)
            or self.programs.holds(pod)
            or (state.images.bandwidth > 0 and not pod.status.pod_ip)
        )

    def _live(self, stored: StoredObject, node: Node, state: SimulatedNode, address: str) -> Sequence[Write]:
        """Play what is due in the life of a pod, and report it if something is new."""
        uid, now_ns = stored.uid, self._clock.now_ns()
        life = self._lives.get(uid)
        if life is None:
            life = self._lives[uid] = PodLife(
                stored.raw, state.images, self._random, now_ns, lambda container: self._program(stored, container)
            )
        else:
            life.change(stored.raw, now_ns)
        life.advance(now_ns)
        writes: list[Write] = []
        if resize.wants_resize(stored.raw) and not life.is_over:
            report = self._resize(stored, node, state)
            if "conditions" in report:
                writes.append(self._status(stored, report))
        notes = life.take_notes()
        for note in notes:
            self._tell(stored, state, note)
        next_ns = life.next_ns()
        if next_ns is not None:
            self._later(stored.namespace, stored.name, next_ns)
        report = life.status(stored.raw, state.address, address, now_ns)
        if not writes and _changes(stored.raw.get("status") or {}, report):
            writes.append(self._status(stored, report))
        if any(note.reason == "Pulled" for note in notes):
            images = {"status": {"images": state.images.as_status()}}
            writes.append(Write("patch", "nodes", "", state.name, images, subresource="status", options=MANAGER))
        return writes

    def _program(self, stored: StoredObject, container: Mapping[str, Any]) -> Program | None:
        """Return what really runs in a container; the pod is looked at whenever its state turns."""
        namespace, name = stored.namespace, stored.name
        return self.programs.of(stored, container, lambda: self._later(namespace, name, self._clock.now_ns()))

    def _end(self, stored: StoredObject, state: SimulatedNode) -> Sequence[Write]:
        """End a pod of the quick life: it completes, or is past its deadline."""
        pod: Pod = stored.view
        now = format_time(self._clock.now_ns())
        deadline = pod.spec.active_deadline_seconds
        start_ns = parse_time(pod.status.start_time) if pod.status.start_time else 0
        if deadline is not None and start_ns + deadline * SECOND_NS == self._ends[pod.metadata.uid]:
            self._tell(stored, state, Note("Normal", DEADLINE_REASON, DEADLINE_MESSAGE))
            told = {"reason": DEADLINE_REASON, "message": DEADLINE_MESSAGE}
            return [self._status(stored, {**status.ended_status(stored.raw, "Failed", now), **told})]
        return [self._status(stored, status.ended_status(stored.raw, "Succeeded", now))]

    def _respec(self, stored: StoredObject, pod: Pod, node: Node, state: SimulatedNode) -> Sequence[Write]:
        """Follow a change of a running pod's spec: images, resources, its deadline."""
        state.account.take(pod)
        self._retry.pop((stored.namespace, stored.name), None)
        self._ends.pop(pod.metadata.uid, None)
        self._is_over(pod)
        raw, now = stored.raw, format_time(self._clock.now_ns())
        report = {"observedGeneration": pod.metadata.generation, **status.ephemeral_statuses(raw, now)}
        changed = status.changed_images(raw, now)
        if changed:
            report |= changed.statuses
            for name in changed.names:
                text = f"Container {name} definition changed, will be restarted"
                self._tell(stored, state, Note("Normal", "Killing", text, name))
        if resize.wants_resize(raw):
            report |= self._resize(stored, node, state)
        return [self._status(stored, report)]

    def _resize(self, stored: StoredObject, node: Node, state: SimulatedNode) -> dict[str, Any]:
        """Give a pod the resources that it now asks for, or say why it has to wait."""
        raw, pod = stored.raw, stored.view
        now = format_time(self._clock.now_ns())
        verdict = resize.judge(pod, raw, node, state.account)
        conditions = [
            each for each in (raw.get("status") or {}).get("conditions") or () if each["type"] != resize.PENDING
        ]
        before = next(
            (each for each in (raw.get("status") or {}).get("conditions") or () if each["type"] == resize.PENDING), None
        )
        if verdict.is_granted:
            for reason, prefix in (
                ("ResizeStarted", "Pod resize started"),
                ("ResizeCompleted", "Pod resize completed"),
            ):
                self._tell(stored, state, Note("Normal", reason, resize.message(raw, prefix)))
            state.account.release(pod.metadata.uid)
            state.account.take(pod)
            return {**resize.granted_status(raw, verdict.restarts, now), "conditions": conditions}
        if verdict.reason == resize.DEFERRED:
            self._deferred.setdefault(state.name, {})[stored.namespace, stored.name] = None
        since = now
        if before is None or before.get("reason") != verdict.reason:
            text = resize.message(raw, f"Pod resize {verdict.reason}", verdict.message)
            self._tell(stored, state, Note("Warning", f"Resize{verdict.reason}", text))
        else:
            since = before.get("lastTransitionTime") or now
        pending = {
            "type": resize.PENDING,
            "status": "True",
            "reason": verdict.reason,
            "message": verdict.message,
            "lastProbeTime": None,
            "lastTransitionTime": since,
            "observedGeneration": raw["metadata"].get("generation", 1),
        }
        return {"conditions": [*conditions, pending]}

    def _terminate(self, stored: StoredObject, pod: Pod, state: SimulatedNode) -> Sequence[Write]:
        """Stop a pod and delete it for good; a container of the quick life stops as soon as it is asked to."""
        meta, now_ns = pod.metadata, self._clock.now_ns()
        deadline_ns = parse_time(meta.deletion_timestamp or "")
        asked_ns = deadline_ns - (meta.deletion_grace_period_seconds or 0) * SECOND_NS
        if asked_ns > now_ns:
            self._later(meta.namespace, meta.name, asked_ns)
            return ()
        life = self._lives.get(meta.uid)
        if life is None and has_plan(meta.annotations) and pod.status.phase not in FINISHED:
            life = self._lives[meta.uid] = PodLife(stored.raw, state.images, self._random, now_ns)
        if life is not None and not life.is_over:
            life.stop(now_ns, deadline_ns)
            life.advance(now_ns)
            for note in life.take_notes():
                self._tell(stored, state, note)
            next_ns = life.next_ns()
            if next_ns is not None:
                self._later(meta.namespace, meta.name, next_ns)
                return ()
        if meta.finalizers and pod.status.phase not in FINISHED:
            # Somebody will still see the pod: it has to show that nothing runs any more.
            return [self._status(stored, status.ended_status(stored.raw, "Failed", format_time(now_ns)))]
        options = {"gracePeriodSeconds": 0, "preconditions": {"uid": meta.uid}}
        return [Write("delete", "pods", meta.namespace, meta.name, options)]

    # --- telling -----------------------------------------------------------------------------------------------------

    def _tell(self, stored: StoredObject, state: SimulatedNode, note: Note) -> None:
        recorder = self._events_of(state)
        path = f"{_FIELD_PATHS[note.kind]}{{{note.container}}}" if note.container else ""
        recorder.record(POD, stored, note.type, note.reason, note.message, path)
        self._observe(
            stored, "kubelet", f"{note.reason}: {note.message}" + (f" ({note.container})" if note.container else "")
        )

    def _observe(self, stored: StoredObject, step: str, text: str) -> None:
        if self.observer is not None:
            self.observer.pod_step(stored, step, text)

    @staticmethod
    def _status(stored: StoredObject, report: Mapping[str, Any]) -> Write:
        body = {"metadata": {"uid": stored.uid}, "status": report}
        return Write("patch", "pods", stored.namespace, stored.name, body, subresource="status", options=MANAGER)


def _changes(have: Mapping[str, Any], report: Mapping[str, Any]) -> bool:
    """Whether a report says anything that is not there yet."""
    return any((value or None) != (have.get(key) or None) for key, value in report.items())


def _run_time_ns(pod: Pod) -> int:
    """Return for how long a pod that completes runs; what cannot be read counts as not said."""
    try:
        return parse_duration(pod.metadata.annotations[_RUN_TIME])
    except (KeyError, TimeError):
        return _RUN_TIME_NS
