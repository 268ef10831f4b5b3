"""All pods that wait, by the reasons for it, and for each group the cheapest change that helps one of its pods.

Pods belong together that were turned down for the same reasons, on however many nodes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from schedlab.decisions.rendering import rejections
from schedlab.decisions.untried import why_untried
from schedlab.whatif.help import Help, help_in
from schedlab.whatif.trial import Trial, waits

if TYPE_CHECKING:
    from schedlab.api.object import StoredObject
    from schedlab.cluster.cluster import Cluster
    from schedlab.scheduler.framework.record import CycleRecord

#: For so many groups, the largest first, a change is searched.
FIXES_MAX: Final = 10
_OVER: Final = ("Succeeded", "Failed")


@dataclass(slots=True)
class Group:
    """Pods that wait for the same reasons: by reason on how many nodes at most; empty where no node was looked at.

    `message` is what is told of the first pod; help is what a search for it has found, None where none was made.
    """

    reasons: dict[str, int]
    message: str
    pods: list[StoredObject] = field(default_factory=list)
    help: Help | None = None

    def data(self) -> dict[str, Any]:
        """Return the group as JSON-shaped data."""
        cheapest = None if self.help is None or not self.help.suggestions else self.help.suggestions[0].data()
        return {
            "reasons": [{"reason": reason, "nodes": nodes} for reason, nodes in self.reasons.items()],
            "message": self.message,
            "count": len(self.pods),
            "pods": [pod.key for pod in self.pods],
            "fix": cheapest,
            "fits": self.help is not None and self.help.fits,
            "help": "" if self.help is None else self.help.message,
        }


@dataclass(frozen=True, slots=True)
class Pending:
    """Groups of waiting pods, the largest first, of `pods` that there are in all."""

    groups: tuple[Group, ...]
    pods: int

    def reasons(self) -> dict[str, int]:
        """Return how many pods each single reason concerns, the most frequent first."""
        counts: dict[str, int] = {}
        for group in self.groups:
            for reason in group.reasons or (group.message,):
                counts[reason] = counts.get(reason, 0) + len(group.pods)
        return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))

    def data(self) -> dict[str, Any]:
        """Return it as JSON-shaped data."""
        return {
            "pending": sum(len(group.pods) for group in self.groups),
            "pods": self.pods,
            "reasons": [{"reason": reason, "pods": pods} for reason, pods in self.reasons().items()],
            "groups": [group.data() for group in self.groups],
        }


def pending(
    cluster: Cluster, namespace: str = "", *, fixes_max: int = FIXES_MAX, revision: int | None = None
) -> Pending:
    """Group the pods that wait (in one namespace), and search a change for the largest groups; also of a kept revision.

    Raises SchedlabError when the revision is not kept.
    """
    if revision is None:
        pods = cluster.informers.lister("pods").all_stored(namespace or None)
    else:
        pods = [pod for pod in cluster.past.objects(revision, "pods") if namespace in ("", pod.namespace)]
    alive = [stored for stored in pods if stored.view.status.phase not in _OVER]
    groups: dict[tuple[str, ...], Group] = {}
    seen: dict[str, tuple[dict[str, int], str]] = {}
    for stored in alive:
        if not waits(stored):
            continue
        reasons, message = _reasons(cluster, stored, revision, seen)
        group = groups.setdefault(tuple(sorted(reasons)) or (message,), Group({}, message))
        group.pods.append(stored)
        for reason, nodes in reasons.items():
            group.reasons[reason] = max(nodes, group.reasons.get(reason, 0))
    ranked = sorted(groups.values(), key=lambda group: -len(group.pods))
    if fixes_max:
        trials: dict[str, Trial] = {}
        for group in ranked[:fixes_max]:
            name = group.pods[0].view.spec.scheduler_name
            if name not in trials:
                trials[name] = Trial.of_name(cluster, name) if revision is None else Trial.at(cluster, revision, name)
            group.help = help_in(trials[name], group.pods[0])
    return Pending(tuple(ranked), len(alive))


def _reasons(
    cluster: Cluster, stored: StoredObject, revision: int | None, seen: dict[str, tuple[dict[str, int], str]]
) -> tuple[dict[str, int], str]:
    """Return why the newest attempt failed, by reason on how many nodes, and in words; equal words are read once.

    Of a revision, that is the newest one that had begun.
    """
    story = cluster.log.story(stored.uid)
    attempts = [] if story is None else story.until(revision)
    if not attempts:
        untried = why_untried(stored.key, stored.view, cluster.schedulers())
        return {}, _without_name(untried, stored)
    attempt = attempts[-1]
    message = attempt.head.failure_message
    if message not in seen:
        seen[message] = _reasons_of(attempt.cycle()), message
    return seen[message]


def _without_name(sentence: str, stored: StoredObject) -> str:
    """Return a sentence about a pod as one about any pod."""
    return sentence.replace(f"pod {stored.key} ", "", 1)


def _reasons_of(record: CycleRecord) -> dict[str, int]:
    status = record.pre_filter_status
    if status is not None:
        return {f"{status.plugin}: {status.message}": len(record.node_names)}
    return {} if record.filter is None else rejections(record.filter)
