"""Pods in flight and the events they have to be asked about."""

from schedlab.scheduler.queue.in_flight import InFlight
from tests.unit.scheduler.queue.builders import NODE_ADD, make_pod


def seen(in_flight: InFlight, uid: str) -> list[object] | None:
    events = in_flight.events_for(uid)
    return None if events is None else [each.new for each in events]


def test_pod_hears_of_what_happened_since_it_was_popped() -> None:
    in_flight = InFlight()
    in_flight.add_event(NODE_ADD, None, 0)
    in_flight.add_pod(make_pod("a"))
    in_flight.add_event(NODE_ADD, None, 1)
    in_flight.add_pod(make_pod("b"))
    in_flight.add_event(NODE_ADD, None, 2)
    in_flight.validate()

    assert seen(in_flight, "uid-a") == [1, 2]
    assert seen(in_flight, "uid-b") == [2]
    assert seen(in_flight, "uid-c") is None


def test_event_is_kept_while_an_older_pod_is_in_flight() -> None:
    in_flight = InFlight()
    for number, name in enumerate("abc"):
        in_flight.add_pod(make_pod(name))
        in_flight.add_event(NODE_ADD, None, number)

    in_flight.done("uid-b")
    in_flight.validate()
    assert in_flight.event_count == 3

    in_flight.done("uid-a")
    in_flight.validate()
    assert seen(in_flight, "uid-c") == [2]
    assert in_flight.event_count == 1

    in_flight.done("uid-c")
    in_flight.done("uid-c")
    in_flight.validate()
    assert in_flight.event_count == 0


def test_copy_is_independent() -> None:
    in_flight = InFlight()
    in_flight.add_pod(make_pod("a"))
    in_flight.add_event(NODE_ADD, None, 1)
    other = in_flight.copy()
    in_flight.done("uid-a")
    other.validate()

    assert seen(other, "uid-a") == [1]
