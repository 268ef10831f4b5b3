"""kube-scheduler-simulator's REST API as it is described: every call with its shapes and codes, every known fault mended.

Rows are those of the description: calls, the watch stream, reset, and the faults that are fixed or kept by a switch.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import orjson
import pytest

from schedlab.mirror.comparing import why_not
from schedlab.mirror.syncer import Syncer
from tests.support.clusters import Lab, PromptClient
from tests.support.simulator_api import Server

EXPORT_KEYS = ["pods", "nodes", "pvs", "pvcs", "storageClasses", "priorityClasses", "schedulerConfig", "namespaces"]
VERSIONS = {
    "podsLastResourceVersion": "pods",
    "nodesLastResourceVersion": "nodes",
    "pvsLastResourceVersion": "persistentvolumes",
    "pvcsLastResourceVersion": "persistentvolumeclaims",
    "scsLastResourceVersion": "storageclasses",
    "pcsLastResourceVersion": "priorityclasses",
    "namespaceLastResourceVersion": "namespaces",
}
JSON = "application/json; charset=UTF-8"


def _filled(**settings: Any) -> Server:
    """A cluster with an object of each of the seven kinds."""
    server = Server(nodes=1, **settings)
    lab = server.lab
    lab.create("namespaces", {"metadata": {"name": "shop"}})
    lab.create("priorityclasses.scheduling.k8s.io", {"metadata": {"name": "high"}, "value": 7})
    lab.create("storageclasses.storage.k8s.io", {"metadata": {"name": "sc"}, "provisioner": "example.com/disk"})
    storage = {"storage": "1Gi"}
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": storage}, "storageClassName": ""}
    lab.create("persistentvolumeclaims", {"metadata": {"name": "c"}, "spec": {**claim, "volumeName": "v"}}, "shop")
    reference = {"namespace": "shop", "name": "c"}
    volume = {"accessModes": ["ReadWriteOnce"], "capacity": storage, "hostPath": {"path": "/v"}, "claimRef": reference}
    lab.create("persistentvolumes", {"metadata": {"name": "v"}, "spec": volume})
    lab.create_pod("p")
    lab.run()
    return server


# --- Calls -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", "schedulerconfiguration", None, 200),
        ("POST", "schedulerconfiguration", {"profiles": [{"schedulerName": "mine"}]}, 202),
        ("POST", "schedulerconfiguration", {"profiles": 5}, 500),
        ("PUT", "reset", {}, 202),
        ("GET", "export", None, 200),
        ("POST", "import", {"pods": []}, 200),
        ("POST", "import", {"pods": 5}, 400),
        ("POST", "import", {"nodes": [{"metadata": {"name": "Bad_Name"}}]}, 500),
        ("POST", "extender/filter/x", {}, 400),
        ("POST", "extender/filter/0", {}, 400),
        ("GET", "nothing", None, 404),
        ("DELETE", "export", None, 405),
    ],
)
def test_every_call_has_its_code(method: str, path: str, body: object, status: int) -> None:
    server = _filled()
    found, answer, headers = server.ask(method, f"/api/v1/{path}", body)

    assert found == status
    assert headers["content-type"] == JSON
    if status == 202 or (path == "import" and status == 200):
        assert answer is None
    if status >= 400:
        # The cause, not only the text of the status.
        assert answer["message"] not in ("Bad Request", "Internal Server Error")


def test_an_export_has_whole_objects_without_their_kinds_and_leaves_out_what_every_cluster_has() -> None:
    document = _filled().ask("GET", "/api/v1/export")[1]

    assert list(document) == EXPORT_KEYS
    assert [obj["metadata"]["name"] for obj in document["namespaces"]] == ["shop"]
    assert [obj["metadata"]["name"] for obj in document["priorityClasses"]] == ["high"]
    for key in EXPORT_KEYS:
        for obj in document[key] if key != "schedulerConfig" else ():
            assert "kind" not in obj
            assert "apiVersion" not in obj
            assert {"uid", "resourceVersion", "managedFields"} <= set(obj["metadata"])
    assert document["schedulerConfig"]["kind"] == "KubeSchedulerConfiguration"


def test_only_profiles_and_extenders_of_a_configuration_are_taken() -> None:
    server = _filled()
    before = server.ask("GET", "/api/v1/schedulerconfiguration")[1]
    server.ask(
        "POST", "/api/v1/schedulerconfiguration", {**before, "parallelism": 3, "profiles": [{"schedulerName": "a"}]}
    )
    after = server.ask("GET", "/api/v1/schedulerconfiguration")[1]

    assert after["parallelism"] == before["parallelism"]
    assert [profile["schedulerName"] for profile in after["profiles"]] == ["a"]


# --- The watch stream ------------------------------------------------------------------------------------------------


def test_the_stream_lists_every_kind_without_a_version_and_goes_on_behind_one() -> None:
    server = _filled()
    listed = server.ask("GET", "/api/v1/listwatchresources", lines=8)[1]
    query = "&".join(f"{key}={server.lab.registry.revision}" for key in VERSIONS)
    server.lab.create("namespaces", {"metadata": {"name": "later"}})
    _, changes, headers = server.ask("GET", f"/api/v1/listwatchresources?{query}", lines=1)

    assert {event["Kind"] for event in listed} <= set(VERSIONS.values())
    assert {event["EventType"] for event in listed} == {"ADDED"}
    assert all(set(event) == {"Kind", "EventType", "Obj"} and "kind" not in event["Obj"] for event in listed)
    assert headers["content-type"] == "application/json"
    assert [(event["Kind"], event["Obj"]["metadata"]["name"]) for event in changes] == [("namespaces", "later")]


@pytest.mark.parametrize(("key", "kind"), VERSIONS.items())
def test_each_kind_has_its_version(key: str, kind: str) -> None:
    server = _filled()
    revision = server.lab.registry.revision
    query = "&".join(f"{other}={revision}" for other in VERSIONS if other != key)
    events = server.ask("GET", f"/api/v1/listwatchresources?{query}", lines=1)[1]

    assert {event["Kind"] for event in events} == {kind}


def test_a_version_that_is_too_old_is_listed_anew_and_ends_the_stream_only_when_that_is_wanted() -> None:
    for strict in (False, True):
        server = _filled(strict=strict)
        server.lab.cluster.store.compact(server.lab.registry.revision)
        query = "&".join(f"{key}=1" for key in VERSIONS)
        status, events, _ = server.ask("GET", f"/api/v1/listwatchresources?{query}", lines=1 if not strict else 10**6)

        assert status == 200
        assert [event["Kind"] for event in events][:1] == ([] if strict else ["pods"])


# --- Faults that are mended ------------------------------------------------------------------------------------------


def test_a_configuration_that_cannot_be_used_is_told_and_not_kept() -> None:
    server = _filled()
    before = server.ask("GET", "/api/v1/schedulerconfiguration")[1]
    wrong = {"profiles": [{"schedulerName": "a", "plugins": {"filter": {"enabled": [{"name": "NoSuchPlugin"}]}}}]}
    status, answer, _ = server.ask("POST", "/api/v1/schedulerconfiguration", wrong)

    assert status == 500
    assert "NoSuchPlugin" in answer["message"]
    assert server.ask("GET", "/api/v1/schedulerconfiguration")[1] == before


def test_an_import_over_what_is_there_is_no_conflict_and_may_lack_the_configuration() -> None:
    server = _filled()
    document = server.ask("GET", "/api/v1/export")[1]
    server.lab.registry.patch("nodes", "node-0", "merge", {"metadata": {"labels": {"new": "label"}}})
    del document["schedulerConfig"]
    before = server.ask("GET", "/api/v1/schedulerconfiguration")[1]
    status, answer, _ = server.ask("POST", "/api/v1/import", document)

    assert (status, answer) == (200, None)
    assert server.ask("GET", "/api/v1/schedulerconfiguration")[1] == before


def test_a_reset_brings_back_uids_and_the_first_configuration() -> None:
    server = Server(nodes=1)
    server.lab.run()
    uid = server.lab.registry.get("nodes", "node-0").uid
    server.lab.registry.delete("nodes", "node-0")
    server.lab.create_pod("p")
    server.ask("POST", "/api/v1/schedulerconfiguration", {"profiles": [{"schedulerName": "mine"}]})
    status, answer, _ = server.ask("PUT", "/api/v1/reset", {})

    assert (status, answer) == (202, None)
    assert server.lab.registry.get("nodes", "node-0").uid == uid
    assert server.lab.names("pods") == []
    profiles = server.ask("GET", "/api/v1/schedulerconfiguration")[1]["profiles"]
    assert [profile["schedulerName"] for profile in profiles] == ["default-scheduler"]


# --- Faults that are kept by a switch --------------------------------------------------------------------------------


def test_results_are_on_the_pods_only_when_that_is_wanted() -> None:
    for strict, status in ((False, 200), (True, 404)):
        server = _filled(strict=strict)

        assert server.ask("GET", "/api/v1/decisions")[0] == status
        shown = server.lab.registry.resource("pods").shown(server.lab.registry.get("pods", "p", "default"))
        assert "kube-scheduler-simulator.sigs.k8s.io/filter-result" in shown.raw["metadata"]["annotations"]


def _record(file: Path) -> None:
    lines = []
    for second in range(3):
        pod = {
            "kind": "Pod",
            "apiVersion": "v1",
            "metadata": {"name": f"replayed-{second}", "namespace": "default"},
            "spec": {"containers": [{"name": "c", "image": "i"}]},
        }
        time = f"2025-04-28T10:00:{20 * second:02}+09:00"
        lines.append(orjson.dumps({"time": time, "event": "Add", "resource": pod}) + b"\n")
    file.write_bytes(b"".join(lines))


@pytest.mark.parametrize(("after_a_second", "strict"), [(3, "strict"), (1, "")])
def test_the_times_of_a_record_count_unless_upstreams_ways_are_wanted(
    tmp_path: Path, after_a_second: int, strict: str
) -> None:
    server = _filled(strict=bool(strict))
    _record(tmp_path / "r.jsonl")
    code = server.ask("POST", "/api/v1/replay", {"file": str(tmp_path / "r.jsonl"), "speed": 1})[0]
    server.lab.run(1)
    played = [name for name in server.lab.names("pods") if name.startswith("replayed")]
    server.ask("PATCH", "/api/v1/replay", {"speed": 5})

    assert code == 202
    assert len(played) == after_a_second
    assert server.ask("GET", "/api/v1/replay")[1]["speed"] == (0 if strict else 5)


def test_a_replay_can_be_paused_and_sent_elsewhere_with_upstreams_ways_too(tmp_path: Path) -> None:
    server = _filled(strict=True)
    _record(tmp_path / "r.jsonl")
    server.ask("POST", "/api/v1/replay", {"file": str(tmp_path / "r.jsonl")})
    paused = server.ask("PATCH", "/api/v1/replay", {"paused": True, "position": 2})[1]
    server.lab.run(1)
    before = [name for name in server.lab.names("pods") if name.startswith("replayed")]
    server.ask("PATCH", "/api/v1/replay", {"paused": False})
    server.lab.run(1)

    assert (paused["state"], paused["position"]) == ("paused", 2)
    assert before == []
    assert [name for name in server.lab.names("pods") if name.startswith("replayed")] == ["replayed-2"]
    assert server.ask("GET", "/api/v1/replay")[1]["state"] == "ended"


def test_places_are_compared_with_reasons_with_upstreams_ways_too() -> None:
    there, here = Lab(nodes=2), Lab(seed=2, strict_upstream=True)
    there.run()
    client = PromptClient(there.registry, "schedlab-mirror")
    syncer = Syncer(client, here.registry, here.clock, partial(why_not, here.cluster.log))
    syncer.start()
    here.run()
    here.registry.patch("nodes", "node-0", "merge", {"spec": {"unschedulable": True}})
    for number in range(6):
        there.create_pod(f"p-{number}")
        there.run()
        here.run()
    agreement = syncer.agreement()

    assert agreement.same + agreement.different == 6
    assert agreement.different > 0
    assert list(agreement.reasons) == ["NodeUnschedulable: node(s) were unschedulable"]
