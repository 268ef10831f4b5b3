"""Plugins that kube-apiserver has off by default do what they do there once they are switched on."""

from __future__ import annotations

from typing import Any

import pytest

from schedlab.api.object import Object
from schedlab.apimachinery.errors import Forbidden, StatusError
from schedlab.kernel.clock import VirtualClock
from schedlab.kernel.randomness import SeededRandom
from schedlab.registry import Registry, bootstrap
from schedlab.registry.admission.names import enabled_names
from schedlab.store import Store
from tests.support.registries import provide_accounts


def registry_with(*names: str) -> Registry:
    made = Registry(Store(), VirtualClock(), SeededRandom(1), admission=enabled_names(names, ()))
    bootstrap(made)
    return provide_accounts(made)


def make(registry: Registry, requests: dict[str, str] | None = None, **spec: Any) -> Object:
    container = {"name": "c", "image": "i", "resources": {"limits": requests or {}}}
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [container], **spec}}
    made: Object = registry.create("pods", registry.decode("pods", pod), "default").thaw()["spec"]
    return made


def test_pods_tolerate_what_they_ask_for() -> None:
    """Resources of others only, each once."""
    registry = registry_with("ExtendedResourceToleration")
    wanted = {"key": "example.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
    requests = {"example.com/gpu": "1", "cpu": "1", "example.com/nic": "1"}
    spec = make(registry, requests, tolerations=[wanted])

    keys = [each["key"] for each in spec["tolerations"] if each["effect"] == "NoSchedule"]
    assert keys == ["example.com/gpu", "example.com/nic"]


@pytest.mark.parametrize("key", ["kubernetes.io/hostname", "topology.kubernetes.io/zone"])
def test_required_anti_affinity_is_limited_to_nodes(key: str) -> None:
    registry = registry_with("LimitPodHardAntiAffinityTopology")
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"a": "b"}}}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    if key == "kubernetes.io/hostname":
        assert make(registry, affinity=affinity)["affinity"]
        return
    with pytest.raises(Forbidden) as caught:
        make(registry, affinity=affinity)
    assert caught.value.message == (
        'pods "p" is forbidden: affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey '
        "topology.kubernetes.io/zone but only key kubernetes.io/hostname is allowed"
    )


def test_pods_go_to_the_nodes_of_their_namespace() -> None:
    """What the pod selects itself is kept, and may not contradict."""
    registry = registry_with("PodNodeSelector")
    annotation = {"scheduler.alpha.kubernetes.io/node-selector": "pool=a, disk=fast"}
    registry.patch("namespaces", "default", "merge", {"metadata": {"annotations": annotation}})

    with pytest.raises(Forbidden, match="pod node label selector conflicts with its namespace node label selector"):
        make(registry, nodeSelector={"pool": "b"})
    assert make(registry, nodeSelector={"zone": "z"})["nodeSelector"] == {"disk": "fast", "pool": "a", "zone": "z"}


def test_bad_annotations_are_told() -> None:
    registry = registry_with("PodNodeSelector")
    annotation = {"scheduler.alpha.kubernetes.io/node-selector": "pool"}
    registry.patch("namespaces", "default", "merge", {"metadata": {"annotations": annotation}})

    with pytest.raises(StatusError, match=r"invalid selector: \[pool\]"):
        make(registry)
