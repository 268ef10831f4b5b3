"""Who of several copies of a component is in charge: the one that keeps renewing a Lease.

                 lease is free, or its holder is silent for longer than it promised
    ┌─────────┐ ────────────────────────────────────────────────────────────────────> ┌─────────┐
    │ standby │                                                                       │ leading │ renews
    └─────────┘ <── (a new elector; this one is over)                                 └─────────┘
                                       released  <── release(): free at once ──────────────┤
                                       lost      <── no renewal within renew_deadline ─────┘

How long a holder has been silent is measured on one's own clock, from when its last renewal was seen: the clocks of the
copies need not agree.

Mirrors: staging/src/k8s.io/client-go/tools/leaderelection/{leaderelection,resourcelock/leaselock}.go (v1.36)
Differs: no coordinated election; a part that is stepped instead of a goroutine that waits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from schedlab.api.object import StoredObject
from schedlab.apimachinery.errors import NotFound, StatusError
from schedlab.apimachinery.time import format_micro_time
from schedlab.client.effects import Effect, ReadEffect, WriteEffect
from schedlab.client.protocol import Outcome, Write
from schedlab.kernel.clock import SECOND_NS, Clock, Timer
from schedlab.kernel.randomness import RandomSource

LEASES: Final = "leases.coordination.k8s.io"
_JITTER: Final = 1.2

State: TypeAlias = Literal["standby", "leading", "released", "lost"]


@dataclass(frozen=True, slots=True)
class Election:
    """What is elected, who runs, and how patient everybody is. `component` is who sends the events."""

    namespace: str
    name: str
    identity: str
    component: str
    lease_duration_ns: int = 15 * SECOND_NS
    renew_deadline_ns: int = 10 * SECOND_NS
    retry_period_ns: int = 2 * SECOND_NS


class LeaderElector:
    """One candidate (client.effects.Part).

    on_change(state) is called on every change of `state`; on_error(text, error) when the lease cannot be read or
    written; on_leader(identity) when somebody else, or oneself, was seen to hold the lease.
    """

    def __init__(
        self,
        election: Election,
        clock: Clock,
        random: RandomSource,
        *,
        on_change: Callable[[State], None],
        on_error: Callable[[str, StatusError], None] = lambda *_: None,
        on_leader: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.election = election
        self.state: State = "standby"
        self._clock, self._random = clock, random
        self._on_change, self._on_error, self._on_leader = on_change, on_error, on_leader
        self._lease: StoredObject | None = None
        self._seen_ns = 0
        self._reported = ""
        self._due = False
        self._releasing = False
        #: Bumped when an attempt is given up, so that its late answers are told apart.
        self._attempt = 0
        self._next: Timer | None = None
        self._deadline: Timer | None = None

    def start(self) -> None:
        """Begin to stand as a candidate."""
        self._due = True

    def release(self) -> None:
        """Give the lease back, so that another candidate need not wait for its end; a candidate just leaves."""
        self._cancel()
        if self.state == "leading":
            self._releasing = self._due = True
        elif self.state == "standby":
            self._become("released")

    def stop(self) -> None:
        """Do nothing more, as when the process dies: the lease runs out by itself."""
        self._cancel()

    # --- The part ---

    def ready(self) -> bool:
        """See client.effects.Part."""
        return self._due

    def step(self) -> Sequence[Effect]:
        """Begin an attempt to get, keep or give back the lease."""
        self._due = False
        self._attempt += 1
        if self._releasing:
            return (self._read("release"),)
        if self.state == "leading" and self._holder_is_alive():
            return (self._update("renew"),)
        return (self._read("read"),)

    def complete(self, effect: Effect, outcome: object) -> Sequence[Effect]:
        """See client.effects.Part."""
        assert isinstance(outcome, Outcome)
        attempt, what = effect.token
        if attempt != self._attempt or self.state in ("released", "lost"):
            return ()
        if what == "release":
            return self._release(outcome)
        if what == "released":
            self._become("released")
            return ()
        if what == "read":
            return self._read_answered(outcome)
        if outcome.error is None:
            return self._succeeded(outcome)
        if what == "renew":
            # Somebody else wrote it, or the answer got lost: look again.
            return (self._read("read"),)
        text = "Error initially creating lease lock" if what == "create" else "Failed to update lease"
        return self._failed(text, outcome.error)

    # --- Attempts ---

    def _read_answered(self, outcome: Outcome) -> Sequence[Effect]:
        if isinstance(outcome.error, NotFound):
            return (self._create(),)
        if outcome.error is not None:
            return self._failed("Error retrieving lease lock", outcome.error)
        assert outcome.object is not None
        self._observe(outcome.object)
        holder = self._holder()
        if holder and holder != self.election.identity and self._holder_is_alive():
            self._try_again()
            return ()
        return (self._update("update"),)

    def _succeeded(self, outcome: Outcome) -> Sequence[Effect]:
        assert outcome.object is not None
        self._observe(outcome.object)
        began = self.state == "standby"
        if began:
            self._become("leading")
        self._try_again()
        return (self._event("became leader"),) if began and self.state == "leading" else ()

    def _failed(self, text: str, error: StatusError) -> Sequence[Effect]:
        self._on_error(text, error)
        self._try_again(renewed=False)
        return ()

    def _release(self, outcome: Outcome) -> Sequence[Effect]:
        if outcome.error is not None or outcome.object is None:
            self._become("released")
            return ()
        self._observe(outcome.object)
        if self._holder() != self.election.identity:
            self._become("released")
            return ()
        now = format_micro_time(self._clock.now_ns())
        spec = {
            "holderIdentity": "",
            "leaseDurationSeconds": 1,
            "acquireTime": now,
            "renewTime": now,
            "leaseTransitions": self._spec().get("leaseTransitions", 0),
        }
        return (self._write("update", "released", self._with(spec)), self._event("stopped leading"))

    # --- Timing ---

    def _try_again(self, *, renewed: bool = True) -> None:
        """Plan the next attempt; a leader that has not renewed keeps the deadline it has."""
        period = self.election.retry_period_ns
        if self.state != "leading":
            self._next = self._clock.at(
                self._clock.now_ns() + period + int(period * _JITTER * self._random.fraction()), self._wake
            )
            return
        next_ns = self._clock.now_ns() + period
        self._next = self._clock.at(next_ns, self._wake)
        if renewed or self._deadline is None:
            if self._deadline is not None:
                self._deadline.cancel()
            self._deadline = self._clock.at(next_ns + self.election.renew_deadline_ns, self._lose)

    def _wake(self) -> None:
        self._due = self.state in ("standby", "leading")

    def _lose(self) -> None:
        if self.state == "leading":
            self._cancel()
            self._become("lost")

    def _cancel(self) -> None:
        for timer in (self._next, self._deadline):
            if timer is not None:
                timer.cancel()
        self._due = False

    def _become(self, state: State) -> None:
        self.state = state
        self._on_change(state)

    # --- The lease ---

    def _observe(self, lease: StoredObject) -> None:
        known = self._lease
        if known is None or known.raw.get("spec") != lease.raw.get("spec"):
            self._seen_ns = self._clock.now_ns()
        self._lease = lease
        holder = self._holder()
        if holder != self._reported:
            self._reported = holder
            self._on_leader(holder)

    def _spec(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = {} if self._lease is None else self._lease.raw.get("spec") or {}
        return found

    def _holder(self) -> str:
        return str(self._spec().get("holderIdentity") or "")

    def _holder_is_alive(self) -> bool:
        promised_ns = int(self._spec().get("leaseDurationSeconds") or 0) * SECOND_NS
        return self._seen_ns + promised_ns > self._clock.now_ns()

    def _held(self) -> dict[str, Any]:
        """Return the lease's spec as it is when this candidate holds it now."""
        now = format_micro_time(self._clock.now_ns())
        before = self._spec()
        stays = self.state == "leading" or self._holder() == self.election.identity
        transitions = int(before.get("leaseTransitions") or 0)
        return {
            "holderIdentity": self.election.identity,
            "leaseDurationSeconds": self.election.lease_duration_ns // SECOND_NS,
            "acquireTime": before.get("acquireTime", now) if stays else now,
            "renewTime": now,
            "leaseTransitions": transitions if stays or self._lease is None else transitions + 1,
        }

    def _with(self, spec: Mapping[str, Any]) -> Mapping[str, Any]:
        assert self._lease is not None
        return {**self._lease.raw, "spec": spec}

    # --- Effects ---

    def _read(self, what: str) -> Effect:
        return ReadEffect((self._attempt, what), LEASES, self.election.namespace, self.election.name)

    def _create(self) -> Effect:
        self._lease = None
        metadata = {"namespace": self.election.namespace, "name": self.election.name}
        body = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": self._held()}
        return self._write("create", "create", body)

    def _update(self, what: str) -> Effect:
        return self._write("update", what, self._with(self._held()))

    def _write(self, verb: Literal["create", "update"], what: str, body: Mapping[str, Any]) -> Effect:
        write = Write(verb, LEASES, self.election.namespace, self.election.name, body)
        return WriteEffect((self._attempt, what), write)

    def _event(self, what: str) -> Effect:
        now_ns = self._clock.now_ns()
        election = self.election
        body = {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"name": f"{election.name}.{now_ns:x}", "namespace": election.namespace},
            "eventTime": format_micro_time(now_ns),
            "reportingController": election.component,
            "reportingInstance": election.identity,
            "action": "LeaderElection",
            "reason": "LeaderElection",
            "regarding": {
                "kind": "Lease",
                "apiVersion": "coordination.k8s.io/v1",
                "namespace": election.namespace,
                "name": election.name,
            },
            "note": f"{election.identity} {what}",
            "type": "Normal",
        }
        write = Write("create", "events.events.k8s.io", election.namespace, body["metadata"]["name"], body)  # type: ignore[index]
        # Nobody waits for it, and no attempt has number 0.
        return WriteEffect((0, "event"), write)
