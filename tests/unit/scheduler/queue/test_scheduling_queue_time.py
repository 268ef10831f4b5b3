"""The scheduling queue as time passes: backoff ends, and nobody waits for ever."""

from schedlab.kernel.clock import MILLISECOND_NS, SECOND_NS
from schedlab.scheduler.queue.environment import QueueSettings
from schedlab.scheduler.queue.hints import Strategy
from tests.unit.scheduler.queue.builders import FakePlugin, Gate, make_bench, make_pod


def test_backoff_ends_with_the_second_in_which_it_ends() -> None:
    bench = make_bench()
    bench.queue.start()
    bench.advance(0.3)
    bench.queue.add(make_pod("p"))
    bench.fail()
    started = bench.clock.now_ns()
    bench.moves.seen.clear()
    bench.advance(60)

    assert bench.moves.seen[0].at_ns == started + 1700 * MILLISECOND_NS
    assert bench.moves.take() == [("p", "active", "BackoffComplete")]
    assert bench.clock.next_ns() is None


def test_backoff_ends_with_the_queues_own_ticks_while_the_gate_is_off() -> None:
    bench = make_bench(gates={"SchedulerPopFromBackoffQ": False})
    bench.advance(0.25)
    bench.queue.start()
    bench.advance(0.3)
    bench.queue.add(make_pod("p"))
    bench.fail()
    started = bench.clock.now_ns()
    bench.moves.seen.clear()
    bench.advance(60)

    assert bench.moves.seen[0].at_ns == started + 1700 * MILLISECOND_NS


def test_pod_is_retried_after_five_minutes_without_an_event() -> None:
    bench = make_bench(FakePlugin("Fit"), verdicts=True)
    bench.queue.start()
    bench.advance(10)
    bench.queue.add(make_pod("p"))
    bench.fail("Fit")
    started = bench.clock.now_ns()
    bench.moves.seen.clear()
    bench.advance(400)

    assert bench.moves.seen[0].at_ns == started + 320 * SECOND_NS
    assert bench.moves.take() == [("p", "active", "UnschedulableTimeout")]
    assert [(v.label, v.strategy) for v in bench.verdicts] == [("UnschedulableTimeout", Strategy.AFTER_BACKOFF)]
    queued = bench.queue.pop()
    assert queued is not None
    assert queued.was_flushed
    assert bench.clock.next_ns() is None


def test_gated_pod_is_not_retried_by_time() -> None:
    bench = make_bench(Gate("Gate", closed_for={"p"}))
    bench.queue.start()
    bench.queue.add(make_pod("p"))
    bench.advance(1000)
    bench.queue.flush_unschedulable_leftover()

    assert bench.places() == {"gated": ["p"]}
    assert bench.clock.next_ns() is None


def test_pod_that_is_gated_when_it_is_asked_for_leaves_no_timer_of_its_backoff() -> None:
    gate = Gate("Gate")
    bench = make_bench(gate, gates={"SchedulerPopFromBackoffQ": False})
    bench.queue.start()
    pod = make_pod("p")
    bench.queue.add(pod)
    bench.fail()
    gate.closed_for.add("p")

    assert bench.queue.pop_specific(pod) is None
    assert bench.places() == {"gated": ["p"]}
    assert bench.clock.next_ns() is None


def test_pod_in_flight_hears_that_a_gated_one_has_waited_too_long() -> None:
    bench = make_bench(Gate("Gate", closed_for={"old"}), FakePlugin("Fit"))
    bench.queue.start()
    bench.queue.add(make_pod("old"))
    bench.advance(1000)
    bench.queue.add(make_pod("p"))
    queued = bench.queue.pop()
    assert queued is not None
    bench.advance(31)
    queued.set_rejectors(["Fit"])
    bench.queue.add_unschedulable(queued)

    assert bench.places() == {"backoff": ["p"], "gated": ["old"]}


def test_settings_change_the_waits() -> None:
    settings = QueueSettings(3 * SECOND_NS, 5 * SECOND_NS, 60 * SECOND_NS)
    bench = make_bench(FakePlugin("Fit"), settings=settings)
    bench.queue.start()
    bench.queue.add(make_pod("p"))
    bench.fail("Fit")
    bench.moves.seen.clear()
    started = bench.clock.now_ns()
    bench.advance(100)

    assert bench.moves.seen[0].at_ns == started + 90 * SECOND_NS


def test_stopped_queue_leaves_no_timer() -> None:
    bench = make_bench()
    bench.queue.start()
    bench.queue.add(make_pod("p"))
    bench.fail()
    assert bench.clock.next_ns() is not None
    bench.queue.stop()
    bench.queue.stop()

    assert bench.clock.next_ns() is None
