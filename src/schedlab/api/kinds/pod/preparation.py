"""What the API server makes of a pod before it is checked and stored.

Mirrors: pkg/registry/core/pod/strategy.go (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from schedlab.api.kinds.conditions import set_condition
from schedlab.api.kinds.pod.app_armor import copy_to_fields
from schedlab.api.kinds.pod.disabled import drop_disabled, drop_disabled_status
from schedlab.api.kinds.strategy import Context, keep, keep_metadata, keep_spec, keep_status
from schedlab.api.object import Object
from schedlab.api.rules.qos import BEST_EFFORT, computed_qos_class
from schedlab.api.views.core import Pod

_RESOURCE_KEYS: Final = ("containers", "initContainers", "resources")


def prepare_create(pod: Object, context: Context) -> None:
    """Reset the status, and merge what label keys stand for into the selectors."""
    pod["metadata"]["generation"] = 1
    spec = pod["spec"]
    status: Object = {"phase": "Pending", "qosClass": _qos_class(spec, context)}
    pod["status"] = status
    drop_disabled(spec, {}, context.features)
    if spec.get("schedulingGates"):
        condition = {
            "type": "PodScheduled",
            "status": "False",
            "reason": "SchedulingGated",
            "message": "Scheduling is blocked due to non-empty scheduling gates",
        }
        set_condition(status, condition, context.now)
    merge_label_keys(pod, context)
    copy_to_fields(pod, context)


def _qos_class(spec: Object, context: Context) -> str:
    containers = (*(spec.get("containers") or ()), *(spec.get("initContainers") or ()))
    if not spec.get("resources") and not any(container["resources"] for container in containers):
        return BEST_EFFORT
    relevant = {key: spec[key] for key in _RESOURCE_KEYS if spec.get(key) is not None}
    view = msgspec.convert({"spec": relevant}, Pod)
    return computed_qos_class(view, pod_level=context.features.enabled("PodLevelResources"))


def merge_label_keys(pod: Object, context: Context) -> None:
    """Write the pod's own values of matchLabelKeys and mismatchLabelKeys into the selectors beside them."""
    spec = pod["spec"]
    labels = pod["metadata"].get("labels") or {}
    features = context.features
    affinity = spec.get("affinity")
    if affinity and features.enabled("MatchLabelKeysInPodAffinity"):
        for key in ("podAffinity", "podAntiAffinity"):
            _merge_affinity(affinity.get(key) or {}, labels)
    merges_spread = features.enabled("MatchLabelKeysInPodTopologySpread") and features.enabled(
        "MatchLabelKeysInPodTopologySpreadSelectorMerge"
    )
    if merges_spread:
        for constraint in spec.get("topologySpreadConstraints") or ():
            _merge(constraint, constraint.get("matchLabelKeys") or (), "In", labels)


def _merge_affinity(affinity: Object, labels: dict[str, str]) -> None:
    weighted = affinity.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or ()
    for term in (*(entry["podAffinityTerm"] for entry in weighted), *required):
        _merge(term, term.get("matchLabelKeys") or (), "In", labels)
        _merge(term, term.get("mismatchLabelKeys") or (), "NotIn", labels)


def _merge(holder: Object, keys: Sequence[str], operator: str, labels: dict[str, str]) -> None:
    selector: dict[str, Any] | None = holder.get("labelSelector")
    if selector is None:  # it selects nothing, whatever is added
        return
    added = [{"key": key, "operator": operator, "values": [labels[key]]} for key in keys if key in labels]
    if added:
        selector["matchExpressions"] = [*selector.get("matchExpressions", ()), *added]


def prepare_update(pod: Object, old: Object, context: Context) -> None:
    """Keep the status; count a change of the spec."""
    keep_status(pod, old)
    drop_disabled(pod["spec"], old["spec"], context.features)
    _count_change(pod, old)


def _count_change(pod: Object, old: Object) -> None:
    if pod["spec"] != old["spec"]:
        pod["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1


def prepare_ephemeral_update(pod: Object, old: Object, context: Context) -> None:
    """Keep all but the ephemeral containers."""
    spec = dict(old["spec"])
    keep(spec, pod["spec"], "ephemeralContainers")
    _replace_spec(pod, spec, old, context)


def _replace_spec(pod: Object, spec: Object, old: Object, context: Context) -> None:
    pod["spec"] = spec
    keep_status(pod, old)
    keep_metadata(pod, old)
    drop_disabled(spec, old["spec"], context.features)
    _count_change(pod, old)


def prepare_resize(pod: Object, old: Object, context: Context) -> None:
    """Keep all but the resources of containers; containers that were moved are for the checks to refuse."""
    spec, before = pod["spec"], old["spec"]
    lists = ("containers", "initContainers")
    if any(len(spec.get(key) or ()) != len(before.get(key) or ()) for key in lists):
        return
    settled = dict(before)
    for key in lists:
        if key in before:
            settled[key] = _resized(spec[key], before[key])
    if context.features.enabled("InPlacePodLevelResourcesVerticalScaling"):
        keep(settled, spec, "resources")
    _replace_spec(pod, settled, old, context)


def _resized(containers: Sequence[Object], old: Sequence[Object]) -> Sequence[Object]:
    if any(container.get("name") != before.get("name") for container, before in zip(containers, old, strict=True)):
        return containers
    merged = [dict(before) for before in old]
    for container, target in zip(containers, merged, strict=True):
        for key in ("resources", "resizePolicy"):
            keep(target, container, key)
    return merged


def prepare_status_update(pod: Object, old: Object, context: Context) -> None:
    """Keep the spec, the owners and what a writer of the status left out."""
    keep_spec(pod, old)
    metadata, before = pod["metadata"], old["metadata"]
    metadata.pop("deletionTimestamp", None)
    if "ownerReferences" in before:
        metadata["ownerReferences"] = before["ownerReferences"]
    else:
        metadata.pop("ownerReferences", None)
    status, old_status = pod["status"], old["status"]
    for key in ("qosClass", "observedGeneration"):
        if not status.get(key) and old_status.get(key):
            status[key] = old_status[key]
    _keep_observed_generations(status.get("conditions") or (), old_status.get("conditions") or ())
    drop_disabled_status(status, old_status, context.features)


def _keep_observed_generations(conditions: Sequence[Object], old: Sequence[Object]) -> None:
    known: dict[str, list[int]] = {}
    for condition in old:
        known.setdefault(condition["type"], []).append(condition.get("observedGeneration", 0))
    for condition in conditions:
        generations = known.get(condition["type"])
        generation = generations.pop(0) if generations else 0
        if generation and not condition.get("observedGeneration"):
            condition["observedGeneration"] = generation
