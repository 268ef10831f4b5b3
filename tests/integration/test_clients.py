"""Clients that others wrote work unchanged: the same cases with each of them, in process and over TCP."""

import ssl
import threading
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import islice
from typing import Any

import httpx
import pytest

from tests.integration.clients import (
    APPLY,
    JSON,
    MERGE,
    STRATEGIC,
    Client,
    InProcess,
    KubernetesClient,
    LightkubeClient,
    Refused,
)
from tests.integration.kr8s_client import Kr8sClient
from tests.support.api_server import Process, make_app
from tests.support.asgi import Loop

CLIENTS: dict[str, Any] = {"kr8s": Kr8sClient, "kubernetes": KubernetesClient, "lightkube": LightkubeClient}
DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"
WIDGETS: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.com"},
    "spec": {
        "group": "example.com",
        "names": {"plural": "widgets", "kind": "Widget"},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "properties": {"size": {"type": "integer", "maximum": 9, "default": 1}},
                            }
                        },
                    }
                },
            }
        ],
    },
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    """One server for all cases; each case has names of its own."""
    with Process(tmp_path_factory.mktemp("server"), accounts=True) as process:
        address = process.address
        context = ssl.create_default_context(cafile=address.ca)
        headers = {"Authorization": f"Bearer {address.token}"}
        path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        assert httpx.post(f"{address.url}{path}", json=WIDGETS, headers=headers, verify=context).status_code == 201
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
    app, registry = make_app()
    registry.create(DEFINITIONS, registry.decode(DEFINITIONS, WIDGETS))
    with Loop() as loop:
        made = client_class.in_process(InProcess(app, loop))
        yield made
        made.close()


@contextmanager
def watching(client: Client, kind: str, name: str, since: str) -> Iterator[Iterator[tuple[str, dict[str, Any]]]]:
    """Watch one object for at most five seconds."""
    with closing(client.watch(kind, since, 5)) as events:
        yield (event for event in events if event[1]["metadata"]["name"] == name)


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """A name that no other case uses."""
    return f"case-{zlib.crc32(request.node.name.encode()):08x}"


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
    for number in range(101):
        obj = config_map(f"{name}-{number:03}")
        client.create("ConfigMap", {**obj, "metadata": {**obj["metadata"], "labels": {"case": name[:50]}}})
    labels = f"case={name[:50]}"

    names = [item["metadata"]["name"] for item in client.list("ConfigMap", labels=labels, limit=40)]
    one = client.list("ConfigMap", fields=f"metadata.name={name}-003")
    assert names == [f"{name}-{number:03}" for number in range(101)]
    assert [item["metadata"]["name"] for item in one] == [f"{name}-003"]


def test_watch_sees_changes_in_order(client: Client, client_class: Any, name: str) -> None:
    """From the version of an object on, every change comes once and in order."""
    since = client.create("ConfigMap", config_map(name))["metadata"]["resourceVersion"]

    def change() -> None:
        client.patch("ConfigMap", name, {"data": {"a": "1"}}, MERGE)
        client.patch("ConfigMap", name, {"data": {"a": "2"}}, MERGE)
        client.delete("ConfigMap", name)

    timer = threading.Timer(0.2, change)
    timer.start()
    with watching(client, "ConfigMap", name, since) as events:
        seen = [(kind, obj.get("data")) for kind, obj in islice(events, 3)]
    timer.join()

    assert seen == [("MODIFIED", {"a": "1"}), ("MODIFIED", {"a": "2"}), ("DELETED", {"a": "2"})]


def test_patches_that_do_not_fit_are_refused(client: Client, name: str) -> None:
    """A test that fails, a value of the wrong type, a field of another applier, a missing object."""
    client.create("ConfigMap", config_map(name, a="1"))
    client.patch("ConfigMap", name, config_map(name, z="1"), APPLY, "first")
    wrong: list[tuple[str, Any, str, str]] = [
        (name, [{"op": "test", "path": "/data/a", "value": "2"}], JSON, ""),
        (name, {"data": {"a": {"b": "c"}}}, MERGE, ""),
        (name, {"data": {"a": {"b": "c"}}}, STRATEGIC, ""),
        (name, config_map(name, z="2"), APPLY, "second"),
        (f"{name}-none", {"data": {}}, MERGE, ""),
    ]
    codes = []
    for target, patch, media_type, manager in wrong:
        with pytest.raises(Refused) as caught:
            client.patch("ConfigMap", target, patch, media_type, manager)
        codes.append(caught.value.code)

    assert codes == [422, 422, 422, 409, 404]
    assert client.get("ConfigMap", name)["data"] == {"a": "1", "z": "1"}


