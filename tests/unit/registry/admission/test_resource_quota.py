"""A namespace holds no more than its quotas allow."""

from __future__ import annotations

from typing import Any

import pytest

from schedlab.api.object import Object
from schedlab.api.rules import quota
from schedlab.apimachinery.errors import Forbidden
from schedlab.kernel.clock import SECOND_NS
from schedlab.registry import Registry, WriteOptions
from tests.support.control_plane import ControlPlane
from tests.support.registries import new_registry

QUOTAS = "resourcequotas"


@pytest.fixture
def registry() -> Registry:
    return new_registry()


def limit(registry: Registry, hard: dict[str, str], used: dict[str, str] | None = None, **spec: Any) -> None:
    """Store the quota `q` with its use, nothing unless it is given."""
    obj = {"metadata": {"name": "q"}, "spec": {"hard": hard, **spec}}
    registry.create(QUOTAS, registry.decode(QUOTAS, obj), "default")
    zero = dict.fromkeys(hard, "0") if used is None else used
    status = {"status": {"hard": hard, "used": zero}}
    registry.patch(QUOTAS, "q", "merge", status, "default", subresource="status")


def used(registry: Registry) -> dict[str, str]:
    """Return what the quota `q` says is used."""
    found: dict[str, str] = registry.get(QUOTAS, "q", "default").thaw()["status"]["used"]
    return found


def make_pod(registry: Registry, name: str = "p", requests: dict[str, str] | None = None, **spec: Any) -> None:
    """Store a pod."""
    container = {"name": "c", "image": "i", "resources": {"requests": requests or {}, "limits": requests or {}}}
    pod = {"metadata": {"name": name}, "spec": {"containers": [container], **spec}}
    registry.create("pods", registry.decode("pods", pod), "default")


def refusal(registry: Registry, *arguments: Any, **spec: Any) -> str:
    """Return why a pod is refused."""
    with pytest.raises(Forbidden) as refused:
        make_pod(registry, *arguments, **spec)
    message: str = refused.value.message
    return message.partition("is forbidden: ")[2]


def test_use_is_counted_up_to_the_limit(registry: Registry) -> None:
    """And not beyond."""
    limit(registry, {"pods": "5", "requests.cpu": "1", "limits.memory": "1Gi"})
    make_pod(registry, "a", {"cpu": "600m", "memory": "128Mi"})

    assert used(registry) == {"pods": "1", "requests.cpu": "600m", "limits.memory": "128Mi"}
    assert refusal(registry, "b", {"cpu": "600m", "memory": "2Gi"}) == (
        "exceeded quota: q, requested: limits.memory=2Gi,requests.cpu=600m, "
        "used: limits.memory=128Mi,requests.cpu=600m, limited: limits.memory=1Gi,requests.cpu=1"
    )
    assert used(registry)["pods"] == "1"


def test_containers_must_ask_for_what_is_limited(registry: Registry) -> None:
    """Processor and memory only."""
    limit(registry, {"requests.cpu": "1", "limits.memory": "1Gi", "requests.ephemeral-storage": "1Gi"})

    assert refusal(registry) == "failed quota: q: must specify limits.memory for: c; requests.cpu for: c"


def test_a_quota_that_nobody_has_counted(registry: Registry) -> None:
    """Does not limit before it has a status, and refuses while it lacks a number."""
    obj = {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "0"}}}
    registry.create(QUOTAS, registry.decode(QUOTAS, obj), "default")
    make_pod(registry, "a")
    registry.patch(QUOTAS, "q", "merge", {"status": {"hard": {"pods": "0"}}}, "default", subresource="status")

    assert refusal(registry, "b") == "status unknown for quota: q, resources: pods"


def test_dry_runs_are_checked_but_not_counted(registry: Registry) -> None:
    """They leave no trace."""
    limit(registry, {"configmaps": "1"})
    maps = registry.decode("configmaps", {"metadata": {"name": "a"}})
    registry.create("configmaps", maps, "default", WriteOptions(dry_run=True))

    assert used(registry) == {"configmaps": "0"}


def test_updates_pay_the_difference(registry: Registry) -> None:
    """A service that begins to use node ports."""
    limit(registry, {"services": "1", "services.nodeports": "1"})
    service = {"metadata": {"name": "s"}, "spec": {"ports": [{"name": "a", "port": 1}]}}
    registry.create("services", registry.decode("services", service), "default")
    registry.patch("services", "s", "merge", {"spec": {"type": "NodePort"}}, "default")

    assert used(registry) == {"services": "1", "services.nodeports": "1"}


