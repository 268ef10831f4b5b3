"""The schedulers of a cluster, as far as they are known: its own, those of pods, and clients that act like one.

Of a client the API server sees who it is and what it does with pods: binding one, making one with a node, reporting that
one cannot be scheduled. What it thinks stays with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias

from schedlab.apimachinery.time import format_micro_time, format_time
from schedlab.kernel.clock import SECOND_NS

if TYPE_CHECKING:
    from schedlab.api.object import StoredObject
    from schedlab.decisions.moments import Moments
    from schedlab.kernel.clock import Clock
    from schedlab.registry import WriteOptions
    from schedlab.scheduler.scheduler import Scheduler

#: "outside": of another process, known by what it did.
State: TypeAlias = Literal["scheduling", "standby", "waiting", "ended", "outside"]

OWN: Final = "this cluster"
#: So many pods are remembered with who placed them, and so many clients.
PLACEMENTS_MAX: Final = 50_000
CLIENTS_MAX: Final = 1_000
_PLACES_TOLD: Final = 5
#: A client that has done nothing for so long is taken for gone.
_SILENCE_NS_MAX: Final = 600 * SECOND_NS
#: The user agent of schedulers of this process; clients have a version behind the name.
_INSIDE: Final = "kube-scheduler"


@dataclass(frozen=True, slots=True)
class KnownScheduler:
    """For pods of which `names` it works, where, and how it is; `detail` says what it waits for or when it was seen."""

    names: tuple[str, ...]
    where: str
    state: State
    detail: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return it with the names of the REST API."""
        return {"names": list(self.names), "where": self.where, "state": self.state, "detail": self.detail}

    def told(self) -> str:
        """Return where it works and how it is, in words."""
        return f"{self.where} ({f'{self.state}, {self.detail}' if self.detail else self.state})"


@dataclass(frozen=True, slots=True)
class Desk:
    """A scheduler of this process whose decisions are in the log under the name `by`."""

    by: str
    scheduler: Scheduler
    moments: Moments


def rivals(known: Iterable[KnownScheduler]) -> dict[str, tuple[str, ...]]:
    """Return the names for which more than one scheduler works at the same time, with where these are."""
    found: dict[str, list[str]] = {}
    for one in known:
        if one.state in ("scheduling", "outside"):
            for name in one.names:
                found.setdefault(name, []).append(one.where)
    return {name: tuple(places) for name, places in found.items() if len(places) > 1}


def rival_warnings(known: Iterable[KnownScheduler]) -> list[str]:
    """Return a line per name that several schedulers have."""
    return [rival_warning(name, places) for name, places in rivals(known).items()]


def rival_warning(name: str, places: Sequence[str]) -> str:
    """Say that several schedulers decide for the same pods."""
    more = len(places) - _PLACES_TOLD
    told = "; ".join(places[:_PLACES_TOLD]) + (f" and {more} more" if more > 0 else "")
    return (
        f"{len(places)} schedulers decide for pods of {name}: {told}. "
        "Each may bind what the other is about to place; let them elect a leader, or give one another name."
    )


class Placement(NamedTuple):
    """Who has put a pod on a node from outside: by a binding, or by making it with a node in its spec."""

    node: str
    how: Literal["binding", "creation"]
    client: str
    user: str
    at_ns: int
    revision: int

    def as_json(self) -> dict[str, Any]:
        """Return it with the names of the REST API."""
        told = self._asdict()
        del told["at_ns"]
        return {**told, "time": format_micro_time(self.at_ns) if self.at_ns else ""}


@dataclass(slots=True)
class _Client:
    names: dict[str, None]
    last_ns: int
    bound: int = 0


class Outsiders:
    """Hears of every write (registry.WriteListener) and keeps what clients have done as schedulers."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._placements: dict[str, Placement] = {}
        self._clients: dict[tuple[str, str], _Client] = {}

    def written(self, obj: StoredObject, verb: str, subresource: str, options: WriteOptions) -> None:
        """Take a write of any object."""
        user = options.user.name
        if obj.resource != "pods" or not user or options.user_agent == _INSIDE:
            return
        if subresource == "binding":
            self._place(obj, "binding", options)
            self._act(obj, options).bound += 1
        elif subresource == "status":
            condition = obj.view.status.condition("PodScheduled")
            if condition is not None and condition.status == "False" and not obj.view.spec.node_name:
                self._act(obj, options)
        elif not subresource and verb == "create" and obj.view.spec.node_name:
            self._place(obj, "creation", options)

    def _place(self, obj: StoredObject, how: Literal["binding", "creation"], options: WriteOptions) -> None:
        if len(self._placements) >= PLACEMENTS_MAX:
            del self._placements[next(iter(self._placements))]
        node, now_ns = obj.view.spec.node_name, self._clock.now_ns()
        self._placements[obj.uid] = Placement(node, how, options.user_agent, options.user.name, now_ns, obj.revision)

    def _act(self, obj: StoredObject, options: WriteOptions) -> _Client:
        key = options.user_agent, options.user.name
        client = self._clients.pop(key, None) or _Client({}, 0)
        self._clients[key] = client
        if len(self._clients) > CLIENTS_MAX:
            del self._clients[next(iter(self._clients))]
        client.names[obj.view.spec.scheduler_name] = None
        client.last_ns = self._clock.now_ns()
        return client

    def placement(self, uid: str) -> Placement | None:
        """Return who has put a pod on its node, if it was somebody from outside."""
        return self._placements.get(uid)

    def known(self) -> Sequence[KnownScheduler]:
        """Return the clients that have acted like a scheduler of late."""
        oldest_ns = self._clock.now_ns() - _SILENCE_NS_MAX
        return [
            KnownScheduler(
                tuple(client.names),
                client_words(agent, user),
                "outside",
                f"pods bound: {client.bound}, last seen {format_time(client.last_ns)}",
            )
            for (agent, user), client in self._clients.items()
            if client.last_ns >= oldest_ns
        ]


def client_words(agent: str, user: str) -> str:
    """Return who a client is."""
    return f"{agent or 'a client without a name'}{f' as {user}' if user else ''}"
