"""Where the pods of a DaemonSet belong, and how their templates say so.

Mirrors: NodeShouldRunDaemonPod of pkg/controller/daemon/daemon_controller.go, pkg/controller/daemon/util (v1.36).
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import msgspec

from schedlab.api.object import Object, StoredObject
from schedlab.api.rules.node_affinity import required_node_affinity
from schedlab.api.rules.taints import NO_EXECUTE, find_untolerated
from schedlab.api.views.core import Node, Pod
from schedlab.controllers.framework.revisions import REVISION_HASH

_GENERATION_ANNOTATION: Final = "deprecated.daemonset.template.generation"
_GENERATION_LABEL: Final = "pod-template-generation"
_NAME_FIELD: Final = "metadata.name"

#: Taints of trouble that a daemon has to live with, and their effects.
_ENDURED: Final = (
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
)
_ENDURED_ON_HOST_NETWORK: Final = ("node.kubernetes.io/network-unavailable", "NoSchedule")


class Verdict(NamedTuple):
    """Whether a node should get a pod, and whether one that is there may stay."""

    should_run: bool
    may_stay: bool


class Placement:
    """What one version of a DaemonSet asks of nodes."""

    def __init__(self, daemons: StoredObject, *, comparison: bool) -> None:
        template: Object = {**daemons.raw["spec"]["template"]}
        template["spec"] = with_endurance(template.get("spec") or {})
        pod = msgspec.convert({"metadata": template.get("metadata") or {}, "spec": template["spec"]}, Pod)
        self._node_name = pod.spec.node_name
        self._tolerations = pod.spec.tolerations
        self._affinity = required_node_affinity(pod)
        self._comparison = comparison

    def judge(self, node: Node) -> Verdict:
        """Decide on one node."""
        if self._node_name not in ("", node.metadata.name) or not self._affinity.matches(node):
            return Verdict(should_run=False, may_stay=False)
        taints = node.spec.taints
        if find_untolerated(taints, self._tolerations, comparison=self._comparison) is None:
            return Verdict(should_run=True, may_stay=True)
        evicting = find_untolerated(taints, self._tolerations, (NO_EXECUTE,), comparison=self._comparison)
        return Verdict(should_run=False, may_stay=evicting is None)


def with_endurance(spec: Mapping[str, Any]) -> Object:
    """Return a pod spec with the tolerations that daemons have."""
    tolerations = list(spec.get("tolerations") or ())
    endured = (*_ENDURED, _ENDURED_ON_HOST_NETWORK) if spec.get("hostNetwork") else _ENDURED
    for key, effect in endured:
        new = {"key": key, "operator": "Exists", "effect": effect}
        same = [_same_taint(each, new) for each in tolerations]
        if any(same):
            tolerations = [new if found else each for each, found in zip(tolerations, same, strict=True)]
        else:
            tolerations.append(new)
    return {**spec, "tolerations": tolerations}


def _same_taint(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return all(one.get(key, "") == other.get(key, "") for key in ("key", "operator", "effect", "value"))


def daemon_template(daemons: StoredObject, code: str) -> Object:
    """Return the template of pods of a revision."""
    template: Object = daemons.raw["spec"]["template"]
    metadata = template.get("metadata") or {}
    labels = dict(metadata.get("labels") or {})
    generation = template_generation(daemons)
    if generation is not None:
        labels[_GENERATION_LABEL] = generation
    labels[REVISION_HASH] = code
    spec = with_endurance(template.get("spec") or {})
    return {**template, "metadata": {**metadata, "labels": labels}, "spec": spec}


def on_node(template: Mapping[str, Any], node_name: str) -> Object:
    """Return a template whose pods can go to one node only."""
    spec: Object = template["spec"]
    affinity: Object = spec.get("affinity") or {}
    node_affinity: Object = affinity.get("nodeAffinity") or {}
    field = {"key": _NAME_FIELD, "operator": "In", "values": [node_name]}
    required = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    node_affinity = {**node_affinity, "requiredDuringSchedulingIgnoredDuringExecution": required}
    return {**template, "spec": {**spec, "affinity": {**affinity, "nodeAffinity": node_affinity}}}


def target_node(pod: Pod) -> str:
    """Return the node for which a pod is, bound or not; empty when it does not say."""
    if pod.spec.node_name:
        return pod.spec.node_name
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity is not None else None
    required = affinity.required_during_scheduling_ignored_during_execution if affinity is not None else None
    for term in required.node_selector_terms if required is not None else ():
        for field in term.match_fields:
            if field.key == _NAME_FIELD and field.operator == "In":
                return field.values[0] if len(field.values) == 1 else ""
    return ""


def template_generation(daemons: StoredObject) -> str | None:
    """Return the generation of the template as old clients count it."""
    text = daemons.view.metadata.annotations.get(_GENERATION_ANNOTATION)
    if text is None or not text.removeprefix("-").isdigit():
        return None
    return str(int(text))


def is_updated(pod: StoredObject, code: str, generation: str | None) -> bool:
    """Whether a pod is of the newest revision."""
    labels = pod.labels
    return (generation is not None and labels.get(_GENERATION_LABEL) == generation) or (
        bool(code) and labels.get(REVISION_HASH) == code
    )
