"""What if, at a moment of the past: changes made on a fork that begins there, and how that differs from what came.

The changes are made before anything else happens, then the fork runs on as the cluster did, and no longer: scheduler,
controllers and kubelets, on a clock of that time. What was asked of the cluster itself later on, the fork does not hear of.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from schedlab.apimachinery.time import format_micro_time
from schedlab.kernel.clock import SECOND_NS
from schedlab.whatif.changes import Change, Made
from schedlab.whatif.forks import fork
from schedlab.whatif.what_if import (
    DEFAULT_S,
    Move,
    WhatIf,
    alive,
    key_of,
    last_message,
    moves_between,
    run,
    split,
    successors,
)

if TYPE_CHECKING:
    from schedlab.api.views.core import Pod
    from schedlab.cluster.cluster import Cluster
    from schedlab.decisions.log import DecisionLog

_NOTHING: Final = "nothing has moved it on the fork"


@dataclass(frozen=True, slots=True)
class Moment:
    """A revision and when it was; None when that is not known."""

    revision: int
    time_ns: int | None

    def data(self) -> dict[str, Any]:
        """Return it as JSON-shaped data."""
        return {
            "revision": self.revision,
            "time": "" if self.time_ns is None else format_micro_time(self.time_ns),
        }


@dataclass(frozen=True, slots=True)
class Then:
    """What the changes would have led to, and what came: where each pod of `outcome.moves` was in the end, in their order.

    really: a node, empty while the pod waits, None while there is no such pod. end: the moment of that. came: pods that have come in between and that the fork does not know.
    """

    outcome: WhatIf
    really: tuple[str | None, ...]
    begin: Moment
    end: Moment
    came: int

    def data(self) -> dict[str, Any]:
        """Return it as JSON-shaped data."""
        rows = zip(self.outcome.moves, self.really, strict=True)
        return {
            **self.outcome.data(),
            "moves": [{**asdict(move), "really": really} for move, really in rows],
            "at": self.begin.data(),
            "really": {**self.end.data(), "came": self.came},
        }


def what_if_then(cluster: Cluster, changes: Sequence[Change], revision: int, duration_s: int = DEFAULT_S) -> Then:
    """Make changes at a kept revision and let the fork run; raises SchedlabError, also when it is not kept."""
    configuration, others = split(changes)
    begin, end = _moments(cluster, revision, duration_s)
    if begin.time_ns is not None and end.time_ns is not None:
        duration_s = min(duration_s, -((begin.time_ns - end.time_ns) // SECOND_NS))
    before = alive(pod.view for pod in cluster.past.objects(revision, "pods"))
    later = alive(pod.view for pod in cluster.past.objects(end.revision, "pods"))
    chosen = (
        _configuration_at(cluster, revision)
        if configuration is None
        else (configuration.what, str(configuration.more.get("location", "")))
    )
    made, done = fork(cluster, revision=revision, scheduler_config=chosen), Made()
    run(made, others, done, duration_s, settles=False)
    moves = [*moves_between(before, made, done, cluster.log, revision)]
    moves += _unmoved(before, later, moves, made.log)
    story = _Story(before, later)
    really = tuple(story.place(move) for move in moves)
    texts = tuple(change.text for change in others) + (
        () if configuration is None else (f"schedule with {chosen[1] or 'the other configuration'}",)
    )
    outcome = WhatIf(texts, duration_s, tuple(moves), done.kept(), len(before))
    fresh = {move.pod for move in moves if move.before is None}
    return Then(outcome, really, begin, end, story.came(fresh))


def _moments(cluster: Cluster, revision: int, duration_s: int) -> tuple[Moment, Moment]:
    past = cluster.past
    past.require(revision)
    then_ns, now_ns = past.time_of(revision), cluster.clock.now_ns()
    end_ns = now_ns if then_ns is None else min(now_ns, then_ns + duration_s * SECOND_NS)
    return Moment(revision, then_ns), Moment(max(revision, past.revision_at(end_ns)), end_ns)


def _configuration_at(cluster: Cluster, revision: int) -> tuple[Mapping[str, Any] | None, str]:
    """Return the scheduler configuration that was in force, as the attempt before tells, or else the first one known."""
    for _, _, attempt in cluster.log.newest_first():
        head = attempt.head
        if head.revision <= revision and not attempt.by and head.configuration in cluster.configurations:
            return cluster.configurations[head.configuration]
    return next(iter(cluster.configurations.values()))


def _unmoved(
    before: Mapping[str, Pod], later: Mapping[str, Pod], moves: Sequence[Move], log: DecisionLog
) -> Iterator[Move]:
    """Yield the pods that are elsewhere in truth, and on the fork where they were."""
    told = {move.replaces or move.pod for move in moves}
    for uid, pod in before.items():
        node = pod.spec.node_name
        there = later.get(uid)
        if key_of(pod) not in told and (there is None or there.spec.node_name != node):
            yield Move(key_of(pod), node, node, _NOTHING if node else last_message(log, pod))


class _Story:
    """What has become of the pods `before` in `later`; who took the place of one that is gone counts as that one."""

    def __init__(self, before: Mapping[str, Pod], later: Mapping[str, Pod]) -> None:
        lost = [pod for uid, pod in before.items() if uid not in later]
        fresh = [pod for uid, pod in later.items() if uid not in before]
        heirs = successors(lost, fresh)
        stayed = {key_of(pod): later[uid] for uid, pod in before.items() if uid in later}
        self._now = {**stayed, **{key_of(pod): heirs[pod.metadata.uid] for pod in lost if pod.metadata.uid in heirs}}
        taken = {pod.metadata.uid for pod in heirs.values()}
        self._came = {key_of(pod): pod for pod in fresh if pod.metadata.uid not in taken}

    def place(self, move: Move) -> str | None:
        """Return where the pod of a move was in truth."""
        pod = self._came.get(move.pod) if move.before is None else self._now.get(move.replaces or move.pod)
        return None if pod is None else str(pod.spec.node_name)

    def came(self, known: set[str]) -> int:
        """Count the pods that have come and are not among those of the fork."""
        return sum(key not in known for key in self._came)
