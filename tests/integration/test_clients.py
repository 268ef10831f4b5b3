"""Clients that others wrote work unchanged: the same cases with each of them, in process and over TCP."""

import threading
from collections.abc import Iterator
from itertools import islice
from typing import Any

import pytest

from tests.integration.clients import Client, InProcess, KubernetesClient, LightkubeClient, Refused
from tests.support.api_server import Process, make_app
from tests.support.asgi import Loop

CLIENTS: dict[str, Any] = {"kubernetes": KubernetesClient, "lightkube": LightkubeClient}
STRATEGIC = "application/strategic-merge-patch+json"
MERGE = "application/merge-patch+json"
JSON = "application/json-patch+json"
APPLY = "application/apply-patch+yaml"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    """One server for all cases; each case has names of its own."""
    with Process(tmp_path_factory.mktemp("server"), accounts=True) as process:
        yield process


@pytest.fixture(params=sorted(CLIENTS))
def client_class(request: pytest.FixtureRequest) -> Any:
    return CLIENTS[request.param]


@pytest.fixture(params=["in-process", "tcp"])
def client(request: pytest.FixtureRequest, client_class: Any) -> Iterator[Client]:
    if request.param == "tcp":
        process = request.getfixturevalue("server")
        made = client_class.over_tcp(process.address.kubeconfig)
        yield made
        made.close()
        return
    app, _registry = make_app()
    with Loop() as loop:
        yield client_class.in_process(InProcess(app, loop))


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """A name that no other case uses."""
    return "".join(char if char.isalnum() else "-" for char in request.node.name).strip("-").replace("_", "-")[:60]


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def pod(name: str) -> dict[str, Any]:
    container = {"name": "c", "image": "registry.example.com/app:1", "resources": {"requests": {"cpu": "100m"}}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [container]}}


def test_create_read_replace_delete(client: Client, name: str) -> None:
    """An object is there between its creation and its deletion, and changes when it is replaced."""
    created = client.create("ConfigMap", config_map(name, a="1"))
    replaced = client.replace("ConfigMap", name, config_map(name, a="2"))

    assert created["metadata"]["uid"] == replaced["metadata"]["uid"]
    assert int(created["metadata"]["resourceVersion"]) < int(replaced["metadata"]["resourceVersion"])
    assert client.get("ConfigMap", name)["data"] == {"a": "2"}
    client.delete("ConfigMap", name)
    with pytest.raises(Refused) as caught:
        client.get("ConfigMap", name)
    assert caught.value.code == 404


def test_refusals_carry_code_and_reason(client: Client, name: str) -> None:
    """A taken name, a stale version and a bad name are told apart."""
    first = client.create("ConfigMap", config_map(name))
    client.patch("ConfigMap", name, {"data": {"a": "1"}}, MERGE)
    stale = {**config_map(name), "metadata": {"name": name, "resourceVersion": first["metadata"]["resourceVersion"]}}

    with pytest.raises(Refused) as taken:
        client.create("ConfigMap", config_map(name))
    with pytest.raises(Refused) as conflict:
        client.replace("ConfigMap", name, stale)
    with pytest.raises(Refused) as invalid:
        client.create("ConfigMap", config_map("Not_A_Name"))

    assert [caught.value.code for caught in (taken, conflict, invalid)] == [409, 409, 422]


def test_patches(client: Client, name: str) -> None:
    """The four types of patches do what each of them means."""
    client.create("ConfigMap", config_map(name, a="1", b="1"))

    client.patch("ConfigMap", name, {"data": {"a": None}}, MERGE)
    client.patch("ConfigMap", name, {"metadata": {"labels": {"x": "y"}}}, STRATEGIC)
    client.patch("ConfigMap", name, [{"op": "add", "path": "/data/c", "value": "1"}], JSON)
    applied = client.patch("ConfigMap", name, config_map(name, z="1"), APPLY, "applier")

    assert applied["data"] == {"b": "1", "c": "1", "z": "1"}
    assert applied["metadata"]["labels"] == {"x": "y"}
    assert "applier" in [entry["manager"] for entry in applied["metadata"]["managedFields"]]


def test_lists_by_labels_fields_and_pages(client: Client, name: str) -> None:
    """Selectors narrow a list, and pages join into the whole."""
    for number in range(5):
        obj = config_map(f"{name}-{number}")
        client.create("ConfigMap", {**obj, "metadata": {**obj["metadata"], "labels": {"case": name[:50]}}})
    labels = f"case={name[:50]}"

    names = [item["metadata"]["name"] for item in client.list("ConfigMap", labels=labels, limit=2)]
    one = client.list("ConfigMap", fields=f"metadata.name={name}-3")
    assert names == [f"{name}-{number}" for number in range(5)]
    assert [item["metadata"]["name"] for item in one] == [f"{name}-3"]


def test_watch_sees_changes_in_order(client: Client, client_class: Any, name: str) -> None:
    """From the version of an object on, every change comes once and in order."""
    since = client.create("ConfigMap", config_map(name))["metadata"]["resourceVersion"]

    def change() -> None:
        client.patch("ConfigMap", name, {"data": {"a": "1"}}, MERGE)
        client.patch("ConfigMap", name, {"data": {"a": "2"}}, MERGE)
        client.delete("ConfigMap", name)

    timer = threading.Timer(0.2, change)
    timer.start()
    events = (event for event in client.watch("ConfigMap", since, 5) if event[1]["metadata"]["name"] == name)
    seen = [(kind, obj.get("data")) for kind, obj in islice(events, 3)]
    timer.join()

    assert seen == [("MODIFIED", {"a": "1"}), ("MODIFIED", {"a": "2"}), ("DELETED", {"a": "2"})]


def test_pod_is_bound_to_a_node(client: Client, name: str) -> None:
    """A scheduler of one's own needs no more than a list of pods and a binding."""
    client.create("Node", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"{name}-n"}})
    client.create("Pod", pod(name))
    waiting = [item["metadata"]["name"] for item in client.list("Pod", fields="spec.nodeName=")]
    client.bind(name, f"{name}-n")

    assert name in waiting
    assert client.get("Pod", name)["spec"]["nodeName"] == f"{name}-n"
    assert [item["metadata"]["name"] for item in client.list("Pod", fields=f"spec.nodeName={name}-n")] == [name]
    client.delete("Pod", name)
    client.delete("Node", f"{name}-n")
