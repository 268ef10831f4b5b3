"""A node refuses what does not fit, with the kubelet's reasons and words."""

from __future__ import annotations

import msgspec
import pytest

from schedlab.api.views.core import Node, Pod
from schedlab.kubelet.admission import NodeAccount, Rejection, admit


def _node(**status: object) -> Node:
    allocatable = {"cpu": "1", "memory": "1Gi", "pods": "2", **status}
    return msgspec.convert(
        {
            "metadata": {"name": "n", "labels": {"disk": "ssd"}},
            "spec": {"taints": [{"key": "t", "effect": "NoExecute"}, {"key": "s", "effect": "NoSchedule"}]},
            "status": {"allocatable": allocatable},
        },
        Node,
    )


def _pod(uid: str = "u", requests: dict[str, str] | None = None, host_port: int = 0, **spec: object) -> Pod:
    container = {"name": "c", "resources": {"requests": requests or {}}, "ports": [{"hostPort": host_port}]}
    tolerations = [{"key": "t", "operator": "Exists"}]
    return msgspec.convert(
        {
            "metadata": {"name": uid, "namespace": "default", "uid": uid},
            "spec": {"containers": [container], "tolerations": tolerations, **spec},
        },
        Pod,
    )


def test_pod_that_fits_is_admitted_also_past_a_no_schedule_taint() -> None:
    assert admit(_pod(requests={"cpu": "1"}), _node(), NodeAccount()) is None


@pytest.mark.parametrize(
    ("pod", "rejection"),
    [
        (
            _pod(requests={"cpu": "600m"}),
            Rejection("OutOfcpu", "Node didn't have enough resource: cpu, requested: 600, used: 500, capacity: 1000"),
        ),
        (
            _pod(requests={"memory": "2Gi"}),
            Rejection(
                "OutOfmemory",
                "Node didn't have enough resource: memory, requested: 2147483648, used: 0, capacity: 1073741824",
            ),
        ),
        (
            _pod(nodeSelector={"disk": "hdd"}),
            Rejection(
                "NodeAffinity",
                "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector",
            ),
        ),
        (
            _pod(host_port=80),
            Rejection(
                "NodePorts",
                "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports",
            ),
        ),
        (
            _pod(tolerations=[]),
            Rejection("TaintToleration", "Predicate TaintToleration failed: node(s) had untolerated taint(s)"),
        ),
    ],
    ids=["cpu", "memory", "affinity", "port", "taint"],
)
def test_pod_that_does_not_fit_is_refused(pod: Pod, rejection: Rejection) -> None:
    account = NodeAccount()
    account.take(_pod("first", {"cpu": "500m"}, host_port=80))

    assert admit(pod, _node(), account) == rejection


def test_full_node_is_out_of_pods() -> None:
    account = NodeAccount()
    account.take(_pod("a"))
    account.take(_pod("b"))

    rejection = admit(_pod("c"), _node(), account)

    assert rejection is not None
    assert rejection.reason == "OutOfpods"


def test_extended_resource_that_the_node_does_not_know_is_not_its_business() -> None:
    pod = _pod(requests={"example.com/gpu": "1"})

    assert admit(pod, _node(), NodeAccount()) is None
    rejection = admit(pod, _node(**{"example.com/gpu": "0"}), NodeAccount())
    assert rejection is not None
    assert rejection.reason == "OutOfexample.com/gpu"


def test_account_counts_each_pod_once_and_forgets_it_whole() -> None:
    account = NodeAccount()
    pod = _pod("a", {"cpu": "1"}, host_port=80)
    account.take(pod)
    account.take(pod)
    assert account.used["cpu"] == 1000

    account.release("a")
    account.release("a")

    assert account.used["cpu"] == 0
    assert admit(_pod("b", {"cpu": "1"}, host_port=80), _node(), account) is None
