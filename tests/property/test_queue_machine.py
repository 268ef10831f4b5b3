"""Whatever happens to the scheduling queue, no pod is lost, doubled, stuck, or tried out of turn."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    precondition,
    rule,
)

from schedlab.scheduler.framework.events import ClusterEvent, QueueingHint
from schedlab.scheduler.framework.interface import NominatingInfo
from schedlab.scheduler.framework.types import PodInfo
from schedlab.scheduler.queue.cluster_events import UNSCHEDULED_POD_UPDATE
from schedlab.scheduler.queue.queued_pod import QueuedPodInfo
from tests.unit.scheduler.queue.builders import (
    NODE_ADD,
    NODE_LABEL,
    POD_DELETE,
    Bench,
    FakePlugin,
    Gate,
    by_priority,
    make_bench,
    make_pod,
)

NAMES = [f"p{index}" for index in range(6)]
EVENTS = [NODE_ADD, NODE_LABEL, POD_DELETE]
PLUGINS = ["Always", "Never", "Odd", "Broken"]
RESULT = "kube-scheduler-simulator.sigs.k8s.io/finalscore-result"


def never(pod: PodInfo, old: object, new: object) -> QueueingHint:
    return QueueingHint.SKIP


def odd(pod: PodInfo, old: object, new: object) -> QueueingHint:
    return QueueingHint(int(pod.name[1:]) % 2)


def broken(pod: PodInfo, old: object, new: object) -> QueueingHint:
    raise RuntimeError(pod.name)


def has_low_priority(pod: PodInfo) -> bool:
    return pod.priority == 0


class QueueMachine(RuleBasedStateMachine):
    """Random arrivals, changes, events, attempts and forks; the model knows only which pods must be there."""

    in_flight = Bundle("in_flight")

    @initialize(pops_early=st.booleans(), ticking=st.booleans(), verdicts=st.booleans())
    def make(self, pops_early: bool, ticking: bool, verdicts: bool) -> None:  # noqa: FBT001
        self.gates = [Gate("First", (NODE_LABEL,)), Gate("Second", (UNSCHEDULED_POD_UPDATE, POD_DELETE))]
        self.bench: Bench = make_bench(
            *self.gates,
            FakePlugin("Always", EVENTS),
            FakePlugin("Never", EVENTS, never),
            FakePlugin("Odd", [*EVENTS, UNSCHEDULED_POD_UPDATE], odd),
            FakePlugin("Broken", (NODE_ADD,), broken),
            gates={"SchedulerPopFromBackoffQ": pops_early},
            verdicts=verdicts,
        )
        self.queue = self.bench.queue
        if ticking:
            self.queue.start()
        self.pods: dict[str, PodInfo] = {}
        self.flying: dict[str, PodInfo] = {}
        self.revision = 0
        for index, name in enumerate(NAMES[:4]):
            self.add(name, index % 2, "")

    def _pod(self, name: str, *, priority: int = 0, **parts: object) -> PodInfo:
        self.revision += 1
        uid = self.pods[name].uid if name in self.pods else f"uid-{name}-{self.revision}"
        return make_pod(name, uid=uid, priority=priority, revision=self.revision, **parts)  # type: ignore[arg-type]

    # --- Pods ---

    @rule(name=st.sampled_from(NAMES), priority=st.integers(0, 2), nominated=st.sampled_from(["", "n1"]))
    def add(self, name: str, priority: int, nominated: str) -> None:
        if name not in self.pods:
            self.pods[name] = pod = self._pod(name, priority=priority, nominated=nominated)
            self.queue.add(pod)
            contents = self.queue.contents()
            assert pod.key in (
                contents.gated if any(name in gate.closed_for for gate in self.gates) else contents.active
            )

    @rule(name=st.sampled_from(NAMES), label=st.integers(0, 3), results=st.booleans())
    def update(self, name: str, label: int, results: bool) -> None:  # noqa: FBT001
        old = self.pods.get(name)
        if old is not None:
            annotations = {RESULT: str(label)} if results else {}
            new = self._pod(name, priority=old.priority, labels={"label": str(label)}, annotations=annotations)
            self.queue.update(old, new)
            self.pods[name] = new

    @rule(name=st.sampled_from(NAMES))
    def delete(self, name: str) -> None:
        pod = self.pods.pop(name, None)
        if pod is not None:
            self.queue.delete(pod)

    @rule(name=st.sampled_from(NAMES), node=st.sampled_from(["", "n1", "n2"]))
    def nominate(self, name: str, node: str) -> None:
        if name in self.pods:
            self.queue.nominator.add(self.pods[name], NominatingInfo(node))

    # --- Attempts ---

    @rule(target=in_flight)
    def pop(self) -> object:
        before = self.queue.contents()
        best = min((by_priority(queued) for queued in self.queue._active), default=None)
        ready = self.queue.has_ready()
        queued = self.queue.pop()
        assert (queued is not None) == ready
        if queued is None:
            return multiple()
        assert queued.pod.key not in before.error_backoff
        if best is not None:
            assert by_priority(queued) == best
        self.flying[queued.pod.uid] = queued.pod
        return queued

    @rule(target=in_flight, name=st.sampled_from(NAMES))
    def pop_specific(self, name: str) -> object:
        pod = self.pods.get(name)
        queued = self.queue.pop_specific(pod) if pod is not None else None
        if queued is None:
            return multiple()
        self.flying[queued.pod.uid] = queued.pod
        return queued

    @rule(
        queued=consumes(in_flight),
        plugins=st.frozensets(st.sampled_from(PLUGINS)),
        pending=st.frozensets(st.sampled_from(PLUGINS), max_size=1),
    )
    def fail(self, queued: QueuedPodInfo, plugins: frozenset[str], pending: frozenset[str]) -> None:
        """As the scheduler does: in its newest state, unless it is gone or another one came in its place."""
        current = self.pods.get(queued.pod.name)
        if current is not None and current.uid == queued.pod.uid:
            queued.pod = current
            queued.set_rejectors(plugins, pending)
            assert self.queue.add_unschedulable(queued)
        else:
            self.queue.done(queued.pod.uid)
        del self.flying[queued.pod.uid]

    @rule(
        event=st.none() | st.sampled_from(EVENTS),
        plugins=st.frozensets(st.sampled_from(PLUGINS), max_size=2),
        pending=st.frozensets(st.sampled_from(PLUGINS), max_size=1),
    )
    def attempt(self, event: ClusterEvent | None, plugins: frozenset[str], pending: frozenset[str]) -> None:
        """A whole attempt that fails, during which something may happen."""
        queued = self.pop()
        if isinstance(queued, QueuedPodInfo):
            if event is not None:
                self.queue.move_all(event, None, None)
            self.fail(queued, plugins, pending)

    @rule(queued=consumes(in_flight))
    def bind(self, queued: QueuedPodInfo) -> None:
        self.queue.done(queued.pod.uid)
        del self.flying[queued.pod.uid]
        current = self.pods.get(queued.pod.name)
        if current is not None and current.uid == queued.pod.uid:
            self.queue.delete(self.pods.pop(queued.pod.name))

    # --- The world ---

    @rule(event=st.sampled_from(EVENTS), low_only=st.booleans())
    def happens(self, event: ClusterEvent, low_only: bool) -> None:  # noqa: FBT001
        self.queue.move_all(event, None, None, has_low_priority if low_only else None)

    @rule(names=st.lists(st.sampled_from(NAMES), max_size=3))
    def activate(self, names: list[str]) -> None:
        self.queue.activate([self.pods[name] for name in names if name in self.pods])

    @rule(gate=st.integers(0, 1), name=st.sampled_from(NAMES), closed=st.booleans())
    def turn_gate(self, gate: int, name: str, closed: bool) -> None:  # noqa: FBT001
        (self.gates[gate].closed_for.add if closed else self.gates[gate].closed_for.discard)(name)

    @rule(seconds=st.sampled_from([0.2, 1, 3, 15, 400]))
    def advance(self, seconds: float) -> None:
        self.bench.advance(seconds)

    @rule()
    def flush(self) -> None:
        self.queue.flush_unschedulable_leftover()
        self.queue.flush_backoff_completed()

    @precondition(lambda self: not self.flying)
    @rule()
    def fork(self) -> None:
        """Go on with a copy."""
        other = self.queue.copy(self.queue._env)
        other.on_verdict = self.queue.on_verdict
        assert other.contents() == self.queue.contents()
        if self.queue._flusher is not None:
            self.queue.stop()
            other.start()
        self.queue = self.bench.queue = other

    # --- What must hold ---

    @invariant()
    def sound(self) -> None:
        self.queue.validate()

    @invariant()
    def complete(self) -> None:
        """Every pod that waits is in one place, every popped one in flight, and nothing else is anywhere."""
        contents = self.queue.contents()
        waiting = [*contents.active, *contents.backoff, *contents.unschedulable, *contents.gated]
        expected = [pod.key for pod in self.pods.values() if pod.uid not in self.flying]

        assert sorted(waiting) == sorted(expected)
        assert list(contents.in_flight) == sorted(pod.key for pod in self.flying.values())
        for pod in self.pods.values():
            queued = self.queue.find(pod.key)
            assert (queued is None) == (pod.uid in self.flying)
            assert queued is None or queued.pod is pod

    @invariant()
    def timely(self) -> None:
        """Flushes are planned as they would be if timers were set at every step, not only when what waits has changed."""
        flusher = self.queue._flusher
        if flusher is not None:
            tickers = (flusher.backoff, flusher.leftover)
            planned = [ticker._timer and ticker._due_ns for ticker in tickers]
            self.queue._set_timers(flusher)
            assert [ticker._timer and ticker._due_ns for ticker in tickers] == planned

    def teardown(self) -> None:
        """With all gates open, time alone makes every waiting pod active."""
        if not hasattr(self, "queue"):
            return
        for gate in self.gates:
            gate.closed_for.clear()
        for event in EVENTS:
            self.queue.move_all(event, None, None)
        self.queue.start()
        self.bench.advance(400)
        self.queue.validate()
        contents = self.queue.contents()

        assert (contents.backoff, contents.unschedulable, contents.gated) == ((), (), ())
        if not self.flying:
            assert self.bench.clock.next_ns() is None


TestQueueMachine = QueueMachine.TestCase
TestQueueMachine.settings = settings(stateful_step_count=40)