def test_status_has_its_own_door(client: Client, name: str) -> None:
    """A patch of the status changes the status alone, by each type of patch."""
    client.create("Node", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})

    def condition(kind: str) -> dict[str, Any]:
        return {"status": {"conditions": [{"type": kind, "status": "True"}]}, "spec": {"unschedulable": True}}

    client.patch("Node", name, condition("A"), STRATEGIC, subresource="status")
    client.patch("Node", name, condition("B"), STRATEGIC, subresource="status")
    both = client.get("Node", name)
    client.patch("Node", name, condition("C"), MERGE, subresource="status")
    path = "/status/conditions/-"
    added = [{"op": "add", "path": path, "value": {"type": "D", "status": "True"}}]
    changed = client.patch("Node", name, added, JSON, subresource="status")

    assert sorted(entry["type"] for entry in both["status"]["conditions"]) == ["A", "B"]
    assert [entry["type"] for entry in changed["status"]["conditions"]] == ["C", "D"]
    assert not changed["spec"].get("unschedulable")
    client.delete("Node", name)


def test_workloads_are_written_whole(client: Client, name: str) -> None:
    """A deployment comes back with its defaults, can be put back as it came, and counts its generations."""
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": 2, "selector": {"matchLabels": {"app": name}}, "template": template}
    made = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}
    created = client.create("Deployment", made)
    again = client.replace(
        "Deployment", name, {**client.get("Deployment", name), "kind": "Deployment", "apiVersion": "apps/v1"}
    )
    scaled = client.patch("Deployment", name, {"spec": {"replicas": 3}}, STRATEGIC)
    client.delete("Deployment", name)

    assert created["spec"]["strategy"]["rollingUpdate"] == {"maxSurge": "25%", "maxUnavailable": "25%"}
    assert again["metadata"]["resourceVersion"] == created["metadata"]["resourceVersion"]
    assert [each["metadata"]["generation"] for each in (created, scaled)] == [1, 2]


def test_custom_resources_are_like_others(client: Client, name: str) -> None:
    """Created, defaulted, checked, replaced, patched, watched, listed and deleted."""
    widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}, "spec": {}}
    created = client.create("Widget", widget)
    since = created["metadata"]["resourceVersion"]
    version = {"metadata": {"name": name, "resourceVersion": since}}
    replaced = client.replace("Widget", name, {**widget, **version, "spec": {"size": 2}})
    merged = client.patch("Widget", name, {"spec": {"size": 3}}, MERGE)
    patched = client.patch("Widget", name, [{"op": "replace", "path": "/spec/size", "value": 4}], JSON)
    applied = client.patch(
        "Widget", name, {**widget, "metadata": {"name": name, "labels": {"a": "b"}}}, APPLY, "applier"
    )
    codes = []
    for patch, media_type in (({"spec": {"size": 10}}, MERGE), ({"spec": {"size": 1}}, STRATEGIC)):
        with pytest.raises(Refused) as caught:
            client.patch("Widget", name, patch, media_type)
        codes.append(caught.value.code)
    listed = [item["spec"]["size"] for item in client.list("Widget", fields=f"metadata.name={name}")]
    client.delete("Widget", name)
    with watching(client, "Widget", name, since) as events:
        seen = [(kind, obj["spec"]["size"]) for kind, obj in islice(events, 5)]

    assert [each["spec"]["size"] for each in (created, replaced, merged, patched, applied)] == [1, 2, 3, 4, 4]
    assert codes == [422, 415]
    assert listed == [4]
    assert seen == [("MODIFIED", 2), ("MODIFIED", 3), ("MODIFIED", 4), ("MODIFIED", 4), ("DELETED", 4)]


def test_watch_without_a_version_begins_with_what_is_there(client: Client, name: str) -> None:
    """Each object comes as if it had been added, then the changes."""
    client.create("ConfigMap", config_map(name, a="1"))
    with watching(client, "ConfigMap", name, "") as events:
        first = next(events)
        client.patch("ConfigMap", name, {"data": {"a": "2"}}, MERGE)
        second = next(events)

    assert [(kind, obj["data"]) for kind, obj in (first, second)] == [("ADDED", {"a": "1"}), ("MODIFIED", {"a": "2"})]


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
