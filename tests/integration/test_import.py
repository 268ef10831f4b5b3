"""Importing over HTTP: what comes, what is told about the rest, and sources that misbehave."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from schedlab.kernel.errors import SchedlabError
from schedlab.mirror.importer import Importer, ImportOptions, Report
from schedlab.mirror.source import Source
from schedlab.remote.kubeconfig import Access
from schedlab.remote.transport import Transport
from tests.support.api_server import TOKEN
from tests.support.clusters import Lab
from tests.support.live_server import Misbehaviour, Server


async def _import(server: Server, lab: Lab, access: Access | None = None, **options: Any) -> Report:
    transport = Transport(access or server.access, "schedlab-mirror")
    importer = Importer(Source(transport), lab.registry, ImportOptions(**options))
    try:
        async for _ in importer.run():
            pass
    finally:
        await transport.close()
    return importer.report


def _run(story: Callable[[Server, Lab], Awaitable[None]]) -> None:
    async def told() -> None:
        server = Server()
        await server.start()
        try:
            await story(server, Lab())
        finally:
            await server.stop()

    asyncio.run(told())


def _create(server: Server, resource: str, obj: dict[str, Any], namespace: str = "") -> None:
    server.registry.create(resource, server.registry.decode(resource, obj), namespace)


def _node(name: str) -> dict[str, Any]:
    capacity = {"cpu": "4", "memory": "32Gi", "pods": "110"}
    return {"metadata": {"name": name}, "status": {"capacity": capacity, "allocatable": capacity}}


def _pod(name: str, node: str = "", **labels: str) -> dict[str, Any]:
    spec: dict[str, Any] = {"containers": [{"name": "c", "image": "i"}]}
    return {"metadata": {"name": name, "labels": labels}, "spec": {**spec, **({"nodeName": node} if node else {})}}


def test_objects_keep_uid_owners_and_status_and_a_second_time_changes_nothing() -> None:
    async def story(server: Server, lab: Lab) -> None:
        _create(server, "nodes", _node("n"))
        _create(server, "configmaps", {"metadata": {"name": "m"}}, "default")
        _create(server, "pods", _pod("runs", "n"), "default")
        running = {"status": {"phase": "Running", "hostIP": "10.0.0.9"}}
        server.registry.patch("pods", "runs", "merge", running, "default", subresource="status")
        _create(server, "pods", _pod("waits"), "default")
        first = await _import(server, lab, more=("configmaps",))
        uid = server.registry.get("pods", "runs", "default").uid
        pod = lab.registry.get("pods", "runs", "default")
        second = await _import(server, lab, more=("configmaps",))

        assert first.taken["pods"] == 2
        assert first.taken["configmaps"] >= 1
        assert (pod.uid, pod.view.status.phase) == (uid, "Running")
        assert sum(second.taken.values()) == 0
        assert second.unchanged["pods"] == 2
        assert first.lacking == {}
        lab.run()
        assert lab.nodes_of_pods()["waits"] == "n"

    _run(story)


def test_a_selector_applies_to_the_kinds_it_is_meant_for() -> None:
    async def story(server: Server, lab: Lab) -> None:
        _create(server, "nodes", _node("n"))
        _create(server, "pods", _pod("a", team="a"), "default")
        _create(server, "pods", _pod("b", team="b"), "default")
        await _import(server, lab, selector="team=a")

        assert lab.names("nodes") == ["n"]
        assert lab.names("pods") == ["a"]

    _run(story)


def test_namespaces_choose_what_is_in_them() -> None:
    async def story(server: Server, lab: Lab) -> None:
        _create(server, "namespaces", {"metadata": {"name": "shop"}})
        _create(server, "pods", _pod("a"), "default")
        _create(server, "pods", _pod("b"), "shop")
        await _import(server, lab, namespaces=("shop",))

        assert lab.names("pods") == ["b"]

    _run(story)


def test_owners_come_along_or_pods_come_without_them() -> None:
    async def story(server: Server, lab: Lab) -> None:
        template = {"metadata": {"labels": {"app": "a"}}, "spec": _pod("x")["spec"]}
        spec = {"replicas": 1, "selector": {"matchLabels": {"app": "a"}}, "template": template}
        _create(server, "replicasets.apps", {"metadata": {"name": "rs"}, "spec": spec}, "default")
        uid = server.registry.get("replicasets.apps", "rs", "default").uid
        pod = _pod("p", app="a")
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "rs", "uid": uid, "controller": True}
        pod["metadata"]["ownerReferences"] = [owner]
        _create(server, "pods", pod, "default")
        other = Lab(seed=3)
        await _import(server, lab)
        report = await _import(server, other, controllers="none")
        lab.run()
        other.run()

        assert lab.names("pods") == ["p"]
        assert other.names("pods") == ["p"]
        assert other.registry.get("pods", "p", "default").raw["metadata"].get("ownerReferences", []) == []
        assert report.changed == {"pods: owners that are not here are left out": 1}

    _run(story)


def test_owners_that_nobody_acts_on_keep_their_pods_and_make_none() -> None:
    async def story(server: Server, lab: Lab) -> None:
        template = {"metadata": {"labels": {"app": "a"}}, "spec": _pod("x")["spec"]}
        selector = {"matchLabels": {"app": "a"}}
        job_template = {**template, "spec": {**template["spec"], "restartPolicy": "Never"}}
        owners = {
            "replicasets.apps": {"replicas": 3, "selector": selector, "template": template},
            "deployments.apps": {"replicas": 3, "selector": selector, "template": template},
            "statefulsets.apps": {"replicas": 3, "selector": selector, "template": template, "serviceName": "s"},
            "daemonsets.apps": {"selector": selector, "template": template},
            "replicationcontrollers": {"replicas": 3, "selector": {"app": "a"}, "template": template},
            "jobs.batch": {"template": job_template},
            "cronjobs.batch": {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": job_template}}},
        }
        _create(server, "nodes", _node("n"))
        for resource, spec in owners.items():
            _create(server, resource, {"metadata": {"name": "o"}, "spec": spec}, "default")
        uid = server.registry.get("jobs.batch", "o", "default").uid
        pod = _pod("p", "n", app="a")
        owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "o", "uid": uid, "controller": True}
        pod["metadata"] |= {"ownerReferences": [owner], "finalizers": ["batch.kubernetes.io/job-tracking"]}
        _create(server, "pods", pod, "default")
        await _import(server, lab, controllers="owners")
        lab.run(300)

        assert lab.names("pods") == ["p"]
        assert lab.registry.get("pods", "p", "default").raw["metadata"]["ownerReferences"][0]["uid"] == uid
        lab.registry.delete("pods", "p", "default")
        lab.run(60)
        assert lab.names("pods") == []
        # Without the annotation it lives.
        change = {"metadata": {"annotations": {"controllers.schedlab.dev/inert": None}}}
        lab.registry.patch("replicasets.apps", "o", "merge", change, "default")
        lab.run()
        assert len(lab.names("pods")) == 3

    _run(story)


def test_further_kinds_are_named_as_kubectl_names_them_and_secrets_lose_their_values() -> None:
    async def story(server: Server, lab: Lab) -> None:
        _create(server, "configmaps", {"metadata": {"name": "m"}, "data": {"a": "b"}}, "default")
        _create(server, "secrets", {"metadata": {"name": "s"}, "data": {"password": "c2VjcmV0"}}, "default")
        _create(server, "customresourcedefinitions.apiextensions.k8s.io", _widgets())
        _create(server, "widgets.example.com", {"metadata": {"name": "w"}, "spec": {"size": 3}}, "default")
        report = await _import(server, lab, more=("cm", "secret", "widgets.example.com"))

        assert lab.registry.get("configmaps", "m", "default").raw["data"] == {"a": "b"}
        assert lab.registry.get("secrets", "s", "default").raw["data"] == {"password": ""}
        assert lab.registry.get("widgets.example.com", "w", "default").raw["spec"] == {"size": 3}
        assert report.changed == {"secrets: values are left out": 1}
        assert report.lacking == {}

    _run(story)


def _widgets() -> dict[str, Any]:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    return {
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    }


def test_kinds_that_nobody_knows_are_refused_before_anything_is_asked() -> None:
    with pytest.raises(SchedlabError, match="no kind 'wigdets' is known"):
        ImportOptions(more=("wigdets",)).resources()
    with pytest.raises(SchedlabError, match="no kind 'wigdets' is known"):
        ImportOptions(selected=("wigdets",)).selects("pods")


def test_a_custom_kind_that_is_not_there_is_no_obstacle() -> None:
    async def story(server: Server, lab: Lab) -> None:
        _create(server, "nodes", _node("n"))
        report = await _import(server, lab, more=("widgets.example.com",))

        assert lab.names("nodes") == ["n"]
        assert report.lacking == {}

    _run(story)


def test_the_selector_of_upstream_applies_to_everything() -> None:
    async def story(server: Server, lab: Lab) -> None:
        _create(server, "nodes", _node("n"))
        labelled = _node("labelled")
        labelled["metadata"]["labels"] = {"team": "a"}
        _create(server, "nodes", labelled)
        _create(server, "pods", _pod("a", team="a"), "default")
        _create(server, "pods", _pod("b"), "default")
        await _import(server, lab, selector="team=a", selected=("*",))

        assert lab.names("nodes") == ["labelled"]
        assert lab.names("pods") == ["a"]

    _run(story)


def test_progress_says_how_many_there_are() -> None:
    async def story(server: Server, lab: Lab) -> None:
        for number in range(300):
            _create(server, "nodes", _node(f"n-{number}"))
        transport = Transport(server.access, "schedlab-mirror")
        importer = Importer(Source(transport), lab.registry, ImportOptions())
        seen = [progress async for progress in importer.run() if progress.resource == "nodes"]
        await transport.close()

        assert [progress.total for progress in seen] == [300] * 30
        assert [progress.seen for progress in seen] == list(range(10, 301, 10))

    _run(story)


def test_an_import_that_was_interrupted_goes_on() -> None:
    async def story(server: Server, lab: Lab) -> None:
        for number in range(300):
            _create(server, "nodes", _node(f"n-{number}"))
        transport = Transport(server.access, "schedlab-mirror")
        importer = Importer(Source(transport), lab.registry, ImportOptions())
        async for progress in importer.run():
            if progress.resource == "nodes" and progress.seen >= 100:
                break
        await transport.close()
        report = await _import(server, lab)

        assert report.unchanged["nodes"] == 100
        assert report.taken["nodes"] == 200

    _run(story)


def test_objects_that_are_being_deleted_stay_where_they_are() -> None:
    async def story(server: Server, lab: Lab) -> None:
        _create(server, "nodes", {**_node("n"), "metadata": {"name": "n", "finalizers": ["example.com/x"]}})
        server.registry.delete("nodes", "n")
        report = await _import(server, lab)

        assert lab.names("nodes") == []
        assert report.left_out == {"nodes: being deleted": 1}

    _run(story)


def test_a_kind_that_may_not_be_listed_is_told_with_what_it_affects() -> None:
    async def story(server: Server, lab: Lab) -> None:
        report = await _import(server, lab, Access(server.access.server, token="unknown"))

        assert "Unauthorized" in report.lacking["nodes"]
        assert "(affects: everything)" in report.lacking["nodes"]
        assert "NodeVolumeLimits" in report.lacking["csinodes.storage.k8s.io"]

    _run(story)


# --- Sources that misbehave ------------------------------------------------------------------------------------------


async def _answer(send: Any, status: int, body: bytes, *headers: tuple[bytes, bytes]) -> bool:
    await send({"type": "http.response.start", "status": status, "headers": list(headers)})
    await send({"type": "http.response.body", "body": body})
    return True


def _too_many() -> Misbehaviour:
    """Refuse every second request for a while."""
    seen = iter(range(1, 1000))

    async def misbehave(_scope: Any, send: Any) -> bool:
        if next(seen) % 2:
            return await _answer(send, 429, b"slow down", (b"retry-after", b"0"))
        return False

    return misbehave


def _expired_page() -> Misbehaviour:
    """Forget the rest of a list."""

    async def misbehave(scope: Any, send: Any) -> bool:
        if b"continue=" not in scope["query_string"]:
            return False
        status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 410, "reason": "Expired"}
        return await _answer(
            send, 410, orjson.dumps({**status, "message": "The provided continue parameter is too old"})
        )

    return misbehave


def _malformed() -> Misbehaviour:
    """Put nonsense among the pods."""
    pods = [
        5,
        {},
        {"metadata": {"name": "no-spec", "namespace": "default"}},
        {"metadata": {"name": "wrong", "namespace": "default"}, "spec": {"containers": "many"}},
        {"metadata": {"name": "quantity", "namespace": "default"}, "spec": _pod("q")["spec"]},
    ]
    pods[4]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "lots"}}  # type: ignore[index]

    async def misbehave(scope: Any, send: Any) -> bool:
        if scope["path"] != "/api/v1/pods":
            return False
        good = {**_pod("good"), "metadata": {"name": "good", "namespace": "default", "uid": "u"}}
        return await _answer(send, 200, orjson.dumps({"kind": "PodList", "metadata": {}, "items": [*pods, good]}))

    return misbehave


def _cut_off() -> Misbehaviour:
    """End the connection in the midst of the first answer for pods."""
    seen: list[str] = []

    async def misbehave(scope: Any, send: Any) -> bool:
        if scope["path"] != "/api/v1/pods" or seen:
            return False
        seen.append("cut")
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"1000")]})
        await send({"type": "http.response.body", "body": b'{"items":[', "more_body": True})
        return True  # the server closes the connection of an answer that does not end

    return misbehave


def _slow() -> Misbehaviour:
    """Answer in small pieces, with pauses."""

    async def misbehave(scope: Any, send: Any) -> bool:
        if scope["path"] != "/api/v1/pods":
            return False
        pod = {**_pod("good"), "metadata": {"name": "good", "namespace": "default", "uid": "u"}}
        body = orjson.dumps({"kind": "PodList", "metadata": {}, "items": [pod]})
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for at in range(0, len(body), 50):
            await asyncio.sleep(0.05)
            await send({"type": "http.response.body", "body": body[at : at + 50], "more_body": True})
        await send({"type": "http.response.body", "body": b""})
        return True

    return misbehave


def _broken() -> Misbehaviour:
    """Answer the first request for pods with something that is no JSON, and the next one with an error of its own."""
    seen: list[str] = []

    async def misbehave(scope: Any, send: Any) -> bool:
        if scope["path"] != "/api/v1/pods" or len(seen) == 2:
            return False
        seen.append("broken")
        return await _answer(send, (200, 500)[len(seen) - 1], b"<html>")

    return misbehave


@pytest.mark.parametrize("misbehave", [_too_many, _expired_page, _malformed, _cut_off, _slow, _broken])
def test_a_source_that_misbehaves_costs_nothing_but_what_it_spoils(misbehave: Callable[[], Misbehaviour]) -> None:
    async def story(server: Server, lab: Lab) -> None:
        for number in range(300):
            _create(server, "nodes", _node(f"n-{number}"))
        _create(server, "pods", _pod("good"), "default")
        revision = server.registry.revision
        server.misbehaviour = misbehave()
        report = await _import(server, lab, namespaces=())

        assert len(lab.names("nodes")) == 300
        assert lab.names("pods") == ["good"]
        assert server.registry.revision == revision
        if misbehave is _malformed:
            assert report.left_out == {"pods: refused": 5}
            assert "quantities must match" in report.problems[-1]

    _run(story)


def test_a_token_that_was_renewed_is_read_again(tmp_path: Path) -> None:
    """The source takes the old token for a while and only the new one from then on."""
    file = tmp_path / "token"
    file.write_text("old")
    asked: list[bytes] = []

    async def misbehave(scope: Any, send: Any) -> bool:
        token = dict(scope["headers"])[b"authorization"]
        if token == b"Bearer old":
            file.write_text(TOKEN)
            return await _answer(send, 401, b"Unauthorized")
        asked.append(token)
        return False

    async def story(server: Server, lab: Lab) -> None:
        _create(server, "nodes", _node("n"))
        server.misbehaviour = misbehave
        report = await _import(server, lab, Access(server.access.server, token_file=file))

        assert lab.names("nodes") == ["n"]
        assert report.lacking == {}
        assert set(asked) == {f"Bearer {TOKEN}".encode()}

    _run(story)


def test_a_token_that_runs_out_costs_the_kinds_that_were_not_listed_yet() -> None:
    seen: list[str] = []

    async def misbehave(scope: Any, send: Any) -> bool:
        if scope["path"] == "/api/v1/nodes":
            seen.append("nodes")
        return bool(seen) and len(seen) > 1 and await _answer(send, 401, b"Unauthorized")

    async def story(server: Server, lab: Lab) -> None:
        for number in range(300):
            _create(server, "nodes", _node(f"n-{number}"))
        _create(server, "namespaces", {"metadata": {"name": "shop"}})
        server.misbehaviour = misbehave
        report = await _import(server, lab)

        assert "shop" in lab.names("namespaces")
        assert len(lab.names("nodes")) == 250
        assert "provide credentials" in report.lacking["nodes"]
        assert "(affects: everything)" in report.lacking["pods"]

    _run(story)


def test_a_list_that_was_compacted_meanwhile_goes_on_behind_the_same_key() -> None:
    asked: list[bytes] = []

    async def story(server: Server, lab: Lab) -> None:
        async def misbehave(scope: Any, _send: Any) -> bool:
            if scope["path"] == "/api/v1/nodes":
                asked.append(scope["query_string"])
                if len(asked) == 2:
                    _create(server, "nodes", _node("later"))
                    store = server.registry._core.store
                    store.compact(store.revision)
            return False

        for number in range(300):
            _create(server, "nodes", _node(f"n-{number:03}"))
        server.misbehaviour = misbehave
        report = await _import(server, lab)

        assert report.lacking == {}
        assert len(lab.names("nodes")) == 300
        assert len(asked) == 3
        assert all(b"limit=250" in query for query in asked)

    _run(story)


def test_a_server_that_never_answers_is_told_at_once_with_its_place() -> None:
    async def story(server: Server, lab: Lab) -> None:
        await server.stop()
        with pytest.raises(SchedlabError, match=r"there: http://.* cannot be reached"):
            await _import(server, lab, Access(server.access.server, location="there"))
        await server.start()

    _run(story)


def test_a_server_that_goes_away_is_not_waited_for_kind_by_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr("schedlab.mirror.source._TRIES", 2)

    async def misbehave(scope: Any, send: Any) -> bool:
        asked.append(scope["path"])
        return len(asked) > 3 and await _answer(send, 503, b"away")

    async def story(server: Server, lab: Lab) -> None:
        server.misbehaviour = misbehave
        report = await _import(server, lab)

        assert len(report.lacking) > 20
        assert asked.count("/api/v1/pods") == 1

    _run(story)


def test_a_server_that_sends_one_page_for_ever_is_asked_for_it_twice() -> None:
    asked: list[bytes] = []

    async def misbehave(scope: Any, send: Any) -> bool:
        if scope["path"] != "/apis/node.k8s.io/v1/runtimeclasses":
            return False
        asked.append(scope["query_string"])
        return await _answer(send, 200, b'{"metadata":{"continue":"again"},"items":[]}')

    async def story(server: Server, lab: Lab) -> None:
        _create(server, "nodes", _node("n"))
        server.misbehaviour = misbehave
        report = await _import(server, lab)

        assert lab.names("nodes") == ["n"]
        assert list(report.lacking) == ["runtimeclasses.node.k8s.io"]
        assert len(asked) == 2

    _run(story)


def test_a_source_is_asked_no_more_than_so_often() -> None:
    asked: list[float] = []

    async def misbehave(_scope: Any, send: Any) -> bool:
        asked.append(asyncio.get_running_loop().time())
        more = b'{"metadata":{"continue":"more-%d"},"items":[]}' % len(asked)
        return await _answer(send, 200, more if len(asked) < 60 else b"{}")

    async def story(server: Server, lab: Lab) -> None:
        server.misbehaviour = misbehave
        await _import(server, lab)

        # A burst of 20, then 20 a second.
        assert asked[59] - asked[0] >= 1.9

    _run(story)