@pytest.mark.parametrize(
    ("scopes", "pod", "expected"),
    [
        (["BestEffort"], {}, "1"),
        (["NotBestEffort"], {}, "0"),
        (["Terminating"], {"activeDeadlineSeconds": 5}, "1"),
        (["NotTerminating"], {"activeDeadlineSeconds": 5}, "0"),
        (["NotTerminating", "BestEffort"], {}, "1"),
        (["PriorityClass"], {"priorityClassName": "system-node-critical"}, "1"),
        (["PriorityClass"], {}, "0"),
        (["CrossNamespacePodAffinity"], {}, "0"),
    ],
)
def test_scopes_choose_the_pods(registry: Registry, scopes: list[str], pod: Object, expected: str) -> None:
    """All scopes of a quota must hold."""
    limit(registry, {"pods": "9"}, scopes=scopes)
    make_pod(registry, "p", {}, **pod)

    assert used(registry)["pods"] == expected


@pytest.mark.parametrize(
    ("resource", "obj", "expected"),
    [
        (
            "persistentvolumeclaims",
            {"metadata": {}, "spec": {"storageClassName": "s", "resources": {"requests": {"storage": "1Gi"}}}},
            {
                "count/persistentvolumeclaims": "1",
                "persistentvolumeclaims": "1",
                "requests.storage": "1Gi",
                "s.storageclass.storage.k8s.io/persistentvolumeclaims": "1",
                "s.storageclass.storage.k8s.io/requests.storage": "1Gi",
            },
        ),
        (
            "services",
            {"metadata": {}, "spec": {"type": "LoadBalancer", "ports": [{"port": 1}, {"port": 2}]}},
            {"count/services": "1", "services": "1", "services.nodeports": "2", "services.loadbalancers": "1"},
        ),
        (
            "pods",
            {
                "metadata": {},
                "spec": {"containers": [{"name": "c", "resources": {"requests": {"example.com/gpu": "2"}}}]},
            },
            {"count/pods": "1", "pods": "1", "requests.example.com/gpu": "2"},
        ),
        ("pods", {"metadata": {}, "spec": {"containers": []}, "status": {"phase": "Failed"}}, {"count/pods": "1"}),
        (
            "resourceclaims.resource.k8s.io",
            {
                "metadata": {},
                "spec": {
                    "devices": {
                        "requests": [
                            {"exactly": {"deviceClassName": "g", "allocationMode": "ExactCount", "count": 2}},
                            {"firstAvailable": [{"deviceClassName": "g", "allocationMode": "All"}]},
                        ]
                    }
                },
            },
            {"count/resourceclaims.resource.k8s.io": "1", "g.deviceclass.resource.k8s.io/devices": "34"},
        ),
        ("deployments.apps", {"metadata": {}}, {"count/deployments.apps": "1"}),
        ("secrets", {"metadata": {}}, {"count/secrets": "1", "secrets": "1"}),
    ],
)
def test_what_objects_cost(resource: str, obj: Object, expected: dict[str, str]) -> None:
    """By all names that quotas know."""
    cost = {name: str(amount) for name, amount in quota.usage(resource, obj, 0).items()}

    assert cost == expected
    assert sorted(quota.tracked(resource, cost)) == sorted(cost)


def test_the_controller_counts() -> None:
    """At first, when limits change, when something goes, and later what admission has counted in vain."""
    plane = ControlPlane("resourcequota-controller")
    make_pod(plane.registry, "a")
    plane.create(QUOTAS, {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "5", "count/deployments.apps": "1"}}})
    plane.settle()

    assert plane.get(QUOTAS, "q")["status"]["used"] == {"pods": "1", "count/deployments.apps": "0"}
    make_pod(plane.registry, "b")
    plane.settle()

    assert plane.get(QUOTAS, "q")["status"]["used"]["pods"] == "2"
    plane.delete("pods", "a", grace_s=0)
    plane.settle()

    assert plane.get(QUOTAS, "q")["status"]["used"]["pods"] == "1"
    plane.patch(QUOTAS, "q", {"spec": {"hard": {"pods": None, "secrets": "1"}}})
    plane.settle()

    assert plane.get(QUOTAS, "q")["status"]["used"] == {"count/deployments.apps": "0", "secrets": "0"}
    plane.patch(QUOTAS, "q", {"status": {"used": {"secrets": "1"}}}, subresource="status")
    plane.driver.run_for(301 * SECOND_NS)

    assert plane.get(QUOTAS, "q")["status"]["used"]["secrets"] == "0"
