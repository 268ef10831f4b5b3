"""What a trace comes to: objects that are there from the start, and pods with their times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

Manifest: TypeAlias = Mapping[str, Any]

#: The GPUs of a node are counted in thousandths, of which pods may share one: what FGD's simulator calls them, too.
GPU_MILLI: Final = "alibabacloud.com/gpu-milli"
GPU_COUNT: Final = "alibabacloud.com/gpu-count"
GPU_MODEL: Final = "alibabacloud.com/gpu-card-model"
_PODS_PER_NODE: Final = "250"


@dataclass(frozen=True, slots=True)
class TimedPod:
    """A pod, when it comes (seconds from the start of the trace), and how long it runs; None: it never ends."""

    at_s: float
    run_time_s: float | None
    manifest: Manifest


@dataclass(frozen=True, slots=True)
class Trace:
    """objects: nodes and what pods refer to. pods: in the order in which they come, the first at 0."""

    objects: Sequence[Manifest]
    pods: Sequence[TimedPod]


def node(name: str, amounts: Mapping[str, str], labels: Mapping[str, str]) -> Manifest:
    """Return the manifest of a node that has these amounts and room for many pods."""
    size = {**amounts, "pods": _PODS_PER_NODE}
    metadata = {"name": name, "labels": {"kubernetes.io/hostname": name, **labels}}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": {"capacity": size, "allocatable": size}}


def pod(
    name: str,
    requests: Mapping[str, str],
    labels: Mapping[str, str],
    annotations: Mapping[str, str] | None = None,
    **spec: Any,
) -> Manifest:
    """Return the manifest of a pod with one container; what can be shared out only whole is its limit, too."""
    limits = {key: amount for key, amount in requests.items() if "/" in key}
    container = {"name": "main", "image": "trace", "resources": {"requests": dict(requests), "limits": limits}}
    metadata: dict[str, Any] = {"name": name, "labels": dict(labels)}
    if annotations:
        metadata["annotations"] = dict(annotations)
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container], **spec}}


def in_order(objects: Sequence[Manifest], pods: Sequence[TimedPod]) -> Trace:
    """Return a trace whose pods are sorted by time and begin at 0."""
    ordered = sorted(pods, key=lambda one: one.at_s)
    first_s = ordered[0].at_s if ordered else 0.0
    return Trace(objects, [TimedPod(one.at_s - first_s, one.run_time_s, one.manifest) for one in ordered])
