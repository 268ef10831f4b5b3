"""The metrics API tells what pods and nodes use."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from schedlab.apiserver.app import APIServer
from schedlab.apiserver.authentication import Authenticator
from tests.support.api_server import ADMIN, TOKEN
from tests.support.asgi import Call, answer
from tests.support.usage import Metered

ROOT = "/apis/metrics.k8s.io/v1beta1"


@pytest.fixture
def metered() -> Metered:
    metered = Metered()
    metered.add_pod("p", "a", "b", labels={"app": "x"}, annotations={"kwok.x-k8s.io/usage-cpu": "250m"})
    metered.add_pod("q")
    metered.plane.run_for(20)
    return metered


def ask(metered: Metered | None, path: str, query: str = "", accept: str = "application/json") -> Any:
    """Answer a request; returns status and body."""
    metered_plane = Metered().plane if metered is None else metered.plane
    metrics = None if metered is None else metered.measurements
    server = APIServer(metered_plane.registry, metered_plane.clock, Authenticator({TOKEN: ADMIN}), metrics=metrics)
    headers = {"host": "x", "authorization": f"Bearer {TOKEN}", "accept": accept}
    response = asyncio.run(answer(server, Call("GET", path, query, headers)))
    return response.status, response.json


def test_one_pod(metered: Metered) -> None:
    """With its labels, the time of the measurement and each container."""
    status, body = ask(metered, f"{ROOT}/namespaces/default/pods/p")

    assert status == 200
    assert body == {
        "kind": "PodMetrics",
        "apiVersion": "metrics.k8s.io/v1beta1",
        "metadata": {
            "name": "p",
            "namespace": "default",
            "creationTimestamp": "2026-01-01T00:00:15Z",
            "labels": {"app": "x"},
        },
        "timestamp": "2026-01-01T00:00:15Z",
        "window": "15s",
        "containers": [
            {"name": "a", "usage": {"cpu": "250m", "memory": "1Mi"}},
            {"name": "b", "usage": {"cpu": "250m", "memory": "1Mi"}},
        ],
    }


def test_one_node(metered: Metered) -> None:
    """Everything on it together."""
    status, body = ask(metered, f"{ROOT}/nodes/n1")

    assert (status, body["kind"], body["usage"]) == (200, "NodeMetrics", {"cpu": "501m", "memory": "3Mi"})


@pytest.mark.parametrize(
    ("path", "query", "names"),
    [
        ("/pods", "", ["p", "q"]),
        ("/namespaces/default/pods", "labelSelector=app%3Dx", ["p"]),
        ("/namespaces/default/pods", "fieldSelector=metadata.name%3Dq", ["q"]),
        ("/namespaces/kube-system/pods", "", []),
        ("/nodes", "", ["n1"]),
        ("/nodes", "labelSelector=a%3Db", []),
    ],
)
def test_lists(metered: Metered, path: str, query: str, names: list[str]) -> None:
    """Selected as the objects themselves."""
    status, body = ask(metered, ROOT + path, query)

    assert (status, [each["metadata"]["name"] for each in body["items"]]) == (200, names)
    assert body["kind"] == ("NodeMetricsList" if path == "/nodes" else "PodMetricsList")


def test_what_is_not_measured(metered: Metered) -> None:
    """It is not found."""
    status, body = ask(metered, f"{ROOT}/namespaces/default/pods/gone")

    assert status == 404
    assert body["message"] == 'pods.metrics.k8s.io "default/gone" not found'


def test_tables(metered: Metered) -> None:
    """As kubectl get prints them."""
    accept = "application/json;as=Table;v=v1;g=meta.k8s.io"
    _, body = ask(metered, f"{ROOT}/namespaces/default/pods", accept=accept)

    assert [row["cells"] for row in body["rows"]] == [["p", "500m", "2Mi", "15s"], ["q", "1m", "1Mi", "15s"]]


def test_discovery(metered: Metered) -> None:
    """The group is there when somebody measures; nothing in it can be changed."""
    _, groups = ask(metered, "/apis")
    _, resources = ask(metered, ROOT)
    _, others = ask(None, "/apis")

    assert "metrics.k8s.io" in [group["name"] for group in groups["groups"]]
    assert [(each["name"], each["verbs"]) for each in resources["resources"]] == [
        ("nodes", ["get", "list"]),
        ("pods", ["get", "list"]),
    ]
    assert "metrics.k8s.io" not in [group["name"] for group in others["groups"]]
