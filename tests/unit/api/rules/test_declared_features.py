"""Features that nodes declare."""

from typing import Any

import msgspec
import pytest

from schedlab.api.rules import declared_features as rules
from schedlab.api.views.core import PodSpec
from schedlab.apimachinery.features import FeatureGates

RESTART = {"restartPolicyRules": [{"action": "RestartAllContainers"}]}
RESTART_NAME = "RestartAllContainersOnContainerExits"
HOST_NETWORK_NAME = "UserNamespacesHostNetworkSupport"


def spec_of(spec: dict[str, Any]) -> PodSpec:
    return msgspec.convert(spec, PodSpec)


@pytest.mark.parametrize(
    ("spec", "required"),
    [
        ({"containers": [{}]}, set()),
        ({"containers": [{}, RESTART]}, {RESTART_NAME}),
        ({"initContainers": [RESTART]}, {RESTART_NAME}),
        ({"containers": [{"restartPolicyRules": [{"action": "Restart"}]}]}, set()),
        ({"hostNetwork": True, "hostUsers": False}, {HOST_NETWORK_NAME}),
        ({"hostNetwork": True, "hostUsers": True}, set()),
        ({"hostNetwork": True}, set()),
        ({"hostUsers": False}, set()),
    ],
)
def test_pod_requires_features(spec: dict[str, Any], required: set[str]) -> None:
    """A rule that restarts all containers, and the host's network in a user namespace, need a feature each."""
    assert rules.required_features(spec_of(spec)) == required


@pytest.mark.parametrize(
    ("old", "new", "required"),
    [
        ({}, {}, set()),
        ({"resources": {}}, {"resources": {"requests": {"cpu": "1"}}}, {"InPlacePodLevelResourcesVerticalScaling"}),
        (
            {"initContainers": [{"name": "i"}]},
            {"initContainers": [{"name": "i", "resources": {"requests": {"cpu": "1"}}}]},
            {"InPlacePodVerticalScalingInitContainers"},
        ),
        (
            {"initContainers": [{"name": "i", "restartPolicy": "Always"}]},
            {"initContainers": [{"name": "i", "restartPolicy": "Always", "resources": {"requests": {"cpu": "1"}}}]},
            set(),
        ),
    ],
)
def test_update_requires_features(old: dict[str, Any], new: dict[str, Any], required: set[str]) -> None:
    """Resizing the pod as a whole or an init container that ends needs a feature."""
    assert rules.features_required_by_update(spec_of(old), spec_of(new)) == required


@pytest.mark.parametrize(
    ("declared", "known"),
    [
        ([], set()),
        (["AAA", RESTART_NAME, "ZZZ"], {RESTART_NAME}),
        ([RESTART_NAME, HOST_NETWORK_NAME], {RESTART_NAME, HOST_NETWORK_NAME}),
        ([HOST_NETWORK_NAME, RESTART_NAME], {HOST_NETWORK_NAME}),
    ],
)
def test_known_features_are_found_in_order(declared: list[str], known: set[str]) -> None:
    """A list that is not sorted hides what comes too late."""
    assert rules.known_features(declared) == known


def test_node_declares_what_its_gates_and_runtime_give() -> None:
    gates = FeatureGates.default()

    assert rules.discovered_features(gates) == (
        "ExtendWebSocketsToKubelet",
        "InPlacePodLevelResourcesVerticalScaling",
        "InPlacePodVerticalScalingInitContainers",
        RESTART_NAME,
    )
    gates = gates.with_overrides({HOST_NETWORK_NAME: True, RESTART_NAME: False})
    assert rules.discovered_features(gates, runtime_user_namespaces_host_network=True)[-1] == HOST_NETWORK_NAME
    assert HOST_NETWORK_NAME not in rules.discovered_features(gates)


def test_unsatisfied_features_and_signature() -> None:
    required = frozenset((HOST_NETWORK_NAME, RESTART_NAME))

    assert rules.unsatisfied_features(required, frozenset()) == (RESTART_NAME, HOST_NETWORK_NAME)
    assert rules.signature(required) == "00011"
    assert rules.signature(frozenset()) == "00000"
