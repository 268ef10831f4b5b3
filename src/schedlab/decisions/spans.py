"""The span log: what happened to each pod, from the request that made it until it was gone, one line per step.

It hears of writes (registry), queue moves, cycles and bindings (scheduler), steps of kubelets and Stages, and changes of
the pods themselves. A step is a small tuple with its words, made when it happens; records of the scheduler are not kept.
So many steps are kept of one pod and of all; what is forgotten is counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import msgspec

from schedlab.apimachinery.time import format_micro_time

if TYPE_CHECKING:
    from schedlab.api.object import StoredObject, WatchEvent
    from schedlab.kernel.clock import Clock
    from schedlab.registry import WriteOptions
    from schedlab.scheduler.framework.record import BindingRecord, CycleRecord, QueueMove

SPANS_OF_POD_MAX: Final = 400
SPANS_MAX: Final = 200_000

#: Longer than the names of browsers.
_CLIENT_LENGTH_MAX: Final = 400


# Nothing in it leads back to it, so the garbage collector need not look at it: every pod has half a dozen.
class Span(msgspec.Struct, frozen=True, gc=False):
    """One step of a pod: when, which, and in words."""

    at_ns: int
    step: str
    text: str


class PodSpans(msgspec.Struct, gc=False):
    """The steps of one pod."""

    uid: str
    namespace: str
    name: str
    spans: list[Span] = []
    forgotten: int = 0


class SpanLog:
    """Keeps the steps of pods (scheduler.framework.record.Observer, kubelet.pod_workers.Observer)."""

    def __init__(self, clock: Clock, *, spans_max: int = SPANS_MAX) -> None:
        self._clock = clock
        self._spans_max = spans_max
        self._count = 0
        self._pods: dict[str, PodSpans] = {}
        self._newest: dict[tuple[str, str], str] = {}
        self.forgotten_pods = 0

    # --- asked ---------------------------------------------------------------------------------------------------------

    def find(self, namespace: str, name: str) -> PodSpans | None:
        """Return the steps of the newest pod of that name."""
        uid = self._newest.get((namespace, name))
        return None if uid is None else self._pods.get(uid)

    def __len__(self) -> int:
        return self._count

    # --- told ----------------------------------------------------------------------------------------------------------

    def written(self, obj: StoredObject, verb: str, subresource: str, options: WriteOptions) -> None:
        """Take a write of any object (registry.WriteListener)."""
        if obj.resource != "pods" or subresource == "status" or (subresource == "binding" and not options.user.name):
            # Of the bindings of its own the scheduler tells more.
            return
        text = _request_text(verb, subresource, options.user_agent[: _CLIENT_LENGTH_MAX + 1], options.user.name)
        known = self._pods.get(obj.uid)
        if subresource or (known is not None and "request" in [span.step for span in known.spans]):
            self._note(obj.uid, obj.namespace, obj.name, "request", text)
        else:
            self._begin(obj, text)

    def _begin(self, obj: StoredObject, text: str) -> None:
        """Put the request that made a pod before what followed at once: the queue has heard of the pod by now."""
        pod = self._pods.get(obj.uid) or self._new(obj.uid, obj.namespace, obj.name)
        at_ns = min([span.at_ns for span in pod.spans], default=None)
        at_ns = self._clock.now_ns() if at_ns is None else at_ns
        pod.spans[:0] = (Span(at_ns, "request", text), Span(at_ns, "admission", _admitted(obj)))
        self._count += 2
        self._forget(pod)

    def pod_changed(self, event: WatchEvent) -> None:
        """Take a change of a pod (an informer's handler)."""
        obj, before = event.object, event.previous
        if event.type == "DELETED":
            self._note(obj.uid, obj.namespace, obj.name, "gone", "the pod is deleted")
            return
        if before is None:
            return
        now, was = obj.view, before.view
        if now.status.phase != was.status.phase:
            reason = f": {now.status.reason}" if now.status.reason else ""
            self._note(obj.uid, obj.namespace, obj.name, now.status.phase or "phase", f"was {was.status.phase}{reason}")
        if now.metadata.deletion_timestamp and not was.metadata.deletion_timestamp:
            grace = now.metadata.deletion_grace_period_seconds or 0
            self._note(obj.uid, obj.namespace, obj.name, "deletion", f"asked for, with {grace}s to stop")

    def pod_step(self, pod: StoredObject, step: str, text: str) -> None:
        """Take a step of a kubelet or of a Stage (kubelet.pod_workers.Observer)."""
        self._note(pod.uid, pod.namespace, pod.name, step, text)

    def queue_move(self, move: QueueMove) -> None:
        """Take a pod's move in the queue (Observer)."""
        pod = move.pod
        text = _move_text(move.place, move.reason, move.gate, move.hints)
        self._note(pod.uid, pod.namespace, pod.name, "queue", text, move.at_ns)

    def cycle(self, record: CycleRecord) -> None:
        """Take a finished scheduling cycle (Observer)."""
        pod, total = record.pod, len(record.node_names)
        if record.result == "scheduled":
            found = "" if record.feasible is None else f"{len(record.feasible)} of {total} nodes fit, "
            text = f"attempt {record.attempt}: {found}{record.selected} chosen"
        else:
            text = f"attempt {record.attempt}: {record.failure_reason or record.result}: {record.failure_message}"
        self._note(pod.uid, pod.namespace, pod.name, "cycle", text)

    def binding(self, record: BindingRecord) -> None:
        """Take a finished binding cycle (Observer)."""
        pod = record.pod
        text = f"attempt {record.attempt}: to {record.node}"
        if record.error:
            text += f" failed: {record.error}"
        self._note(pod.uid, pod.namespace, pod.name, "bind", text, record.finished_ns)

    # --- keeping -------------------------------------------------------------------------------------------------------

    def _note(self, uid: str, namespace: str, name: str, step: str, text: str, at_ns: int | None = None) -> None:
        found = self._pods.get(uid) or self._new(uid, namespace, name)
        found.spans.append(Span(self._clock.now_ns() if at_ns is None else at_ns, step, text))
        self._count += 1
        if self._count > self._spans_max or len(found.spans) > SPANS_OF_POD_MAX:
            self._forget(found)

    def _new(self, uid: str, namespace: str, name: str) -> PodSpans:
        found = self._pods[uid] = PodSpans(uid, namespace, name)
        self._newest[namespace, name] = uid
        return found

    def _forget(self, found: PodSpans) -> None:
        """Forget what is too much, of a pod that something has happened to and of all."""
        if len(found.spans) > SPANS_OF_POD_MAX:
            # How it began and how it is now are both worth more than what came between.
            half = SPANS_OF_POD_MAX // 2
            dropped = len(found.spans[half:-half])
            del found.spans[half:-half]
            found.forgotten += dropped
            self._count -= dropped
        while self._count > self._spans_max and len(self._pods) > 1:
            self._forget_oldest(found.uid)

    def _forget_oldest(self, keep: str) -> None:
        uid = next(each for each in self._pods if each != keep)
        gone = self._pods.pop(uid)
        self._count -= len(gone.spans)
        self.forgotten_pods += 1
        if self._newest.get((gone.namespace, gone.name)) == uid:
            del self._newest[gone.namespace, gone.name]


# Clients make many pods: they share the words.
@lru_cache(maxsize=1024)
def _request_text(verb: str, subresource: str, agent: str, user: str) -> str:
    by = agent if len(agent) <= _CLIENT_LENGTH_MAX else f"{agent[:_CLIENT_LENGTH_MAX]}…"
    who = f" ({user})" if user else ""
    what = f"{verb} of {subresource}" if subresource else verb
    return f"{what} by {by or 'the cluster itself'}{who}"


# Most pods go the same way: they share the words.
@lru_cache(maxsize=1024)
def _move_text(
    place: str, reason: str, gate: tuple[str, str] | None, hints: tuple[tuple[str, str, str, str], ...]
) -> str:
    text = f"to {place}: {reason}"
    if gate is not None:
        text += f" ({gate[0]}: {gate[1]})"
    if hints:
        text += f" ({', '.join(f'{plugin} says {hint}' for _, plugin, hint, _ in hints)})"
    return text


def _admitted(obj: StoredObject) -> str:
    """Say what admission has made of a new pod, as far as it matters to where it goes."""
    pod = obj.view
    spec = pod.spec
    gates = ", ".join([gate.name for gate in spec.scheduling_gates]) if spec.scheduling_gates else ""
    priority = spec.priority or 0, spec.priority_class_name
    return _admission_text(*priority, spec.scheduler_name, pod.status.qos_class, spec.service_account_name, gates)


# Pods of one template share the words.
@lru_cache(maxsize=1024)
def _admission_text(
    priority: int, priority_class: str, scheduler: str, qos_class: str, account: str, gates: str
) -> str:
    told = [f"priority {priority}"]
    if priority_class:
        told[0] += f" ({priority_class})"
    told.append(f"scheduler {scheduler}")
    if qos_class:
        told.append(f"class {qos_class}")
    if account:
        told.append(f"account {account}")
    if gates:
        told.append(f"gates {gates}")
    return "; ".join(told)


def as_json(pod: PodSpans, reservation: dict[str, Any] | None) -> dict[str, Any]:
    """Return the way of a pod with the names of the REST API."""
    spans: Sequence[Span] = sorted(pod.spans, key=lambda span: span.at_ns)
    first_ns = spans[0].at_ns if spans else 0
    return {
        "namespace": pod.namespace,
        "name": pod.name,
        "uid": pod.uid,
        "spans": [
            {
                "at": format_micro_time(span.at_ns),
                "afterSeconds": round((span.at_ns - first_ns) / 1e9, 6),
                "step": span.step,
                "text": span.text,
            }
            for span in spans
        ],
        "forgotten": pod.forgotten,
        "reservation": reservation,
    }
