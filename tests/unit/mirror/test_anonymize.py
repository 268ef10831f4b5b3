"""Anonymous objects: no name is left, and the scheduler decides the same."""

from __future__ import annotations

import json
from typing import Any

import pytest

from schedlab.mirror.anonymize import Anonymizer
from schedlab.mirror.manifests import load_objects
from schedlab.mirror.snapshot import Loaded
from tests.support.clusters import Lab


def _objects() -> list[dict[str, Any]]:
    capacity = {"cpu": "4", "memory": "8Gi", "pods": "110", "acme.example/gpu": "2"}
    nodes: list[dict[str, Any]] = [
        {
            "kind": "Node",
            "apiVersion": "v1",
            "metadata": {
                "name": f"secretnode-{number}",
                "uid": f"0000000{number}-0000-4000-8000-000000000000",
                "labels": {
                    "kubernetes.io/hostname": f"secretnode-{number}",
                    "topology.kubernetes.io/zone": f"secretzone-{number % 2}",
                    "acme.example/pool": f"secretpool-{number % 2}",
                },
                "annotations": {"acme.example/note": "secretnote"},
            },
            "spec": {"taints": [{"key": "acme.example/taint", "value": "secretvalue", "effect": "NoSchedule"}]},
            "status": {"capacity": capacity, "allocatable": capacity},
        }
        for number in range(4)
    ]
    tolerations = [{"key": "acme.example/taint", "operator": "Equal", "value": "secretvalue", "effect": "NoSchedule"}]
    container = {
        "name": "secretcontainer",
        "image": "registry.acme.example/secretimage:1",
        "args": ["--password=secretargument"],
        "env": [{"name": "PASSWORD", "value": "secretenv"}],
        "resources": {"requests": {"cpu": "500m", "acme.example/gpu": "1"}, "limits": {"acme.example/gpu": "1"}},
    }
    pods: list[dict[str, Any]] = [
        {
            "kind": "Pod",
            "apiVersion": "v1",
            "metadata": {"name": f"secretpod-{number}", "namespace": "default", "labels": {"app": "secretapp"}},
            "spec": {
                "containers": [container],
                "tolerations": tolerations,
                "nodeSelector": {"acme.example/pool": "secretpool-1"},
                "topologySpreadConstraints": [
                    {
                        "maxSkew": 1,
                        "topologyKey": "kubernetes.io/hostname",
                        "whenUnsatisfiable": "DoNotSchedule",
                        "labelSelector": {"matchLabels": {"app": "secretapp"}},
                    }
                ],
            },
        }
        for number in range(6)
    ]
    return [*nodes, *pods]


def _placed(objects: list[dict[str, Any]]) -> list[tuple[str, bool]]:
    lab = Lab()
    loaded = Loaded()
    for _ in load_objects(lab.registry, objects, loaded):
        pass
    assert loaded.problems == []
    lab.run()
    return sorted((pod.view.status.phase, bool(pod.view.spec.node_name)) for pod in lab.registry.list("pods").items)


def test_no_name_is_left() -> None:
    anonymizer = Anonymizer(b"key")
    text = json.dumps([anonymizer.anonymous(obj) for obj in _objects()])

    assert "secret" not in text
    assert "acme" not in text
    assert anonymizer.dropped["env"] == 6
    assert anonymizer.dropped["annotations"] == 4


def test_the_scheduler_decides_the_same() -> None:
    anonymizer = Anonymizer(b"key")
    anonymous = [anonymizer.anonymous(obj) for obj in _objects()]

    assert _placed(anonymous) == _placed(_objects())


def test_words_of_kubernetes_stay() -> None:
    node = Anonymizer(b"key").anonymous(_objects()[0])

    assert set(node["metadata"]["labels"]) >= {"kubernetes.io/hostname", "topology.kubernetes.io/zone"}
    assert node["spec"]["taints"][0]["effect"] == "NoSchedule"
    assert node["status"]["capacity"]["cpu"] == "4"


def test_the_same_key_gives_the_same_pseudonyms() -> None:
    first, second, other = Anonymizer(b"key"), Anonymizer(b"key"), Anonymizer(b"other")

    assert first.name("web") == second.name("web") != other.name("web")


def test_the_configuration_of_the_scheduler_has_no_names_of_users() -> None:
    affinity = {"key": "acme.example/pool", "operator": "In", "values": ["secretpool"]}
    fit = {
        "ignoredResourceGroups": ["acme.example"],
        "scoringStrategy": {"type": "LeastAllocated", "resources": [{"name": "acme.example/gpu", "weight": 2}]},
    }
    profile = {
        "schedulerName": "secretscheduler",
        "plugins": {"score": {"enabled": [{"name": "ImageLocality", "weight": 3}, {"name": "SecretPlugin"}]}},
        "pluginConfig": [
            {"name": "NodeResourcesFit", "args": fit},
            {
                "name": "NodeAffinity",
                "args": {"addedAffinity": {"nodeSelectorTerms": [{"matchExpressions": [affinity]}]}},
            },
            {"name": "SecretPlugin", "args": {"secretkey": "secretvalue"}},
        ],
    }
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "parallelism": 8,
        "clientConnection": {"kubeconfig": "/secret"},
        "profiles": [profile],
        "extenders": [{"urlPrefix": "https://secret.acme.example"}],
    }
    anonymizer = Anonymizer(b"key")
    anonymous = anonymizer.scheduler_configuration(config)
    requests = anonymizer.anonymous({"requests": {"acme.example/gpu": "1"}})["requests"]
    (made,) = anonymous["profiles"]

    assert "secret" not in json.dumps(anonymous).lower()
    assert "acme" not in json.dumps(anonymous)
    assert anonymous["parallelism"] == 8
    assert made["schedulerName"] == anonymizer.anonymous({"schedulerName": "secretscheduler"})["schedulerName"]
    assert made["plugins"]["score"]["enabled"] == [{"name": "ImageLocality", "weight": 3}]
    assert made["pluginConfig"][0]["args"]["scoringStrategy"]["resources"][0]["name"] in requests
    assert anonymizer.dropped["extenders"] == 1
    assert anonymizer.dropped["plugins"] == 2


def test_numbers_keep_their_order() -> None:
    anonymizer = Anonymizer(b"key")
    numbers = [int(anonymizer.name(str(number))) for number in (0, 1, 9, 10, 10**15)]

    assert numbers == sorted(set(numbers))


@pytest.mark.parametrize("name", ["default", "kube-system", "system-node-critical"])
def test_names_that_every_cluster_has_stay(name: str) -> None:
    assert Anonymizer(b"key").name(name) == name


def test_what_is_asked_for_stays_as_it_is() -> None:
    container = {"name": "c", "env": [{"name": "A", "value": "secret"}], "args": ["--password=x"]}
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [container]}}
    anonymizer = Anonymizer(b"key", ("env",))
    (kept,) = anonymizer.anonymous(pod)["spec"]["containers"]

    assert kept["env"] == [{"name": "A", "value": "secret"}]
    assert "args" not in kept
    assert anonymizer.dropped == {"args": 1}
