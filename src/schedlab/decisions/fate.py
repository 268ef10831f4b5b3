"""What has become of a pod: it waits, runs, is going or gone, and on whose account."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from schedlab.apimachinery.time import format_micro_time, parse_time

if TYPE_CHECKING:
    from schedlab.api.views.core import Pod
    from schedlab.decisions.log import PodStory, Preempted

_DISRUPTION_TARGET: Final = "DisruptionTarget"


def fate(story: PodStory, pod: Pod | None, preempted: Preempted | None) -> dict[str, Any]:
    """Return the state of the pod of a story; `pod` and `preempted` are of the one that had its name last."""
    replaced = pod is not None and pod.metadata.uid != story.uid
    if preempted is not None and preempted.at_ns < _began_ns(story, None if replaced else pod):
        # An earlier pod of this name had to go.
        preempted = None
    if pod is None or replaced:
        out: dict[str, Any] = {"state": "deleted", "text": f"The pod has been deleted{_why(None, preempted)}."}
        if replaced:
            out["text"] += " Another pod has its name now."
    elif pod.metadata.deletion_timestamp is not None:
        out = {"state": "terminating", "text": f"The pod is being deleted{_why(pod, preempted)}."}
    else:
        state = "bound" if pod.spec.node_name else "pending"
        nominated = pod.status.nominated_node_name
        out = {"state": state, "text": f"The pod is nominated to {nominated}." if nominated else ""}
    if preempted is not None and out["state"] != "pending":
        out["preemptedBy"] = {
            "pod": preempted.by,
            "attempt": preempted.attempt,
            "node": preempted.node,
            "time": format_micro_time(preempted.at_ns),
        }
    return out


def _began_ns(story: PodStory, pod: Pod | None) -> int:
    """Return when something was first heard of the pod."""
    heard_of = [move.at_ns for move in story.moves[:1]]
    heard_of += [attempt.started_ns for attempt in story.attempts[:1]]
    if not heard_of and pod is not None and pod.metadata.creation_timestamp:
        heard_of.append(parse_time(pod.metadata.creation_timestamp))
    return min(heard_of, default=0)


def _why(pod: Pod | None, preempted: Preempted | None) -> str:
    if preempted is not None:
        return f": preempted for pod {preempted.by} (attempt {preempted.attempt}) on {preempted.node}"
    condition = None if pod is None else pod.status.condition(_DISRUPTION_TARGET)
    if condition is not None and condition.status == "True":
        return f": {condition.reason}{f', {condition.message}' if condition.message else ''}"
    return ""
