"""Features that nodes declare: which ones a pod, or a change of a pod, needs.

Mirrors: staging/src/k8s.io/component-helpers/nodedeclaredfeatures (v1.36), its registry of features included.
Differs: a set of features is a frozenset of names; no feature of this release has a version above which it is taken for
granted, so no version is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from schedlab.api.rules.requests import is_sidecar
from schedlab.api.views.core import PodSpec
from schedlab.apimachinery.features import FeatureGates

RESTART_ALL_CONTAINERS_ACTION: Final = "RestartAllContainers"

FeatureSet = frozenset[str]


def _never(*_: PodSpec) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class DeclaredFeature:
    """A feature: the gate that makes a node declare it, and who needs it.

    runtime: whether the container runtime must support it too. needed_by: whether a pod needs it to be scheduled.
    needed_by_update: whether the change of a pod that runs (from, to) needs it.
    """

    name: str
    runtime: bool = False
    needed_by: Callable[[PodSpec], bool] = _never
    needed_by_update: Callable[[PodSpec, PodSpec], bool] = _never


def required_features(spec: PodSpec) -> FeatureSet:
    """Return the features a node must declare for the pod."""
    return frozenset(feature.name for feature in FEATURES if feature.needed_by(spec))


def features_required_by_update(old: PodSpec, new: PodSpec) -> FeatureSet:
    """Return the features the pod's node must declare for the change."""
    return frozenset(feature.name for feature in FEATURES if feature.needed_by_update(old, new))


def known_features(declared: Sequence[str]) -> FeatureSet:
    """Return the features among those declared that this release knows.

    The list is walked in step with the sorted known names: what is out of order is not seen.
    """
    known: list[str] = []
    names = iter(declared)
    name = next(names, None)
    for feature in FEATURES:
        while name is not None and name < feature.name:
            name = next(names, None)
        if name == feature.name:
            known.append(feature.name)
            name = next(names, None)
    return frozenset(known)


def discovered_features(gates: FeatureGates, *, runtime_user_namespaces_host_network: bool = False) -> tuple[str, ...]:
    """Return what a node with these gates declares, sorted."""
    return tuple(
        feature.name
        for feature in FEATURES
        if gates.enabled(feature.name) and (runtime_user_namespaces_host_network or not feature.runtime)
    )


def unsatisfied_features(required: FeatureSet, declared: FeatureSet) -> tuple[str, ...]:
    """Return what is required and not declared, sorted."""
    return tuple(sorted(required - declared))


def signature(features: FeatureSet) -> str:
    """Return the set as a text of ones and zeros, one for each known feature."""
    return "".join("1" if feature.name in features else "0" for feature in FEATURES)


def _restarts_all_containers(spec: PodSpec) -> bool:
    return any(
        rule.action == RESTART_ALL_CONTAINERS_ACTION
        for container in (*spec.containers, *spec.init_containers)
        for rule in container.restart_policy_rules
    )


def _shares_host_network_in_user_namespace(spec: PodSpec) -> bool:
    return spec.host_network and spec.host_users is False


def _resizes_pod(old: PodSpec, new: PodSpec) -> bool:
    return old.resources != new.resources


def _resizes_init_container(old: PodSpec, new: PodSpec) -> bool:
    pairs = zip(old.init_containers, new.init_containers, strict=True)
    return any(not is_sidecar(before) and before.resources != after.resources for before, after in pairs)


#: Sorted by name. A feature's name is also the name of its gate.
FEATURES: Final = (
    DeclaredFeature("ExtendWebSocketsToKubelet"),
    DeclaredFeature("InPlacePodLevelResourcesVerticalScaling", needed_by_update=_resizes_pod),
    DeclaredFeature("InPlacePodVerticalScalingInitContainers", needed_by_update=_resizes_init_container),
    DeclaredFeature("RestartAllContainersOnContainerExits", needed_by=_restarts_all_containers),
    DeclaredFeature("UserNamespacesHostNetworkSupport", runtime=True, needed_by=_shares_host_network_in_user_namespace),
)
