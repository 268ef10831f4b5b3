"""Parts of written cases: objects as a user would write them, steps, and what kube-scheduler answers to them.

A case is in the format of the recorded ones (the README of the data), with one more field: `upstream` names the file and
function of kube-scheduler 1.36 that the expected values were worked out from. Only what every case has alike is filled
in here (the plugins of a profile, the plugins that have nothing to do with a pod); numbers, texts, verdicts and hints are
written in the case.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from schedlab.testing.builders import PodBuilder

Json = dict[str, Any]

QUEUE: Final = "Queue"
SKIP: Final = "QueueSkip"

#: What DynamicResources says after filtering of a pod without claims, and of one whose claims are not in the way.
NO_CLAIMS: Final = "no new claims to deallocate"
STILL: Final = "still not schedulable"
HELPLESS: Final = "Preemption is not helpful for scheduling."
NO_VICTIMS: Final = "No preemption victims found for incoming pod."

_SCHEDULER: Final = "default-scheduler"
_CONFIG_VERSION: Final = "kubescheduler.config.k8s.io/v1"
_SUCCESS: Final = {"code": "Success", "status": "success"}
#: The default plugins of each extension point, in order (pkg/scheduler/apis/config/v1/default_plugins.go).
_DEFAULT_POINTS: Final[Mapping[str, Sequence[str]]] = {
    "queueSort": ("PrioritySort",),
    "preEnqueue": ("SchedulingGates", "DynamicResources", "DefaultPreemption"),
    "preFilter": (
        "NodeAffinity",
        "NodePorts",
        "NodeResourcesFit",
        "VolumeRestrictions",
        "NodeVolumeLimits",
        "VolumeBinding",
        "VolumeZone",
        "PodTopologySpread",
        "InterPodAffinity",
        "DynamicResources",
        "NodeDeclaredFeatures",
    ),
    "filter": (
        "NodeUnschedulable",
        "NodeName",
        "TaintToleration",
        "NodeAffinity",
        "NodePorts",
        "NodeResourcesFit",
        "VolumeRestrictions",
        "NodeVolumeLimits",
        "VolumeBinding",
        "VolumeZone",
        "PodTopologySpread",
        "InterPodAffinity",
        "DynamicResources",
        "NodeDeclaredFeatures",
    ),
    "postFilter": ("DynamicResources", "DefaultPreemption"),
    "preScore": (
        "TaintToleration",
        "NodeAffinity",
        "NodeResourcesFit",
        "VolumeBinding",
        "PodTopologySpread",
        "InterPodAffinity",
        "NodeResourcesBalancedAllocation",
    ),
    "score": (
        "TaintToleration",
        "NodeAffinity",
        "NodeResourcesFit",
        "VolumeBinding",
        "PodTopologySpread",
        "InterPodAffinity",
        "DynamicResources",
        "NodeResourcesBalancedAllocation",
        "ImageLocality",
    ),
    "reserve": ("VolumeBinding", "DynamicResources"),
    "permit": (),
    "preBind": ("VolumeBinding", "DynamicResources"),
    "bind": ("DefaultBinder",),
    "postBind": (),
}
_DEFAULT_WEIGHTS: Final = {
    "TaintToleration": 3,
    "NodeAffinity": 2,
    "PodTopologySpread": 2,
    "InterPodAffinity": 2,
    "DynamicResources": 2,
}


@dataclass(frozen=True)
class Step:
    """A step of a case and what is expected of it."""

    given: Json
    expected: Json


@dataclass(frozen=True)
class Profile:
    """A configuration of the scheduler, and the plugins that run under it at each point."""

    config: Json | None
    points: Mapping[str, Sequence[str]]
    weights: Mapping[str, int]

    def expected(self) -> Json:
        """Return what a case expects of the profile."""
        score = [{"name": name, "weight": self.weights.get(name, 1)} for name in self.points["score"]]
        return {_SCHEDULER: {**{point: list(names) for point, names in self.points.items()}, "score": score}}


DEFAULT: Final = Profile(None, _DEFAULT_POINTS, _DEFAULT_WEIGHTS)


def with_args(plugin: str, **args: Any) -> Profile:
    """The default plugins, one of them with arguments."""
    return Profile(_configuration({"pluginConfig": [_plugin_config(plugin, args)]}), _DEFAULT_POINTS, _DEFAULT_WEIGHTS)


def only(plugin: str, *without: str, **args: Any) -> Profile:
    """Nothing but the queue's order, the binding and one plugin, with arguments; every weight is 1.

    without: points at which the plugin is not to run.
    """
    kept = ("PrioritySort", "DefaultBinder", plugin)
    enabled = {"disabled": [{"name": "*"}], "enabled": [{"name": name} for name in kept]}
    disabled = {point: {"disabled": [{"name": plugin}]} for point in without}
    profile: Json = {"plugins": {"multiPoint": enabled, **disabled}}
    if args:
        profile["pluginConfig"] = [_plugin_config(plugin, args)]
    points = {point: tuple(name for name in names if name in kept) for point, names in _DEFAULT_POINTS.items()}
    return Profile(_configuration(profile), points | dict.fromkeys(without, ()), {})


def with_gangs() -> Profile:
    """The default plugins with the gates GenericWorkload and GangScheduling."""
    gangs = {point: (*_DEFAULT_POINTS[point], "GangScheduling") for point in ("preEnqueue", "permit")}
    return Profile(None, {**_DEFAULT_POINTS, **gangs}, _DEFAULT_WEIGHTS)


def _configuration(profile: Json) -> Json:
    head = {"apiVersion": _CONFIG_VERSION, "kind": "KubeSchedulerConfiguration"}
    return {**head, "profiles": [{"schedulerName": _SCHEDULER, **profile}]}


def _plugin_config(plugin: str, args: Json) -> Json:
    return {"name": plugin, "args": {"apiVersion": _CONFIG_VERSION, "kind": f"{plugin}Args", **args}}


def case(
    name: str,
    upstream: str,
    objects: Sequence[Json],
    steps: Sequence[Step],
    *,
    profile: Profile = DEFAULT,
    nodes: Sequence[str] = ("n1",),
    gates: Mapping[str, bool] | None = None,
) -> Json:
    """Return a case; a queue case if its first step is one. `nodes`: in the scheduler's order, at the start."""
    options: Json = {"featureGates": dict(gates)} if gates else {}
    if "queue" in steps[0].expected:
        options["queue"] = True
    return {
        "name": f"written/{name}",
        "upstream": upstream,
        "config": profile.config,
        "options": options,
        "objects": list(objects),
        "steps": [step.given for step in steps],
        "expected": {
            "profiles": profile.expected(),
            "nodeOrder": list(nodes),
            "steps": [step.expected for step in steps],
        },
    }


