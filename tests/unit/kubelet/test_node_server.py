"""The read-only paths of a node's kubelet answer as a kubelet's do."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from schedlab.apimachinery.errors import StatusError
from schedlab.apimachinery.features import FeatureGates
from schedlab.kubelet.life.plan import PREFIX
from tests.support.lab import Lab


def get(lab: Lab, path: str, node: str = "node-0") -> Any:
    found = lab.cluster.node_servers.answer(node, path)
    assert found.status == 200
    return orjson.loads(found.body)


def test_configuration_and_pods_are_those_of_the_node() -> None:
    lab = Lab(nodes=1)
    lab.pod("p")
    lab.run(1)

    configuration = get(lab, "/configz")["kubeletconfig"]
    assert (configuration["kind"], configuration["address"]) == ("KubeletConfiguration", "10.128.0.1")
    assert (configuration["featureGates"], configuration["memoryReservationPolicy"]) == ({"MemoryQoS": False}, "None")
    assert [pod["metadata"]["name"] for pod in get(lab, "/pods/")["items"]] == ["p"]
    assert "/configz" in get(lab, "")["paths"]
    assert lab.cluster.node_servers.answer("node-0", "/healthz").body == b"ok"
    assert lab.cluster.node_servers.answer("node-0", "/exec").status == 404


def test_cgroups_are_told_for_the_node_its_classes_and_its_pods() -> None:
    lab = Lab(nodes=1, feature_gates=FeatureGates.parse("MemoryQoS=true", location="test"))
    lab.pod(
        "p",
        spec={"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}]},
    )
    lab.run(1)
    told = get(lab, "/cgroups")

    assert [each["path"].rpartition("/")[2] for each in told["cgroups"]] == [
        "kubepods.slice",
        "kubepods-burstable.slice",
        "kubepods-besteffort.slice",
    ]
    assert told["cgroups"][1]["settings"] == {"cpu.weight": "39", "memory.low": str(1 << 30)}
    [pod] = told["pods"]
    assert (pod["name"], pod["qosClass"], pod["containers"][0]["settings"]["cpu.weight"]) == ("p", "Burstable", "100")
    assert lab.cluster.node_servers.reservation("default", "p") == {
        key: value for key, value in pod.items() if key not in {"name", "namespace"}
    }


def test_node_that_has_failed_does_not_answer() -> None:
    lab = Lab(nodes=1)
    lab.registry.patch(
        "nodes", "node-0", "merge", {"metadata": {"annotations": {f"{PREFIX}failed-since": "2026-01-01T00:00:01Z"}}}
    )

    with pytest.raises(StatusError, match="no route to host"):
        lab.cluster.node_servers.answer("node-0", "/configz")
