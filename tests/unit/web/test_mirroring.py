"""kube-scheduler-simulator's REST API: the calls of its web client, their shapes and codes; and what ours adds."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import orjson
import pytest

from schedlab.web.app import SimulatorApp
from schedlab.web.simulator import Simulator
from tests.support.simulator_api import Server


def _config(**fields: Any) -> dict[str, Any]:
    return {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration", **fields}


# --- The scheduler's configuration -----------------------------------------------------------------------------------


def test_the_configuration_is_shown_whole() -> None:
    status, body, headers = Server().ask("GET", "/api/v1/schedulerconfiguration")

    assert status == 200
    assert headers["content-type"] == "application/json; charset=UTF-8"
    assert (body["kind"], body["apiVersion"]) == ("KubeSchedulerConfiguration", "kubescheduler.config.k8s.io/v1")
    assert body["profiles"][0]["schedulerName"] == "default-scheduler"


def test_only_profiles_and_extenders_are_taken_and_what_is_left_out_is_cleared() -> None:
    server = Server(scheduler_config=_config(percentageOfNodesToScore=40, extenders=[_extender("http://a")]))
    posted = _config(percentageOfNodesToScore=7, profiles=[{"schedulerName": "mine"}])
    status, body, _ = server.ask("POST", "/api/v1/schedulerconfiguration", posted)
    now = server.ask("GET", "/api/v1/schedulerconfiguration")[1]

    assert (status, body) == (202, None)
    assert now["percentageOfNodesToScore"] == 40
    assert [profile["schedulerName"] for profile in now["profiles"]] == ["mine"]
    assert now.get("extenders") in (None, [])


def _extender(url: str) -> dict[str, Any]:
    return {"urlPrefix": url, "filterVerb": "filter", "prioritizeVerb": "prioritize", "weight": 1}


@pytest.mark.parametrize("body", [_config(profiles=[{"schedulerName": ""}, {"schedulerName": ""}]), [], "x"])
def test_a_wrong_configuration_is_an_error_and_changes_nothing(body: object) -> None:
    server = Server()
    before = server.ask("GET", "/api/v1/schedulerconfiguration")[1]
    status, answer, _ = server.ask("POST", "/api/v1/schedulerconfiguration", body)

    assert status == 500
    assert answer["message"]
    assert server.ask("GET", "/api/v1/schedulerconfiguration")[1] == before


# --- Snapshots and reset ---------------------------------------------------------------------------------------------


def test_an_export_goes_back_in_after_a_reset() -> None:
    server = Server(nodes=2)
    server.lab.create_pod("a")
    server.lab.create("namespaces", {"metadata": {"name": "shop"}})
    server.lab.run()
    placed = server.lab.nodes_of_pods()
    exported = server.ask("GET", "/api/v1/export")[1]
    reset = server.ask("PUT", "/api/v1/reset", {})
    after_reset = server.lab.names("pods")
    status, body, _ = server.ask("POST", "/api/v1/import", exported)
    server.lab.run()

    assert reset[:2] == (202, None)
    assert after_reset == []
    assert (status, body) == (200, None)
    assert server.lab.nodes_of_pods() == placed
    assert "shop" in server.lab.names("namespaces")


def test_a_reset_takes_away_what_controllers_would_make_anew_in_between() -> None:
    server = Server(nodes=2)
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "web:1"}]}}
    spec = {"replicas": 20, "selector": {"matchLabels": labels}, "template": template}
    server.lab.create("deployments.apps", {"metadata": {"name": "web"}, "spec": spec}, "default")
    server.lab.run()
    running = len(server.lab.names("pods"))

    async def reset_while_the_cluster_lives() -> None:
        reset = asyncio.ensure_future(server.mirroring.reset())
        while not reset.done():
            server.lab.run()
            await asyncio.sleep(0)
        await reset

    asyncio.run(reset_while_the_cluster_lives())

    assert running == 20
    assert [server.lab.names(kind) for kind in ("pods", "replicasets.apps", "deployments.apps")] == [[], [], []]


def test_a_reset_brings_the_first_configuration_back() -> None:
    server = Server()
    first = server.ask("GET", "/api/v1/schedulerconfiguration")[1]
    server.ask("POST", "/api/v1/schedulerconfiguration", _config(profiles=[{"schedulerName": "mine"}]))
    server.ask("PUT", "/api/v1/reset", {})

    assert server.ask("GET", "/api/v1/schedulerconfiguration")[1] == first


def test_a_snapshot_without_configuration_leaves_the_one_in_force() -> None:
    server = Server()
    before = server.ask("GET", "/api/v1/schedulerconfiguration")[1]

    assert server.ask("POST", "/api/v1/import", {"nodes": [], "schedulerConfig": None})[0] == 200
    assert server.ask("GET", "/api/v1/schedulerconfiguration")[1] == before


def test_replacing_takes_away_what_the_snapshot_does_not_hold() -> None:
    server = Server()
    server.lab.create("nodes", {"metadata": {"name": "old"}})
    server.ask("POST", "/api/v1/import?replace=true", {"nodes": [{"metadata": {"name": "new"}}]})

    assert server.lab.names("nodes") == ["new"]


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b'{"pods":5}'])
def test_a_body_that_is_no_snapshot_is_a_bad_request(raw: bytes) -> None:
    status, answer, _ = Server().ask("POST", "/api/v1/import", raw=raw)

    assert status == 400
    assert answer["message"]


def test_objects_that_are_refused_are_named() -> None:
    server = Server()
    nodes = [{"metadata": {"name": "Bad_Name"}}, {"metadata": {"name": "good"}}]
    status, answer, _ = server.ask("POST", "/api/v1/import", {"nodes": nodes})

    assert status == 500
    assert "Bad_Name" in answer["message"]
    assert server.lab.names("nodes") == ["good"]


# --- The stream ------------------------------------------------------------------------------------------------------


def test_without_versions_the_stream_lists_everything_first() -> None:
    server = Server(nodes=2)
    server.lab.create("priorityclasses.scheduling.k8s.io", {"metadata": {"name": "high"}, "value": 7})
    count = 2 + 3 + len(server.lab.names("namespaces"))
    status, events, headers = server.ask("GET", "/api/v1/listwatchresources", lines=count)

    assert status == 200
    assert headers["content-type"] == "application/json"
    kinds = [event["Kind"] for event in events]
    assert kinds[:2] == ["nodes", "nodes"]
    assert kinds.count("priorityclasses") == 3
    assert {event["EventType"] for event in events} == {"ADDED"}
    assert "kind" not in events[0]["Obj"]


def test_with_versions_the_stream_goes_on_behind_them() -> None:
    server = Server(nodes=1)
    version = server.lab.registry.revision
    server.lab.create_pod("a")
    server.lab.run()
    server.lab.registry.delete("pods", "a", "default")
    server.lab.run()
    keys = ("pods", "nodes", "pvs", "pvcs", "scs", "pcs", "namespace")
    query = "&".join(f"{key}LastResourceVersion={version}" for key in keys)
    events = server.ask("GET", f"/api/v1/listwatchresources?{query}", lines=3)[1]
    pods = [event for event in events if event["Kind"] == "pods"]

    assert pods[0]["EventType"] == "ADDED"
    assert pods[0]["Obj"]["metadata"]["name"] == "a"


def test_a_version_that_is_none_is_refused() -> None:
    status, answer, _ = Server().ask("GET", "/api/v1/listwatchresources?podsLastResourceVersion=new")

    assert status == 400
    assert answer["location"] == "podsLastResourceVersion"


# --- Extenders -------------------------------------------------------------------------------------------------------


@contextmanager
def _listening(answer: Callable[[str, Any], Any]) -> Any:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            content = orjson.dumps(answer(self.path, orjson.loads(body)))
            self.send_response(200)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/ext"
    server.shutdown()
    server.server_close()
    thread.join()


def test_an_extender_is_asked_what_the_scheduler_would_ask_it() -> None:
    with _listening(lambda path, body: {"path": path, "body": body}) as url:
        server = Server(scheduler_config=_config(extenders=[_extender(url)]))
        status, body, _ = server.ask("POST", "/api/v1/extender/filter/0", {"Pod": {}})

    assert status == 200
    assert body == {"path": "/ext/filter", "body": {"Pod": {}}}


@pytest.mark.parametrize(
    ("path", "raw", "code"),
    [
        ("filter/x", b"{}", 400),
        ("filter/0", b"{", 400),
        ("filter/7", b"{}", 400),
        ("bind/0", b"{}", 400),
        ("filter/0", b"{}", 500),
        ("dance/0", b"{}", 404),
    ],
)
def test_what_an_extender_cannot_be_asked_is_an_error(path: str, raw: bytes, code: int) -> None:
    server = Server(scheduler_config=_config(extenders=[_extender("http://127.0.0.1:9")]))
    status, answer, _ = server.ask("POST", f"/api/v1/extender/{path}", raw=raw)

    assert status == code
    assert answer["message"]


# --- Replay and objects ----------------------------------------------------------------------------------------------


def _record(file: Path, names: Sequence[str]) -> Path:
    lines = []
    for name in names:
        spec = {"containers": [{"name": "c", "image": "i"}]}
        metadata = {"name": name, "namespace": "default"}
        pod = {"kind": "Pod", "apiVersion": "v1", "metadata": metadata, "spec": spec}
        lines.append(orjson.dumps({"time": "2026-01-01T00:00:00Z", "event": "Add", "resource": pod}) + b"\n")
    file.write_bytes(b"".join(lines))
    return file


def test_a_record_is_played_paused_and_ended(tmp_path: Path) -> None:
    server = Server(nodes=1)
    file = _record(tmp_path / "record.jsonl", ["a", "b"])
    begun = server.ask("POST", "/api/v1/replay", {"file": str(file)})
    second = server.ask("POST", "/api/v1/replay", {"file": str(file)})
    paused = server.ask("PATCH", "/api/v1/replay", {"paused": True, "position": 1})[1]
    going = server.ask("PATCH", "/api/v1/replay", {"paused": False})[0]
    server.lab.run()
    status = server.ask("GET", "/api/v1/replay")[1]
    ended = server.ask("DELETE", "/api/v1/replay")[0]

    assert begun[:2] == (202, {"warnings": []})
    assert second[0] == 400
    assert "replay is under way" in second[1]["message"]
    assert (paused["state"], paused["position"], going) == ("paused", 1, 200)
    assert (status["state"], status["done"]) == ("ended", {"Add pods": 1})
    assert server.lab.names("pods") == ["b"]
    assert ended == 202
    assert server.ask("GET", "/api/v1/replay")[1] == {"state": "stopped"}


def test_what_is_played_is_chosen_and_changed_on_the_way(tmp_path: Path) -> None:
    server = Server(nodes=1)
    file = _record(tmp_path / "record.jsonl", ["a"])
    edits = {"po": {"metadata": {"labels": {"team": "a"}}, "spec": {"schedulerName": "mine"}}}
    server.ask("POST", "/api/v1/replay", {"file": str(file), "edits": edits, "resources": ["pod"]})
    server.lab.run()
    pod = server.lab.registry.get("pods", "a", "default")

    assert pod.view.spec.scheduler_name == "mine"
    assert pod.labels == {"team": "a"}
    assert server.lab.nodes_of_pods() == {"a": ""}


@pytest.mark.parametrize(
    "wrong", [{"edits": {"toasters": {}}}, {"edits": ["pods"]}, {"edits": {"pods": 5}}, {"resources": ["toasters"]}]
)
def test_kinds_and_changes_that_are_none_are_refused(tmp_path: Path, wrong: dict[str, Any]) -> None:
    server = Server()
    file = _record(tmp_path / "record.jsonl", ["a"])

    assert server.ask("POST", "/api/v1/replay", {"file": str(file), **wrong})[0] == 400
    assert server.ask("GET", "/api/v1/replay")[1] == {"state": "stopped"}


def test_a_wrong_record_is_refused_before_anything_is_applied(tmp_path: Path) -> None:
    server = Server(nodes=1)
    file = _record(tmp_path / "record.jsonl", ["a"])
    file.write_bytes(file.read_bytes() + b"nonsense\n")
    status, answer, _ = server.ask("POST", "/api/v1/replay", {"file": str(file)})
    server.lab.run()

    assert status == 400
    assert "line 2" in answer["message"]
    assert server.lab.names("pods") == []


@pytest.mark.parametrize("body", [[], {"file": 5}, {"file": "x", "speed": "fast"}, {"file": "x", "resources": "pods"}])
def test_a_wrong_order_to_replay_is_refused(body: object) -> None:
    assert Server().ask("POST", "/api/v1/replay", body)[0] == 400


def test_pods_are_tried_when_all_nodes_are_there_and_ready() -> None:
    """Whoever is loaded first is placed first."""
    server = Server()
    anti_affinity = {"labelSelector": {"matchLabels": {"app": "db"}}, "topologyKey": "kubernetes.io/hostname"}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [anti_affinity]}}
    capacity = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    nodes = [
        {"kind": "Node", "metadata": {"name": f"n{number}"}, "status": {"capacity": capacity}} for number in (0, 1)
    ]
    spec = {"containers": [{"name": "c", "image": "i"}], "affinity": affinity}
    pods = [
        {"kind": "Pod", "metadata": {"name": f"db-{number}", "labels": {"app": "db"}}, "spec": spec}
        for number in range(3)
    ]
    fill = [{"kind": "ConfigMap", "metadata": {"name": f"c{number}"}} for number in range(20)]

    async def load_while_the_cluster_lives() -> None:
        objects = [{"apiVersion": "v1", **obj} for obj in (*nodes, *pods, *fill)]
        loading = asyncio.ensure_future(server.mirroring.load_objects(objects))
        while not loading.done():
            server.lab.run()
            await asyncio.sleep(0)
        assert (await loading).problems == []

    asyncio.run(load_while_the_cluster_lives())
    server.lab.run()

    assert [name for name, node in server.lab.nodes_of_pods().items() if not node] == ["db-2"]
    assert [len(story.attempts) for story in server.lab.cluster.log.stories()] == [1, 1, 1]


def test_objects_of_files_are_loaded() -> None:
    server = Server()
    node = {"kind": "Node", "apiVersion": "v1", "metadata": {"name": "n"}}
    toaster = {"kind": "Toaster", "apiVersion": "v1", "metadata": {"name": "t"}}
    status, answer, _ = server.ask("POST", "/api/v1/objects", [node, toaster])

    assert status == 200
    assert answer["objects"] == 1
    assert len(answer["problems"]) == 1
    assert server.lab.names("nodes") == ["n"]


def test_where_there_is_only_a_scheduler_there_is_nothing_to_mirror() -> None:
    server = Server()
    server.app = SimulatorApp(Simulator(log=server.lab.cluster.log, explainer=server.lab.cluster.explainer))

    assert server.ask("GET", "/api/v1/export")[0] == 400


def test_a_sync_that_was_not_begun_has_stopped() -> None:
    server = Server()

    assert server.ask("GET", "/api/v1/sources/sync")[1] == {"state": "stopped"}
    assert server.ask("DELETE", "/api/v1/sources/sync")[0] == 202