# --- Queue cases ---


def waits(pod: PodBuilder, message: str, *plugins: str, own: Mapping[str, str] | None = None) -> list[Step]:
    """The pod is created and tried once, and waits for what these plugins could gain from.

    Its condition is the first thing that changes; own: what hints say to that, by plugin.
    """
    key = key_of(pod)
    attempt = {
        **_attempt(key, "unschedulable", _failed(message), _failed_event(message)),
        "attempts": 1,
        "feasible": [],
        "unschedulablePlugins": sorted(plugins),
    }
    tried = happens({"schedule": 1}, pod, {"UnschedulablePodUpdate": own or {}})
    return [
        Step({"create": pod.dict()}, {"op": "create", "pod": key, "queue": _queue(active=[key])}),
        Step(tried.given, {**tried.expected, "op": "schedule", "scheduled": [attempt]}),
    ]


def gated(pod: PodBuilder, plugin: str, text: str, *, own: Mapping[str, str] | None = None) -> Step:
    """The pod is created, and a plugin keeps it out of the queue.

    own: what hints say to the pod's own coming, by plugin; then it is tried again, with the same end.
    """
    key = key_of(pod)
    refusal = {"pod": key, "plugin": plugin, "status": text}
    expected: Json = {"op": "create", "pod": key, "preEnqueue": [refusal], "queue": _queue(gated=[key])}
    if own:
        tried = happens({}, pod, {"UnschedulablePodAdd": own}, to="gated").expected
        expected = {**tried, **expected, "preEnqueue": [refusal, refusal]}
    return Step({"create": pod.dict()}, expected)


def happens(
    change: Json,
    pod: PodBuilder,
    events: Mapping[str, Mapping[str, str]],
    *,
    stays: str = "unschedulable",
    to: str = "backoff",
) -> Step:
    """An object changes, which is these events: by plugin, what its hint says to the pod that waits.

    The pod stays among the unschedulable ones until a hint is Queue, which moves it to the backoff queue; or where and
    to where it is said.
    """
    key = key_of(pod)
    hints, requeue, is_waiting = [], [], True
    for event, answers in events.items():
        hints += [{"pod": key, "event": event, "plugin": name, "hint": answers[name]} for name in sorted(answers)]
        is_waiting = QUEUE not in answers.values()
        requeue.append({"pod": key, "event": event, "strategy": "Skip" if is_waiting else "AfterBackoff"})
    queue = _queue(**{stays if is_waiting else to: [key]})
    expected: Json = {"op": "mutate", "queue": queue}
    return Step(change, expected | ({"hints": hints} if hints else {}) | ({"requeue": requeue} if requeue else {}))


