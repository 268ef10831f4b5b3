"""Leader election: who gets the lease, how it is kept, given back and lost, and what it looks like."""

from collections.abc import Callable
from typing import Any

from schedlab.apimachinery.errors import StatusError, new_conflict, new_internal_error
from schedlab.apimachinery.gvk import GroupResource
from schedlab.apimachinery.time import format_micro_time
from schedlab.client.inprocess import InProcessClient
from schedlab.client.leader_election import LEASES, Election, LeaderElector, State
from schedlab.client.protocol import Completion, Outcome, Write
from schedlab.cluster.driver import BatchDriver, Engine
from schedlab.kernel.clock import MILLISECOND_NS, SECOND_NS, VirtualClock
from schedlab.kernel.randomness import SeededRandom
from schedlab.registry import Registry, bootstrap
from schedlab.store import Store


class FlakyClient(InProcessClient):
    """Refuses writes to leases while it is told to."""

    refusal: Callable[[], StatusError] | None = None

    def submit(self, write: Write, done: Completion | None = None) -> None:
        if self.refusal is not None and write.resource == LEASES:
            assert done is not None
            done(Outcome(error=self.refusal()))
        else:
            super().submit(write, done)


class World:
    """An API on a virtual clock and candidates on one engine."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.registry = Registry(Store(), self.clock, SeededRandom(1))
        bootstrap(self.registry)
        self.engine = Engine()
        self.driver = BatchDriver(self.engine, self.clock)
        self.states: dict[str, list[State]] = {}
        self.errors: list[str] = []
        self.client = FlakyClient(self.registry, "kube-scheduler")

    def candidate(self, identity: str, client: InProcessClient | None = None) -> LeaderElector:
        election = Election("kube-system", "kube-scheduler", identity, "default-scheduler")
        states = self.states[identity] = []
        elector = LeaderElector(
            election,
            self.clock,
            SeededRandom(len(self.states)),
            on_change=states.append,
            on_error=lambda text, error: self.errors.append(f"{text}: {error}"),
        )
        self.engine.add(elector, client or InProcessClient(self.registry, "kube-scheduler"))
        elector.start()
        return elector

    def run(self, seconds: float) -> None:
        self.driver.run_for(int(seconds * SECOND_NS))

    def lease(self) -> dict[str, Any]:
        spec: dict[str, Any] = self.registry.get(LEASES, "kube-scheduler", "kube-system").raw["spec"]
        return spec


def test_the_first_candidate_makes_the_lease_and_leads() -> None:
    world = World()
    began = format_micro_time(world.clock.now_ns())
    world.candidate("a")
    world.driver.settle()

    assert world.states["a"] == ["leading"]
    assert world.lease() == {
        "holderIdentity": "a",
        "leaseDurationSeconds": 15,
        "acquireTime": began,
        "renewTime": began,
        "leaseTransitions": 0,
    }


def test_becoming_leader_sends_an_event_about_the_lease() -> None:
    world = World()
    world.candidate("a")
    world.driver.settle()

    (event,) = world.registry.list("events.events.k8s.io", "kube-system").items
    assert event.raw["note"] == "a became leader"
    assert event.raw["reason"] == "LeaderElection"
    assert event.raw["regarding"]["kind"] == "Lease"


def test_a_leader_renews_every_retry_period_and_keeps_its_acquire_time() -> None:
    world = World()
    world.candidate("a")
    world.driver.settle()
    began = world.lease()["acquireTime"]
    world.run(9)

    assert world.lease()["renewTime"] == format_micro_time(world.clock.now_ns() - SECOND_NS)
    assert world.lease()["acquireTime"] == began
    assert world.lease()["leaseTransitions"] == 0


def test_a_second_candidate_waits_as_long_as_the_leader_renews() -> None:
    world = World()
    world.candidate("a")
    world.candidate("b")
    world.run(120)

    assert world.states == {"a": ["leading"], "b": []}


def test_a_silent_leader_is_replaced_after_its_lease_has_run_out() -> None:
    world = World()
    leader = world.candidate("a")
    world.candidate("b")
    world.run(10)
    world.engine.remove(leader)
    world.run(14)
    assert world.states["b"] == []

    world.run(6)

    assert world.states["b"] == ["leading"]
    assert world.lease()["holderIdentity"] == "b"
    assert world.lease()["leaseTransitions"] == 1


def test_silence_is_measured_on_the_followers_own_clock() -> None:
    """A leader whose clock is an hour behind is not replaced while it renews."""
    world = World()
    world.candidate("a")
    world.run(1)
    lease = world.registry.get(LEASES, "kube-scheduler", "kube-system")
    hour_ago = format_micro_time(world.clock.now_ns() - 3600 * SECOND_NS)
    old = {**lease.thaw(), "spec": {**lease.raw["spec"], "renewTime": hour_ago, "holderIdentity": "behind"}}
    world.registry.update(LEASES, "kube-scheduler", old, "kube-system")
    world.candidate("b")
    world.run(14)

    assert world.states["b"] == []


def test_a_released_lease_is_free_at_once() -> None:
    world = World()
    leader = world.candidate("a")
    world.candidate("b")
    world.run(10)
    leader.release()
    world.run(5)

    assert world.states == {"a": ["leading", "released"], "b": ["leading"]}
    assert world.lease()["leaseTransitions"] == 1


def test_releasing_leaves_the_lease_without_holder() -> None:
    world = World()
    leader = world.candidate("a")
    world.run(10)
    leader.release()
    world.driver.settle()

    assert world.lease()["holderIdentity"] == ""
    assert world.lease()["leaseDurationSeconds"] == 1


def test_a_follower_that_leaves_does_not_touch_the_lease() -> None:
    world = World()
    world.candidate("a")
    follower = world.candidate("b")
    world.run(10)
    follower.release()
    world.run(10)

    assert world.states == {"a": ["leading"], "b": ["released"]}
    assert world.lease()["holderIdentity"] == "a"


def test_a_leader_that_cannot_renew_gives_up_before_its_lease_ends() -> None:
    world = World()
    world.candidate("a", world.client)
    world.run(10)
    renewed_ns = world.clock.now_ns()
    world.client.refusal = lambda: new_internal_error("the disk is full")
    while world.states["a"] == ["leading"]:
        world.run(0.1)

    assert world.states["a"] == ["leading", "lost"]
    assert world.clock.now_ns() - renewed_ns <= 12 * SECOND_NS + 200 * MILLISECOND_NS
    assert "Failed to update lease: Internal error occurred: the disk is full" in world.errors


def test_a_leader_survives_trouble_that_is_shorter_than_its_deadline() -> None:
    world = World()
    world.candidate("a", world.client)
    world.run(10)
    conflict = new_conflict(GroupResource("coordination.k8s.io", "leases"), "kube-scheduler", "try again")
    world.client.refusal = lambda: conflict
    world.run(7)
    world.client.refusal = None
    world.run(60)

    assert world.states["a"] == ["leading"]


def test_a_lease_that_was_deleted_is_made_again() -> None:
    world = World()
    world.candidate("a")
    world.run(10)
    world.registry.delete(LEASES, "kube-scheduler", "kube-system")
    world.run(3)

    assert world.states["a"] == ["leading"]
    assert world.lease()["holderIdentity"] == "a"
