"""Fragments of pod signatures that more than one plugin gives, and the keys of all of them.

Pods with equal fragments are interchangeable for the plugins that gave them. Values are compared, never shown.

Mirrors: staging/src/k8s.io/kube-scheduler/framework/signers.go (v1.36).
Differs: values are nested tuples of texts and numbers instead of JSON texts; the runtime encodes them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, TypeAlias

from schedlab.api.rules.node_affinity import node_affinity_of

if TYPE_CHECKING:
    from schedlab.api.views.core import (
        NodeSelectorRequirement,
        NodeSelectorTerm,
        Pod,
        PreferredSchedulingTerm,
    )

DYNAMIC_RESOURCES: Final = "v1.Pod.Spec.DynamicResources"
IMAGE_NAMES: Final = "v1.Pod.Spec.CanonicalImageNames()"
LABELS: Final = "v1.Pod.Labels"
NODE_NAME: Final = "v1.Pod.Spec.NodeName"
NODE_AFFINITY: Final = "v1.Pod.Spec.Affinity.NodeAffinity"
NODE_SELECTOR: Final = "v1.Pod.Spec.Affinity.NodeSelector"
HOST_PORTS: Final = "v1.Pod.Spec.HostPorts()"
RESOURCES: Final = "v1.Pod.Spec.ContainerRequestsAndOverheads()"
SCHEDULER_NAME: Final = "v1.Pod.Spec.SchedulerName"
TOLERATIONS: Final = "v1.Pod.Spec.Tolerations"
VOLUMES: Final = "v1.Pod.Spec.Volumes.NonSyntheticSources()"
FEATURES: Final = "v1.Pod.Spec.RequiredFeatures()"

_Toleration: TypeAlias = tuple[str, str, str, str, int | None]
_Requirement: TypeAlias = tuple[str, str, tuple[str, ...]]
_Term: TypeAlias = tuple[tuple[_Requirement, ...], tuple[_Requirement, ...]]


def host_ports_signature(pod: Pod) -> tuple[int, ...]:
    """Return the numbers of all host ports of containers and init containers; protocols and addresses do not count."""
    containers = (*pod.spec.containers, *pod.spec.init_containers)
    return tuple(sorted({port.host_port for container in containers for port in container.ports if port.host_port}))


def tolerations_signature(pod: Pod) -> tuple[_Toleration, ...]:
    """Return the tolerations, by key and value."""
    ordered = sorted(pod.spec.tolerations, key=lambda toleration: (toleration.key, toleration.value))
    return tuple((each.key, each.value, each.operator, each.effect, each.toleration_seconds) for each in ordered)


def node_affinity_signature(pod: Pod) -> tuple[tuple[_Term, ...], tuple[tuple[int, _Term], ...]] | None:
    """Return required and preferred node affinity in an order that does not depend on how they are written."""
    affinity = node_affinity_of(pod)
    if affinity is None:
        return None
    required = affinity.required_during_scheduling_ignored_during_execution
    return (
        tuple(sorted(map(_term, required.node_selector_terms if required is not None else ()))),
        tuple(sorted(map(_weighted, affinity.preferred_during_scheduling_ignored_during_execution))),
    )


def _weighted(preferred: PreferredSchedulingTerm) -> tuple[int, _Term]:
    return preferred.weight, _term(preferred.preference)


def _term(term: NodeSelectorTerm) -> _Term:
    return _requirements(term.match_expressions), _requirements(term.match_fields)


def _requirements(requirements: Iterable[NodeSelectorRequirement]) -> tuple[_Requirement, ...]:
    return tuple(sorted((each.key, each.operator, tuple(sorted(each.values))) for each in requirements))