def places(pod: PodBuilder, node: str, *noted: Json, beside: Sequence[str] = ()) -> list[Step]:
    """The pod is created and placed: see placed."""
    key = key_of(pod)
    created = Step({"create": pod.dict()}, {"op": "create", "pod": key, "queue": _queue(active=[key])})
    return [created, placed(pod, node, *noted, beside=beside)]


def placed(pod: PodBuilder, node: str, *noted: Json, beside: Sequence[str] = ()) -> Step:
    """The pod, the only one that waits to be tried, goes to the first of the feasible nodes.

    noted: other events before that. beside: nodes that are as good.
    """
    key, nodes = key_of(pod), [node, *beside]
    attempt = {
        **_attempt(key, "scheduled", {"status": "True"}, *noted, _scheduled_event(key, node)),
        "attempts": 1,
        "feasible": nodes,
        "selected": node,
        "top": nodes,
    }
    return Step({"schedule": 1}, {"op": "schedule", "scheduled": [attempt], "queue": _queue()})


def preempts(
    pod: PodBuilder, message: str, *plugins: str, node: str, victim: str, deleted: Mapping[str, str]
) -> list[Step]:
    """The pod is created and has another one evicted; deleted: what hints say to that one's end, by plugin."""
    key = key_of(pod)
    evicted = {
        "type": "Normal",
        "reason": "Preempted",
        "action": "Preempting",
        "note": f"Preempted by pod uid-{key} on node {node}",
        "regarding": victim,
        "related": key,
    }
    attempt = {
        **_attempt(key, "unschedulable", _failed(message), evicted, _failed_event(message)),
        "attempts": 1,
        "feasible": [],
        "nominated": node,
        "victims": [victim],
        "unschedulablePlugins": sorted(plugins),
    }
    # The victim gets a condition, then it is gone.
    tried = happens({"schedule": 1}, pod, {"AssignedPodUpdate": {}, "AssignedPodDelete": deleted})
    return [
        Step({"create": pod.dict()}, {"op": "create", "pod": key, "queue": _queue(active=[key])}),
        Step(tried.given, {**tried.expected, "op": "schedule", "scheduled": [attempt]}),
    ]


def unnoticed(change: Json) -> Step:
    """An object changes while no pod waits."""
    return Step(change, {"op": "mutate", "queue": _queue()})


def apply(manifest: Json) -> Json:
    """Create or replace an object."""
    return {"apply": manifest}


def delete(manifest: Json) -> Json:
    """Delete an object."""
    metadata = manifest["metadata"]
    place = {key: metadata[key] for key in ("namespace", "name") if key in metadata}
    return {"delete": {"apiVersion": manifest["apiVersion"], "kind": manifest["kind"], **place}}


def unavailable(reasons: str, preemption: str, *, nodes: int = 1, claims: str = NO_CLAIMS) -> str:
    """The message of a pod that fits no node: why, what its resource claims could change, and what preemption says."""
    head = f"0/{nodes} nodes are available:"
    return f"{head} {reasons}. {claims}, preemption: {head} {preemption}"


# --- Ordinary cases ---


def chosen(
    pod: PodBuilder,
    profile: Profile,
    raw: Mapping[str, Mapping[str, int]],
    *,
    selected: str,
    final: Mapping[str, Mapping[str, int]] | None = None,
    skips: Sequence[str] = (),
) -> Step:
    """The pod is created and placed; every node is feasible.

    raw, final: scores by node, in order, and plugin; final ones as raw, unless given. skips: points that the profile's
    plugin has nothing to do at for this pod.
    """
    key, nodes = key_of(pod), list(raw)
    filters = () if "preFilter" in skips else profile.points["filter"]
    final = raw if final is None else final
    total = {node: sum(scores.values()) for node, scores in final.items()}
    return Step(
        {"create": pod.dict()},
        {
            **_attempt(key, "scheduled", {"status": "True"}, _scheduled_event(key, selected)),
            "start": 0,
            "nextStart": 0,
            "prefilter": _phases(profile, "preFilter", skips),
            "prefilterResult": _SUCCESS,
            "nodeStatus": {},
            **({"evaluated": nodes} if filters else {}),
            "passedFilters": nodes,
            "feasible": nodes,
            "filter": {node: dict.fromkeys(filters, "passed") for node in nodes} if filters else {},
            **({"prescore": _phases(profile, "preScore", skips)} if profile.points["preScore"] else {}),
            "score": raw,
            "final": final,
            "total": total,
            "top": sorted(node for node in nodes if total[node] == max(total.values())),
            "selected": selected,
            **({"reserve": dict.fromkeys(profile.points["reserve"], "success")} if profile.points["reserve"] else {}),
            "bind": {"DefaultBinder": "success"},
        },
    )


