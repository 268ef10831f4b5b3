"""A higher priority: the lowest class with which the pod may take the place of others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from schedlab.api.object import Object
from schedlab.whatif.search.edits import Edit, Suggestion
from schedlab.whatif.search.victims import Victims, fates
from schedlab.whatif.trial import changed, pod_of

if TYPE_CHECKING:
    from schedlab.scheduler.framework.record import CycleRecord
    from schedlab.scheduler.framework.types import PodInfo
    from schedlab.whatif.search.case import Case

_CLASSES: Final = "priorityclasses.scheduling.k8s.io"
_PLUGIN: Final = "DefaultPreemption"
_COST: Final = 60
_COST_OF_VICTIM: Final = 5
_SYSTEM: Final = "system-"


def suggest(case: Case) -> Iterator[Suggestion]:
    """Yield the lowest priority class with which preemption finds victims, and who they are."""
    own = case.pod.priority
    classes = sorted(
        (each.value, each.metadata.name, each.preemption_policy)
        for each in case.trial.listers.lister(_CLASSES).list()
        if each.value > own and each.preemption_policy != "Never" and not each.metadata.name.startswith(_SYSTEM)
    )
    if not classes:
        return
    low, high = -1, len(classes) - 1
    found = _preempts(case, *classes[high][:2])
    if found is None:
        return
    while high - low > 1:
        middle = (low + high) // 2
        better = _preempts(case, *classes[middle][:2])
        if better is None:
            low = middle
        else:
            high, found = middle, better
    promised, pods = found
    edit = raise_priority(*classes[high][:2], promised)
    edits = [edit, Edit("", "", 0, evicted=pods)]
    node = case.land(edits)
    if node:
        yield Suggestion((_with_victims(edit, fates(case, edits, node, pods)),), node)


def _preempts(case: Case, value: int, name: str) -> tuple[str, tuple[PodInfo, ...]] | None:
    """Return the node and the victims that the pod gets with a priority, if any."""
    pod = pod_of(changed(case.stored, partial(_set_priority, value, name, "")))
    record = case.trial.attempt(pod, makes_room=True)
    node = nominated(record)
    if not node or record.preemption is None:
        return None
    candidate = next(one for one in record.preemption.candidates if one.node == node)
    info = case.trial.scheduler.cache.node_info(node)
    assert info is not None
    return node, tuple(pod for pod in info.pods if pod.key in candidate.victims)


def nominated(record: CycleRecord) -> str:
    """Return the node that preemption promises the pod, or nothing."""
    _, node, _ = record.post_filter.get(_PLUGIN, (None, None, False))
    return node or ""


def raise_priority(value: int, name: str, node: str) -> Edit:
    """Return the edit that gives the pod a priority class."""
    return Edit(
        "priority",
        f"priority class {name}",
        _COST,
        pod=partial(_set_priority, value, name, node),
        details={"priorityClassName": name, "value": value},
    )


def _with_victims(edit: Edit, victims: Victims) -> Edit:
    """Return the same with what it costs those whom it evicts, and says of them."""
    return replace(
        edit,
        summary=f"{edit.summary}; that evicts {victims.text}",
        cost=edit.cost + _COST_OF_VICTIM * len(victims.keys) + victims.cost,
        details={**edit.details, "victims": list(victims.keys), **victims.details},
    )


def _set_priority(value: int, name: str, node: str, pod: Object) -> None:
    pod["spec"].update(priority=value, priorityClassName=name, preemptionPolicy="PreemptLowerPriority")
    if node and "status" in pod:
        # What preemption promises is tried before all other nodes.
        pod["status"]["nominatedNodeName"] = node
