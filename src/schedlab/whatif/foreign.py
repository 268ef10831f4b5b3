"""Pods that somebody else has placed: who it was, and what a scheduler of ours would have done with them then.

The pod is tried, without its node, on the objects of the revision before it was placed: by the scheduler that it names, if
that works here, else by the first profile of the cluster's own. Where that past is no longer kept it is tried on the
objects of now.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from schedlab.apimachinery.time import TimeError, format_micro_time, parse_time
from schedlab.decisions.explain import PodQuestion, explain
from schedlab.decisions.log import Attempt, PodStory
from schedlab.decisions.moments import JournalMoments
from schedlab.decisions.packing import Packer
from schedlab.decisions.schedulers import Placement, client_words
from schedlab.kernel.errors import SchedlabError
from schedlab.kernel.words import counted
from schedlab.scheduler.framework.types import PodInfo
from schedlab.whatif.trial import Trial, changed

if TYPE_CHECKING:
    from schedlab.api.object import Object, StoredObject
    from schedlab.cluster.cluster import Cluster

_EVERYTHING: Final = PodQuestion()


def explain_foreign(cluster: Cluster, namespace: str, name: str, question: PodQuestion = _EVERYTHING) -> dict[str, Any]:
    """Return what ours would have done as an explanation (decisions.explain), with `placedBy`.

    Raises SchedlabError when there is no such pod, it has no node, or a node of the question was not there.
    """
    stored = cluster.informers.lister("pods").stored(name, namespace)
    if stored is None or not stored.view.spec.node_name:
        raise SchedlabError(
            f"there is no pod {namespace}/{name} on a node", hint=f"see: kubectl get pods -n {namespace} -o wide"
        )
    placement, source = _placement(cluster, stored)
    trial, of_now = _trial(cluster, stored, placement.revision)
    moments = JournalMoments(trial.scheduler)
    record = trial.attempt(_unplaced(stored, trial))
    attempt = Attempt(*Packer().pack(record), record.pod)
    if not question.versus and record.selected not in ("", placement.node) and placement.node in record.node_names:
        question = replace(question, versus=placement.node)
    story = PodStory(stored.uid, namespace, name, [attempt])
    try:
        out = explain(story, question, moments)
    except LookupError as error:
        raise SchedlabError(str(error.args[0]), hint="name one of these nodes") from error
    cluster.explainer.add_present(out, namespace, name)
    out["placedBy"] = {**placement.as_json(), "source": source, "text": _who(placement, source)}
    out["answer"] = _shadow(out, placement.node, of_now=of_now)
    if placement.at_ns:
        out["time"] = format_micro_time(placement.at_ns)
    return out


# --- Who -------------------------------------------------------------------------------------------------------------


def _placement(cluster: Cluster, stored: StoredObject) -> tuple[Placement, str]:
    """Return who placed a pod, and what tells it: the request, an event, its managedFields, or nothing."""
    seen = cluster.outsiders.placement(stored.uid)
    if seen is not None:
        return seen, "request"
    node, revision = stored.view.spec.node_name, _revision(cluster, stored)
    manager = _creator(stored)
    if manager:
        created_ns = _time(stored.view.metadata.creation_timestamp)
        return Placement(node, "creation", manager, "", created_ns, revision), "managedFields"
    component, event_ns = _scheduled_event(cluster, stored)
    return Placement(node, "binding", component, "", event_ns, revision), "event" if component else ""


def _revision(cluster: Cluster, stored: StoredObject) -> int:
    """Return since which revision a pod has its node, 0 when that is longer than is kept."""
    for event in cluster.store.changes_of("pods", stored.key):
        before = event.previous
        if event.object.uid == stored.uid and event.object.view.spec.node_name:
            was_placed = before is not None and before.view.spec.node_name
            return 0 if was_placed else event.object.revision
    return 0


def _scheduled_event(cluster: Cluster, stored: StoredObject) -> tuple[str, int]:
    for event in cluster.registry.list("events", stored.namespace).items:
        raw = event.raw
        if raw.get("reason") == "Scheduled" and raw.get("involvedObject", {}).get("uid") == stored.uid:
            component = raw.get("reportingComponent") or raw.get("source", {}).get("component") or ""
            return str(component), _time(raw.get("eventTime") or raw.get("firstTimestamp"))
    return "", 0


def _creator(stored: StoredObject) -> str:
    """Return who has written the node into a pod's spec; a binding leaves no trace there."""
    for entry in stored.raw["metadata"].get("managedFields") or ():
        if "f:nodeName" in (entry.get("fieldsV1") or {}).get("f:spec", {}):
            return str(entry.get("manager", ""))
    return ""


def _time(text: str | None) -> int:
    try:
        return parse_time(text) if text else 0
    except TimeError:
        return 0


def _who(placement: Placement, source: str) -> str:
    who = client_words(placement.client, placement.user) if source else "somebody of whom nothing is known any more"
    told = {"event": " (its event says so)", "managedFields": " (the managers of its fields say so)"}.get(source, "")
    if placement.how == "creation":
        return f"made with {placement.node} in its spec by {who}{told}: no scheduler was asked"
    return f"bound to {placement.node} by {who}{told}"


# --- What ours would have done ---------------------------------------------------------------------------------------


def _trial(cluster: Cluster, stored: StoredObject, revision: int) -> tuple[Trial, bool]:
    """Return a trial on the state before a pod was placed, or on that of now, and whether it is of now."""
    name = stored.view.spec.scheduler_name
    if revision:
        try:
            return Trial.at(cluster, revision - 1, name, without=stored), False
        except SchedlabError:
            pass  # that past is no longer kept
    return Trial.at(cluster, cluster.store.durable_revision, name, without=stored), True


def _unplaced(stored: StoredObject, trial: Trial) -> PodInfo:
    """Return a pod as it was before it was placed; one of an unknown scheduler asks for the first that there is."""
    profiles = trial.scheduler.profiles

    def undo(pod: Object) -> None:
        pod["spec"].pop("nodeName", None)
        pod["status"] = {"phase": "Pending"}
        if pod["spec"].get("schedulerName") not in profiles:
            pod["spec"]["schedulerName"] = next(iter(profiles))

    before = changed(stored, undo)
    return PodInfo(before.view, before)


def _shadow(out: dict[str, Any], node: str, *, of_now: bool) -> str:
    state = "on the state of now (that of then is no longer kept)" if of_now else "on the same state"
    who, chosen = out["scheduler"], out["selected"]
    if chosen == node:
        return f"The scheduler {who} of ours would have chosen the same node {state}."
    entry = next((entry for entry in out["nodes"] if entry["node"] == node), None)
    against = "" if entry is None else _against(entry, out, node)
    if not chosen:
        return f"The scheduler {who} of ours would have put it nowhere {state}{against}. {out['answer']}"
    return f"The scheduler {who} of ours would have chosen {chosen} {state}{against}."


def _against(entry: dict[str, Any], out: dict[str, Any], node: str) -> str:
    """Say what speaks against the node that was taken."""
    failed = [f"{plugin}: {text}" for plugin, text in entry["plugins"].items() if text != "passed"]
    if failed:
        return f"; {node} is turned down ({'; '.join(failed)})"
    if entry["verdict"] == "notVisited":
        return f"; {node} is not looked at: enough nodes were found before"
    versus = out.get("versus") or {}
    if "margin" not in versus:
        return ""
    points = [f"{plugin} {value:+d}" for plugin, value in versus["byPlugin"].items() if value]
    if not versus["margin"]:
        return f"; {node} is as good"
    return f", which is {counted(versus['margin'], 'point')} better than {node} ({', '.join(points)})"
