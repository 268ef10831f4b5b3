"""What if: changes made on a fork of the whole cluster, some time later, and which pods are elsewhere then, and why.

Changes of objects are made one after the other, then the fork runs: scheduler, controllers and kubelets. Another scheduler
configuration is compared with the one in force by placing all pods anew with both (`placing`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from schedlab.api.views.core import Pod
from schedlab.cluster.driver import BatchDriver
from schedlab.kernel.clock import SECOND_NS, VirtualClock
from schedlab.kernel.errors import SchedlabError
from schedlab.whatif.changes import Change, Made, finish_drains, make
from schedlab.whatif.flips import flipped
from schedlab.whatif.forks import fork
from schedlab.whatif.placing import compare

if TYPE_CHECKING:
    from schedlab.cluster.cluster import Cluster
    from schedlab.decisions.log import DecisionLog
    from schedlab.scheduler.framework.record import CycleRecord

DEFAULT_S: Final = 120
_OVER: Final = ("Succeeded", "Failed")

PENDING: Final = ""


@dataclass(frozen=True, slots=True)
class Move:
    """A pod that is elsewhere: nodes before and after, empty while it waits, None while there is no such pod.

    plugin: the one that flipped the choice, empty where something else did. replaces: the pod of the same owner whose
    place it took.
    """

    pod: str
    before: str | None
    after: str | None
    why: str
    plugin: str = ""
    replaces: str = ""


@dataclass(frozen=True, slots=True)
class WhatIf:
    """What the changes lead to; `problems` are what could not be done."""

    changes: tuple[str, ...]
    ran_for_s: int
    moves: tuple[Move, ...]
    problems: tuple[str, ...]
    pods: int

    def data(self) -> dict[str, Any]:
        """Return it as JSON-shaped data."""
        return {
            "changes": list(self.changes),
            "ranForSeconds": self.ran_for_s,
            "moves": [asdict(move) for move in self.moves],
            "problems": list(self.problems),
            "pods": self.pods,
        }


def what_if(cluster: Cluster, changes: Sequence[Change], duration_s: int = DEFAULT_S) -> WhatIf:
    """Make changes on a fork and let it run; raises SchedlabError for a change that cannot be made."""
    texts = tuple(change.text for change in changes)
    configuration, others = split(changes)
    made, done, before = cluster, Made(), alive(cluster.informers.lister("pods").list())
    moves: list[Move] = []
    if others:
        made = fork(cluster)
        run(made, others, done, duration_s)
        moves += moves_between(before, made, done, cluster.log)
    if configuration is not None:
        raw, location = configuration.what, str(configuration.more.get("location", ""))
        moves += [
            Move(pod.key, flip.before, flip.after, flip.reason, flip.plugin)
            for pod, flip in compare(made, raw, location)
        ]
    return WhatIf(texts, duration_s if others else 0, tuple(moves), done.kept(), len(before))


def split(changes: Sequence[Change]) -> tuple[Change | None, Sequence[Change]]:
    """Return the other scheduler configuration, if one is given, and the changes of objects; raises SchedlabError."""
    configurations = [change for change in changes if change.kind == "schedulerConfig"]
    if len(configurations) > 1:
        raise SchedlabError(
            "two scheduler configurations are given", location=configurations[1].place, hint="compare them one by one"
        )
    others = [change for change in changes if change.kind != "schedulerConfig"]
    return (configurations[0] if configurations else None), others


def run(made: Cluster, changes: Sequence[Change], done: Made, duration_s: int, *, settles: bool = True) -> None:
    """Make changes on a fork and let it run; `settles`: all that waits to be done is, before and after each change."""
    assert isinstance(made.clock, VirtualClock), "a fork runs on a virtual clock"
    driver = BatchDriver(made.engine, made.clock)
    if settles:
        # The fork begins as after a restart; what that does must not be taken for what the changes do.
        driver.settle()
    for change in changes:
        make(made, change, done)
        if settles:
            driver.settle()
    end_ns = made.clock.now_ns() + duration_s * SECOND_NS
    finish_drains(made, driver, done, end_ns)
    driver.run_until(end_ns)


def alive(pods: Iterable[Pod]) -> dict[str, Pod]:
    """Return the pods that are not over, by uid."""
    return {pod.metadata.uid: pod for pod in pods if pod.status.phase not in _OVER}


# --- What is different -----------------------------------------------------------------------------------------------


def moves_between(
    before: Mapping[str, Pod], made: Cluster, done: Made, old: DecisionLog, revision: int | None = None
) -> Iterator[Move]:
    """Yield the pods that are elsewhere on a fork than before, which was at a revision, if not now."""
    pods, new = made.informers.lister("pods").list(), made.log
    after, gone = alive(pods), {**_ended(pods), **done.gone}
    lost = [pod for uid, pod in before.items() if uid not in after]
    fresh = [pod for uid, pod in after.items() if uid not in before]
    victims = _victims(new)
    for uid, pod in before.items():
        there = after.get(uid)
        if there is not None and there.spec.node_name != pod.spec.node_name:
            yield _placed(there, pod.spec.node_name, _last(old, pod, revision), _last(new, pod))
    replaced = successors(lost, fresh)
    for pod in lost:
        why = gone.get(key_of(pod)) or victims.get(key_of(pod)) or "deleted by a controller"
        successor = replaced.get(pod.metadata.uid)
        if successor is None:
            yield Move(key_of(pod), pod.spec.node_name, None, why)
        else:
            after_node = successor.spec.node_name
            why = why if after_node else f"{why}; {last_message(new, successor)}"
            yield Move(key_of(successor), pod.spec.node_name, after_node, why, replaces=key_of(pod))
    taken = {pod.metadata.uid for pod in replaced.values()}
    for pod in fresh:
        if pod.metadata.uid not in taken:
            why = "new" if pod.spec.node_name else f"new; {last_message(new, pod)}"
            yield Move(key_of(pod), None, pod.spec.node_name, why)


def _ended(pods: Iterable[Pod]) -> dict[str, str]:
    """Return how pods have ended, by key."""
    ended = [pod for pod in pods if pod.status.phase in _OVER]
    return {key_of(pod): f"ended: {pod.status.message or pod.status.phase}" for pod in ended}


def key_of(pod: Pod) -> str:
    """Return namespace/name."""
    return f"{pod.metadata.namespace}/{pod.metadata.name}"


def _placed(pod: Pod, before: str, earlier: CycleRecord | None, later: CycleRecord | None) -> Move:
    """Say why a pod that waited is on a node now."""
    flip = None if earlier is None or later is None else flipped(earlier, later)
    why, plugin = ("it was its turn", "") if flip is None else (flip.reason, flip.plugin)
    return Move(key_of(pod), before, pod.spec.node_name, why, plugin)


def _last(log: DecisionLog, pod: Pod, revision: int | None = None) -> CycleRecord | None:
    """Return the newest attempt of a pod, or the newest that had begun at a revision."""
    story = log.story(pod.metadata.uid)
    attempts = [] if story is None else story.until(revision)
    return attempts[-1].cycle() if attempts else None


def last_message(log: DecisionLog, pod: Pod) -> str:
    """Return why the newest attempt failed."""
    record = _last(log, pod)
    return "not tried" if record is None else record.failure_message


def _victims(log: DecisionLog) -> dict[str, str]:
    found: dict[str, str] = {}
    for story in log.stories():
        for attempt in story.attempts:
            for victim in attempt.head.victims:
                found.setdefault(victim, f"preempted by {story.namespace}/{story.name}")
    return found


def successors(lost: Sequence[Pod], fresh: Sequence[Pod]) -> dict[str, Pod]:
    """Pair pods that are gone with new ones of the same owner, or of the same name where there is no owner."""
    waiting: dict[tuple[str, str], list[Pod]] = {}
    for pod in fresh:
        waiting.setdefault(_family(pod), []).append(pod)
    found: dict[str, Pod] = {}
    for pod in lost:
        candidates = waiting.get(_family(pod), [])
        same = next((one for one in candidates if one.metadata.name == pod.metadata.name), None)
        chosen = same or (candidates[0] if candidates and pod.metadata.controller() is not None else None)
        if chosen is not None:
            candidates.remove(chosen)
            found[pod.metadata.uid] = chosen
    return found


def _family(pod: Pod) -> tuple[str, str]:
    owner = pod.metadata.controller()
    return (pod.metadata.namespace, pod.metadata.name if owner is None else owner.uid)
