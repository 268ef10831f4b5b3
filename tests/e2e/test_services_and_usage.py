"""What surrounds workloads, as users of kubectl see it: addresses of services, usage, autoscaling, budgets, volumes."""

from __future__ import annotations

import json

import pytest

from tests.e2e.test_workloads import TIMEOUT, Program, cluster, environment, web

# Shared with the other module of workloads.
__all__ = ["cluster", "environment", "web"]


def test_endpoints_of_a_service(web: Program) -> None:
    """They are the pods of the rollout, and follow it; they go with the service."""
    web("expose", "deployment/web", "--port=80", "--target-port=8080")
    web(
        "wait", "endpointslice", "-l", "kubernetes.io/service-name=web", "--for=jsonpath={.ports[0].port}=8080", TIMEOUT
    )
    addresses = {pod["status"]["podIP"] for pod in web.get("pods")["items"]}
    (found,) = web.get("endpointslices")["items"]
    described = web("describe", "service", "web")
    web("scale", "deployment/web", "--replicas=1")
    web.until(lambda: len(_endpoints(web)) == 1, "one endpoint")
    web("delete", "service", "web")
    web.until(lambda: web.names("endpointslices") == [], "the end of the slices")

    assert {each["addresses"][0] for each in found["endpoints"]} == addresses
    assert all(address in described for address in addresses)


def _endpoints(program: Program) -> list[object]:
    return [each for found in program.get("endpointslices")["items"] for each in found["endpoints"] or ()]


def test_top(web: Program) -> None:
    """Usage by annotation, of nodes, pods and containers."""
    template = {"metadata": {"annotations": {"kwok.x-k8s.io/usage-cpu": "123m", "kwok.x-k8s.io/usage-memory": "45Mi"}}}
    web("patch", "deployment", "web", "-p", json.dumps({"spec": {"template": template}}))
    web("rollout", "status", "deployment/web", TIMEOUT)
    web.until(lambda: web("get", "podmetrics", "--no-headers").count("123m") == 3, "metrics")
    lines = web("top", "pods", "--no-headers").splitlines()
    containers = web("top", "pods", "--containers", "--no-headers").splitlines()
    nodes = web("top", "nodes", "--sort-by=cpu", "--no-headers").splitlines()

    assert [line.split()[1:] for line in lines] == 3 * [["123m", "45Mi"]]
    assert [line.split()[1:] for line in containers] == 3 * [["web", "123m", "45Mi"]]
    assert len(nodes) == 3


def test_autoscale(web: Program) -> None:
    """Pods that use twice their target are doubled."""
    container = {"name": "web", "resources": {"requests": {"cpu": "100m"}}}
    annotations = {"kwok.x-k8s.io/usage-cpu": "100m"}
    template = {"metadata": {"annotations": annotations}, "spec": {"containers": [container]}}
    web("patch", "deployment", "web", "-p", json.dumps({"spec": {"template": template}}))
    web("rollout", "status", "deployment/web", TIMEOUT)
    web("autoscale", "deployment", "web", "--cpu-percent=50", "--min=2", "--max=6")
    web("wait", "hpa/web", "--for=condition=ScalingActive", "--timeout=60s")
    web("wait", "deployment/web", "--for=jsonpath={.spec.replicas}=6", "--timeout=60s")

    assert "100%/50%" in web("get", "hpa", "web")
    assert "SuccessfulRescale" in web("describe", "hpa", "web")


def test_a_budget_holds_a_drain_back(web: Program) -> None:
    """Kubectl says so and tries again; a smaller budget lets it go on."""
    web("create", "poddisruptionbudget", "web", "--selector=app=web", "--min-available=3")
    web("wait", "pdb/web", "--for=jsonpath={.status.currentHealthy}=3", TIMEOUT)
    node = web.get("pods")["items"][0]["spec"]["nodeName"]
    options = ("--ignore-daemonsets", "--delete-emptydir-data", "--pod-selector=app=web")
    refused = web("drain", node, *options, "--timeout=2s", code=1)
    web("patch", "pdb", "web", "--type=merge", "-p", '{"spec": {"minAvailable": 1}}')
    web("wait", "pdb/web", "--for=jsonpath={.status.disruptionsAllowed}=2", TIMEOUT)
    web("drain", node, *options, "--timeout=40s")
    web("uncordon", node)

    assert "Cannot evict pod as it would violate the pod's disruption budget" in refused


def test_ephemeral_volumes_are_attached(cluster: Program) -> None:
    """A pod gets its claim, its volume and the attachment of that; everything goes with it."""
    storage_class = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": f"class-{cluster.namespace}"},
        "provisioner": "disks.example.com",
        "volumeBindingMode": "WaitForFirstConsumer",
    }
    claim = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": storage_class["metadata"]["name"],  # type: ignore[index]
        "resources": {"requests": {"storage": "1Gi"}},
    }
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {
            "containers": [{"name": "c", "image": "i"}],
            "volumes": [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": claim}}}],
        },
    }
    cluster("apply", "-f", "-", given=json.dumps({"apiVersion": "v1", "kind": "List", "items": [storage_class, pod]}))
    cluster("wait", "pod/p", "--for=condition=Ready", TIMEOUT)
    cluster("wait", "pvc/p-scratch", "--for=jsonpath={.status.phase}=Bound", TIMEOUT)
    volume = cluster.get("pvc", "p-scratch")["spec"]["volumeName"]
    cluster.until(lambda: volume in cluster("get", "volumeattachments"), "the attachment")
    cluster.until(lambda: "SuccessfulAttachVolume" in cluster("describe", "pod", "p"), "the event")
    cluster("delete", "pod", "p", TIMEOUT)
    cluster.until(lambda: cluster.names("pvc") == [], "the end of the claim")
    cluster.until(lambda: volume not in cluster("get", "volumeattachments,pv"), "the end of the volume")


@pytest.mark.long
def test_cron_jobs_by_the_clock(cluster: Program) -> None:
    """A CronJob starts a Job each minute, and notes it."""
    cluster("create", "cronjob", "tick", "--image=busybox", "--schedule=* * * * *", "--", "true")
    cluster("wait", "cronjob/tick", "--for=jsonpath={.status.lastSuccessfulTime}", "--timeout=90s")
    (job,) = cluster.get("jobs")["items"]

    assert job["metadata"]["ownerReferences"][0]["name"] == "tick"
    assert job["status"]["succeeded"] == 1
    cluster("delete", "cronjob", "tick", TIMEOUT)
    cluster.until(lambda: cluster.names("jobs") == [], "the end of the job")