def sole(pod: PodBuilder, profile: Profile, *, prebind: Sequence[str] = (), **more: Any) -> Step:
    """The pod is created and goes to the only node, n1, without any scoring.

    prebind: plugins that have work to do before the binding. more: other fields of the entry.
    """
    key, nodes = key_of(pod), ["n1"]
    success = "success"
    return Step(
        {"create": pod.dict()},
        {
            **_attempt(key, "scheduled", {"status": "True"}, _scheduled_event(key, "n1")),
            "start": 0,
            "nextStart": 0,
            "prefilter": _phases(profile, "preFilter", ()),
            "prefilterResult": _SUCCESS,
            "nodeStatus": {},
            "evaluated": nodes,
            "passedFilters": nodes,
            "feasible": nodes,
            "filter": {"n1": dict.fromkeys(profile.points["filter"], "passed")},
            "top": nodes,
            "selected": "n1",
            "reserve": dict.fromkeys(profile.points["reserve"], success),
            "prebind": dict.fromkeys(prebind, success),
            "bind": {"DefaultBinder": success},
            **more,
        },
    )


def refused(
    pod: PodBuilder, profile: Profile, reason: str, after_filter: str, *, objects_after: Sequence[Json] = ()
) -> Step:
    """The pod is created, and the profile's only plugin turns the only node n1 down for good.

    after_filter: what its PostFilter says. objects_after: what was written.
    """
    key, plugin = key_of(pod), profile.points["filter"][0]
    code, message = "UnschedulableAndUnresolvable", f"0/1 nodes are available: 1 {reason}. {after_filter}"
    condition = _failed(message)
    expected = {
        **_attempt(key, "unschedulable", condition, _failed_event(message)),
        "start": 0,
        "nextStart": 0,
        "prefilter": {plugin: _SUCCESS},
        "prefilterResult": _SUCCESS,
        "nodeStatus": {"n1": code},
        "evaluated": ["n1"],
        "failed": {"n1": {"plugin": plugin, "code": code, "reasons": [reason]}},
        "passedFilters": [],
        "feasible": [],
        "filter": {"n1": {plugin: reason}},
        "postfilter": {plugin: {"code": "Unschedulable", "status": after_filter}},
        "failure": {"reason": "Unschedulable", "message": message},
        "unschedulablePlugins": [plugin],
        "statusPatches": [{"pod": key, "conditions": [{"type": "PodScheduled", **condition}]}],
    }
    return Step({"create": pod.dict()}, expected | ({"objectsAfter": list(objects_after)} if objects_after else {}))


def changes(change: Json, *nodes: str) -> Step:
    """An object changes; nodes: all of them, in the scheduler's order."""
    return Step(change, {"op": "mutate", "nodeOrder": list(nodes)})


def _phases(profile: Profile, point: str, skips: Sequence[str]) -> Json:
    phase = {"code": "Skip", "status": ""} if point in skips else _SUCCESS
    return dict.fromkeys(profile.points[point], phase)


# --- What both have ---


def key_of(pod: PodBuilder) -> str:
    """Return the pod's namespace/name."""
    return f"{pod.get('metadata.namespace')}/{pod.get('metadata.name')}"


def _attempt(key: str, result: str, condition: Json, *events: Json) -> Json:
    about = {"regarding": key, "reportingController": _SCHEDULER}
    told = [{**about, **event} for event in events]
    return {"pod": key, "profile": _SCHEDULER, "result": result, "condition": condition, "events": told}


def _failed(message: str) -> Json:
    return {"status": "False", "reason": "Unschedulable", "message": message}


def _failed_event(message: str) -> Json:
    return {"type": "Warning", "reason": "FailedScheduling", "action": "Scheduling", "note": message}


def _scheduled_event(key: str, node: str) -> Json:
    note = f"Successfully assigned {key} to {node}"
    return {"type": "Normal", "reason": "Scheduled", "action": "Binding", "note": note}


def _queue(**pods: Sequence[str]) -> Json:
    return {"active": [], "backoff": [], "unschedulable": [], "gated": [], **pods}
