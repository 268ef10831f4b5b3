"""What would help a pod that is not scheduled: the smallest changes of each kind that let it be, cheapest first.

Every suggestion was tried with the real scheduling cycle on a fork and names the node that the pod then goes to. No
smaller change of the same kind works.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from schedlab.decisions.explain import pick
from schedlab.decisions.log import PodStory
from schedlab.kernel.errors import SchedlabError
from schedlab.whatif.search import (
    affinity,
    combinations,
    devices,
    evictions,
    labels,
    new_nodes,
    ports,
    priorities,
    requests,
    spreading,
    taints,
    volumes,
)
from schedlab.whatif.search.case import Case
from schedlab.whatif.search.edits import Edit, Suggestion
from schedlab.whatif.search.pod_changes import changes_of
from schedlab.whatif.state import state_at
from schedlab.whatif.trial import Trial, changed, waits

if TYPE_CHECKING:
    from schedlab.api.object import Object, StoredObject
    from schedlab.cluster.cluster import Cluster

Search: TypeAlias = Callable[[Case], Iterator[Suggestion]]

#: Every kind of single change that is looked for.
SEARCHES: Final[tuple[Search, ...]] = (
    taints.suggest_uncordon,
    taints.suggest,
    labels.suggest,
    requests.suggest,
    spreading.suggest,
    ports.suggest,
    devices.suggest,
    affinity.suggest,
    priorities.suggest,
    evictions.suggest,
    volumes.suggest,
    new_nodes.suggest,
)
_GATE_COST: Final = 5
_SCHEDULER_COST: Final = 15
_WAITING: Final = {
    "active": "is tried next",
    "backoff": "waits for its backoff to end",
    "unschedulable": "waits for an event",
}


@dataclass(frozen=True, slots=True)
class Help:
    """The answer for one pod.

    message: why it is not scheduled now, or that nothing keeps it from that. fits: whether a cycle would find it a node as
    it is. attempts: how many were tried.
    """

    pod: str
    message: str
    suggestions: tuple[Suggestion, ...]
    attempts: int
    fits: bool = False

    def data(self) -> dict[str, Any]:
        """Return the answer as JSON-shaped data."""
        return {
            "pod": self.pod,
            "message": self.message,
            "fits": self.fits,
            "suggestions": [suggestion.data() for suggestion in self.suggestions],
            "attempts": self.attempts,
        }


def what_would_help(cluster: Cluster, namespace: str, name: str, *, attempt: int | None = None) -> Help:
    """Search the changes that would let a pod be scheduled now, or would have at a recorded attempt.

    Raises SchedlabError when there is no such pod, it is bound, or that moment is no longer kept.
    """
    if attempt is not None:
        return help_in(*_past(cluster, namespace, name, attempt))
    stored = cluster.informers.lister("pods").stored(name, namespace)
    if stored is None:
        raise SchedlabError(f"there is no pod {namespace}/{name}", hint=f"see: kubectl get pods -n {namespace}")
    if stored.view.spec.node_name:
        raise SchedlabError(
            f"pod {namespace}/{name} is on node {stored.view.spec.node_name} already",
            hint=f"why it is there: schedlab explain pod/{name} -n {namespace}",
        )
    if not waits(stored):
        raise SchedlabError(
            f"pod {namespace}/{name} is {'being deleted' if stored.view.metadata.deletion_timestamp else 'over'}: "
            "no scheduler tries it any more",
            hint=f"what would have helped: schedlab explain pod/{name} -n {namespace} --what-would-help --attempt 1",
        )
    return help_in(Trial.of_name(cluster, stored.view.spec.scheduler_name), stored)


def _past(cluster: Cluster, namespace: str, name: str, attempt: int) -> tuple[Trial, StoredObject]:
    story = cluster.log.find(namespace, name)
    try:
        found = pick(story or PodStory("", namespace, name), attempt)
    except LookupError:
        raise SchedlabError(
            f"no attempt {attempt} of pod {namespace}/{name} is recorded",
            hint=f"see: schedlab explain pod/{name} -n {namespace}",
        ) from None
    record = found.cycle()
    if record.selected:
        raise SchedlabError(
            f"attempt {attempt} of pod {namespace}/{name} found node {record.selected}",
            hint="ask about an attempt that failed",
        )
    if found.by:
        # Its journal is not kept; what it saw was what the API had, but for pods that were on their way.
        trial = Trial.at(cluster, record.revision, record.profile)
        stored = trial.listers.lister("pods").stored(name, namespace)
        if stored is None or record.profile not in trial.scheduler.profiles:
            raise SchedlabError(
                f"{found.by}, which has made attempt {attempt}, is not here any more",
                hint="ask about now: leave --attempt out",
            )
        return trial, stored
    state = state_at(cluster, record)
    assert state.pod.stored is not None, "the pod was stored when it was tried"
    return state.trial(), state.pod.stored


def help_in(trial: Trial, stored: StoredObject) -> Help:
    """Search on a trial for a pod that is not bound."""
    original = stored
    if trial.elsewhere:
        stored = changed(stored, partial(_set_scheduler, _profile_for(trial, stored)))
    needed = _before_any_cycle(trial, stored)
    for edit in needed:
        if edit.pod is not None:
            stored = changed(stored, edit.pod)
    case = Case(trial, stored)
    if case.fits:
        return _that_fits(trial, case, original, needed)
    found = [suggestion for search in SEARCHES for suggestion in search(case)]
    if not found:
        found = list(combinations.suggest(case))
    suggestions = [
        _finished(trial, original, suggestion, needed) for suggestion in sorted(found, key=lambda one: one.cost)
    ]
    message = case.record.failure_message
    if trial.elsewhere:
        known = case.record.profile
        message += f" (tried as a pod of {known}: what its scheduler thinks is not known here, {trial.elsewhere})"
    return Help(stored.key, message, tuple(suggestions), trial.attempts)


def _that_fits(trial: Trial, case: Case, stored: StoredObject, needed: Sequence[Edit]) -> Help:
    node = case.record.selected
    if needed:
        suggestion = Suggestion((), node)
        message = f"the pod fits on node {node}, but {' and '.join(_hindrances(needed))}"
        return Help(stored.key, message, (_finished(trial, stored, suggestion, needed),), trial.attempts, fits=True)
    if trial.elsewhere:
        message = f"a pod of {case.record.profile} like it fits on node {node}; its scheduler is {trial.elsewhere}"
        return Help(stored.key, message, (), trial.attempts, fits=True)
    if trial.idle:
        message = f"the pod fits on node {node}, but its scheduler does not work: {trial.idle}"
        return Help(stored.key, message, (), trial.attempts, fits=True)
    queued = trial.scheduler.queue.contents()
    places = {"active": queued.active, "backoff": queued.backoff, "unschedulable": queued.unschedulable}
    waits = next((_WAITING[place] for place, keys in places.items() if stored.key in keys), "is being tried")
    message = f"nothing has to change: the pod fits on node {node} now and {waits}"
    return Help(stored.key, message, (), trial.attempts, fits=True)


def _finished(trial: Trial, stored: StoredObject, suggestion: Suggestion, needed: Sequence[Edit]) -> Suggestion:
    edits = (*needed, *suggestion.edits)
    return replace(suggestion, edits=edits, changes=changes_of(stored, edits, trial.listers))


# --- What keeps a pod from being tried at all ------------------------------------------------------------------------


def _before_any_cycle(trial: Trial, stored: StoredObject) -> list[Edit]:
    """Return what has to change before any scheduler of the cluster looks at the pod."""
    spec = stored.view.spec
    edits = []
    if spec.scheduler_name not in trial.scheduler.profiles:
        known = _profile_for(trial, stored)
        summary = f"schedulerName {known} instead of {spec.scheduler_name}"
        edits.append(
            Edit(
                "scheduler-name",
                summary,
                _SCHEDULER_COST,
                pod=partial(_set_scheduler, known),
                details={"from": spec.scheduler_name, "to": known},
            )
        )
    if spec.scheduling_gates:
        names = [gate.name for gate in spec.scheduling_gates]
        edits.append(
            Edit(
                "scheduling-gate",
                f"remove the scheduling gate {' and '.join(names)}",
                _GATE_COST,
                pod=_open_gates,
                in_place=True,
                details={"gates": names},
            )
        )
    return edits


def _profile_for(trial: Trial, stored: StoredObject) -> str:
    """Return the profile that a pod asks for, the first one where there is none."""
    profiles, wanted = trial.scheduler.profiles, stored.view.spec.scheduler_name
    return wanted if wanted in profiles else next(iter(profiles))


def _hindrances(edits: Sequence[Edit]) -> list[str]:
    texts = {
        "scheduler-name": "no scheduler of this cluster has the name it asks for",
        "scheduling-gate": "it is gated",
    }
    return [texts[edit.kind] for edit in edits]


def _set_scheduler(name: str, pod: Object) -> None:
    pod["spec"]["schedulerName"] = name


def _open_gates(pod: Object) -> None:
    pod["spec"].pop("schedulingGates", None)
