"""Effects and the parts that return them.

A part of the core (scheduler, controller, kubelet) never blocks and never calls out. It is stepped by a driver, returns
effects, and hears about each outcome through `complete`. Drivers: the batch one pops the virtual clock's heap, the live
one sits on the event loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import msgspec

from schedlab.client.protocol import Write


class Effect(msgspec.Struct, frozen=True):
    """Something for the driver to do for a part; `token` is the part's own note of what waits for the outcome."""

    token: Any


class WriteEffect(Effect, frozen=True):
    """Submit a write; the outcome is a `client.protocol.Outcome`, which is not told when there is no token."""

    write: Write


class ReadEffect(Effect, frozen=True):
    """Ask the API server itself for one object, past all caches; the outcome is a `client.protocol.Outcome`."""

    resource: str
    namespace: str
    name: str


class CallEffect(Effect, frozen=True):
    """POST a JSON body to a URL outside the cluster (an HTTP extender); the outcome is a `CallOutcome`."""

    url: str
    body: bytes
    timeout_ns: int
    tls: Any = None


class CallOutcome(msgspec.Struct, frozen=True):
    """Answer of a `CallEffect`: status and body, or the text of the transport error."""

    status: int = 0
    body: bytes = b""
    error: str = ""


class Part(Protocol):
    """One stepped part of a cluster."""

    def ready(self) -> bool:
        """Say whether `step` has something to do now."""

    def step(self) -> Sequence[Effect]:
        """Do one bounded piece of work (well under 20 ms) and return what it wants done, in order."""

    def complete(self, effect: Effect, outcome: object) -> Sequence[Effect]:
        """Take the outcome of an effect of this part; return what follows from it."""
