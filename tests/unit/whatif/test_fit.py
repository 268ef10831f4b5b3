"""How many of a pod fit, and what stops the next one; nothing of the cluster changes and nobody is evicted."""

from __future__ import annotations

from typing import Any

import pytest

from schedlab.kernel.errors import SchedlabError
from schedlab.testing import make_pod
from schedlab.whatif.fit import LIMIT_MAX, Fit, fit
from tests.unit.whatif.whatif_cluster import Lab


def ask(lab: Lab, pod: dict[str, Any], **options: Any) -> Fit:
    """Ask, and check that the cluster is as before."""
    before = lab.digest()
    found = fit(lab.cluster, pod, **options)

    assert lab.digest() == before
    return found


def two_kinds() -> Lab:
    lab = Lab()
    for number in range(3):
        lab.node(f"plain-{number}", cpu="4")
    lab.node("gpu", cpu="16", taints=[{"key": "gpu", "effect": "NoSchedule"}])
    lab.settle()
    return lab


def test_copies_fill_what_is_free_and_the_next_one_is_explained_by_kind_of_node() -> None:
    lab = two_kinds()
    lab.pod("there", cpu="3")
    lab.settle()
    found = ask(lab, make_pod("web").req(cpu="1500m").dict())

    assert (found.pod, found.fits) == ("default/web", 4)
    assert found.stops.startswith("0/4 nodes are available: 1 node(s) had untolerated taint(s), 3 Insufficient cpu.")
    plain, gpu = found.groups
    assert (plain.nodes, plain.placed, plain.reasons) == (3, 4, {"NodeResourcesFit: Insufficient cpu": 3})
    assert (gpu.nodes, gpu.placed, gpu.reasons) == (1, 0, {"TaintToleration: node(s) had untolerated taint(s)": 1})
    assert sum(found.placed.values()) == 4


def test_one_more_than_fits_would_wait() -> None:
    """The real scheduler agrees: so many are placed, and the next one is not."""
    lab = two_kinds()
    pod = make_pod("web").req(cpu="1100m", memory="700Mi")
    found = ask(lab, pod.dict())
    for number in range(found.fits + 1):
        lab.pod(f"real-{number}", requests={"cpu": "1100m", "memory": "700Mi"})
    lab.settle()

    nodes = [lab.node_of(f"real-{number}") for number in range(found.fits + 1)]
    assert (all(nodes[:-1]), nodes[-1]) == (True, "")


@pytest.mark.parametrize(
    ("pod", "fits", "reason"),
    [
        (make_pod().req(cpu="99"), 0, "Insufficient cpu"),
        (make_pod().toleration("gpu", operator="Exists").req(cpu="16"), 1, "Insufficient cpu"),
        (make_pod().host_port(80), 3, "free ports"),
        (make_pod().label("app", "a").pod_anti_affinity("kubernetes.io/hostname", {"app": "a"}), 3, "anti-affinity"),
        (
            make_pod().label("app", "a").spread_constraint(1, "kubernetes.io/hostname", {"app": "a"}).req(cpu="2"),
            3,
            "topology spread",
        ),
    ],
)
def test_whatever_limits_pods_limits_copies(pod: Any, fits: int, reason: str) -> None:
    found = ask(two_kinds(), pod.dict())

    assert found.fits == fits
    assert reason in found.stops


def test_nobody_is_evicted_for_a_copy() -> None:
    lab = Lab()
    lab.node("n", cpu="4")
    lab.priority("high", 1000)
    lab.pod("low", cpu="4")
    lab.settle()

    assert ask(lab, make_pod("web").req(cpu="1").set("spec.priorityClassName", "high").dict()).fits == 0


def test_quotas_count() -> None:
    lab = two_kinds()
    lab.create("resourcequotas", {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "2"}}}, "default")
    lab.settle()
    found = ask(lab, make_pod("web").dict())

    assert found.fits == 2
    assert "exceeded quota: q" in found.stops


def test_claims_of_copies_take_their_devices() -> None:
    """Each copy gets a claim of its own from the template, and so a device of its own."""
    lab = two_kinds()
    lab.create("deviceclasses.resource.k8s.io", {"metadata": {"name": "gpu"}})
    devices = [{"name": f"d{number}"} for number in range(3)]
    pool = {"name": "p", "generation": 1, "resourceSliceCount": 1}
    slice_ = {"driver": "gpu.example.com", "nodeName": "plain-0", "pool": pool, "devices": devices}
    lab.create("resourceslices.resource.k8s.io", {"metadata": {"name": "s"}, "spec": slice_})
    request = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]}}
    lab.create(
        "resourceclaimtemplates.resource.k8s.io", {"metadata": {"name": "t"}, "spec": {"spec": request}}, "default"
    )
    lab.settle()
    pod = make_pod("web").set("spec.resourceClaims", [{"name": "r", "resourceClaimTemplateName": "t"}])

    found = ask(lab, pod.dict())
    assert (found.fits, found.placed) == (3, {"plain-0": 3})


def test_a_workload_is_asked_by_its_template() -> None:
    template = {"metadata": {"labels": {"app": "a"}}, "spec": make_pod().req(cpu="2").dict()["spec"]}
    workload = {"kind": "Deployment", "metadata": {"name": "web"}, "spec": {"replicas": 9, "template": template}}
    found = ask(two_kinds(), workload)

    assert (found.pod, found.fits) == ("default/web", 6)


def test_a_limit_ends_the_search() -> None:
    found = ask(two_kinds(), make_pod("web").dict(), limit=5)

    assert (found.fits, found.stops) == (5, "")


def test_a_pod_that_was_exported_is_asked_like_a_new_one() -> None:
    """Its node, its uid and its status say nothing about copies."""
    pod = make_pod("web").req(cpu="1").node("plain-0").phase("Running").uid("u").dict()

    assert ask(two_kinds(), pod).fits == 12


@pytest.mark.parametrize(
    ("pod", "options", "words"),
    [
        ({"kind": "Node", "spec": {}}, {}, "Node is no pod"),
        (make_pod().scheduler_name("other").dict(), {}, "asks for the scheduler 'other', which is not here"),
        (make_pod("UPPER").dict(), {}, "is invalid"),
        (make_pod(namespace="none").dict(), {}, 'namespaces "none" not found'),
        (make_pod().dict(), {"limit": 0}, "0 copies cannot be tried"),
        (make_pod().dict(), {"limit": LIMIT_MAX + 1}, "cannot be tried"),
    ],
)
def test_mistakes(pod: dict[str, Any], options: dict[str, Any], words: str) -> None:
    with pytest.raises(SchedlabError) as found:
        fit(two_kinds().cluster, pod, **options)
    assert words in str(found.value)
