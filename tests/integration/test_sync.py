"""Following over HTTP: what a source loses, refuses and forgets is found out again, and it is never written."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import orjson

from schedlab.mirror.syncer import Syncer
from schedlab.remote.client import RemoteClient
from schedlab.remote.transport import Transport
from tests.support.clusters import Lab
from tests.support.live_server import Misbehaviour, Server

_WAIT_S = 50


class Following:
    """A source and a cluster that follows it."""

    def __init__(self, server: Server) -> None:
        self.server, self.lab = server, Lab(seed=2)
        self.client = RemoteClient(Transport(server.access, "schedlab-mirror"), tolerant=True)
        self.errors: list[str] = []
        self.client.on_error = lambda resource, verb, _: self.errors.append(f"{verb} {resource}")
        self.syncer = Syncer(self.client, self.lab.registry, self.lab.clock)
        self.syncer.start()

    def create(self, resource: str, name: str, **more: Any) -> None:
        """Create an object in the source."""
        registry = self.server.registry
        namespace = "default" if registry.resource(resource).type.namespaced else ""
        registry.create(resource, registry.decode(resource, {"metadata": {"name": name}, **more}), namespace)

    async def until(self, holds: Callable[[], bool], what: str) -> None:
        """Let time pass here until something holds."""
        end_s = asyncio.get_running_loop().time() + _WAIT_S
        while asyncio.get_running_loop().time() < end_s:
            self.lab.run(0.1)
            if holds():
                return
            await asyncio.sleep(0.05)
        raise AssertionError(f"{what} did not come; {self.syncer.as_json()} {self.errors}")

    async def until_named(self, *names: str) -> None:
        """Wait until the nodes are those and no others."""
        await self.until(lambda: self.lab.names("nodes") == sorted(names), f"nodes {names}")


def _run(story: Callable[[Following], Awaitable[None]], other: Server | None = None) -> None:
    async def told() -> None:
        server = other or Server()
        await server.start()
        following = Following(server)
        try:
            await story(following)
        finally:
            following.syncer.stop()
            await following.client.close()
            await server.stop()

    asyncio.run(told())


def test_a_source_that_starts_anew_with_less_is_followed_in_that() -> None:
    async def story(following: Following) -> None:
        following.create("nodes", "old")
        following.create("nodes", "both")
        await following.until_named("both", "old")
        await following.server.stop()
        await following.server.start()
        following.create("nodes", "both")
        following.create("nodes", "new")
        await following.until_named("both", "new")

        assert following.syncer.state == "following"
        assert following.errors

    _run(story)


def test_changes_behind_a_watch_that_was_refused_with_410_are_not_missed() -> None:
    refused: list[str] = []

    async def misbehave(scope: Any, send: Any) -> bool:
        if b"watch=true" not in scope["query_string"] or len(refused) >= 20:
            return False
        refused.append(scope["path"])
        status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 410, "reason": "Expired"}
        await send({"type": "http.response.start", "status": 410, "headers": []})
        await send({"type": "http.response.body", "body": orjson.dumps({**status, "message": "too old"})})
        return True

    async def story(following: Following) -> None:
        following.server.misbehaviour = misbehave
        await following.until(lambda: len(refused) >= 7, "a refusal")
        following.create("nodes", "n")
        await following.until_named("n")
        following.server.registry.delete("nodes", "n")
        await following.until_named()

    _run(story)


def test_watches_that_are_cut_off_in_the_midst_of_a_line_go_on() -> None:
    cut: list[str] = []

    async def misbehave(scope: Any, send: Any) -> bool:
        if b"watch=true" not in scope["query_string"] or scope["path"] in cut:
            return False
        cut.append(scope["path"])
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b'{"type":"ADDED","obj', "more_body": True})
        return True

    async def story(following: Following) -> None:
        following.server.misbehaviour = misbehave
        await following.until(lambda: "/api/v1/nodes" in cut, "the cut")
        following.create("nodes", "n")
        await following.until_named("n")

        assert following.syncer.applied.failed == {}

    _run(story)


def _refusing(path: str, code: int) -> Misbehaviour:
    async def misbehave(scope: Any, send: Any) -> bool:
        if scope["path"] != path:
            return False
        await send({"type": "http.response.start", "status": code, "headers": []})
        await send({"type": "http.response.body", "body": b"no"})
        return True

    return misbehave


def test_a_kind_that_may_not_be_listed_is_told_and_the_others_are_followed() -> None:
    server = Server()
    server.misbehaviour = _refusing("/api/v1/persistentvolumes", 403)

    async def story(following: Following) -> None:
        following.create("nodes", "n")
        await following.until_named("n")

        assert following.syncer.state == "following"
        assert list(following.client.errors()) == ["persistentvolumes"]

    _run(story, server)


def test_objects_that_cannot_be_read_are_left_out_and_told() -> None:
    metadata = {"uid": "u", "resourceVersion": "5"}
    items: list[Any] = [
        7,
        {"metadata": {"resourceVersion": "5"}},
        {"metadata": {"name": "odd", **metadata}, "spec": {"taints": "many"}},
        {"metadata": {"name": "good", **metadata}, "spec": {}},
    ]

    async def misbehave(scope: Any, send: Any) -> bool:
        if scope["path"] != "/api/v1/nodes":
            return False
        await send({"type": "http.response.start", "status": 200, "headers": []})
        if b"watch=true" in scope["query_string"]:
            events = [{"type": "ADDED", "object": item} for item in items[1:]]
            events.append({"type": "ADDED", "object": {"metadata": {"name": "next", **metadata}, "spec": {}}})
            lines = b"".join(orjson.dumps(event) + b"\n" for event in events)
            await send({"type": "http.response.body", "body": lines, "more_body": True})
            await asyncio.sleep(30)
        body = orjson.dumps({"metadata": {"resourceVersion": "5"}, "items": items})
        await send({"type": "http.response.body", "body": body})
        return True

    server = Server()
    server.misbehaviour = misbehave

    async def story(following: Following) -> None:
        await following.until_named("good", "next")

        assert "read nodes" in following.errors
        assert "cannot be read" in following.client.errors()["nodes"]

    _run(story, server)


def test_errors_are_shown_until_the_source_answers_again() -> None:
    async def story(following: Following) -> None:
        following.create("nodes", "n")
        await following.until_named("n")
        await following.server.stop()
        await following.until(lambda: "nodes" in following.client.errors(), "the error")
        await following.server.start()
        await following.until(lambda: not following.client.errors(), "the end of errors")

    _run(story)


def test_nothing_but_lists_and_watches_reaches_the_source() -> None:
    methods: set[str] = set()

    async def listen(scope: Any, _send: Any) -> bool:
        methods.add(scope["method"])
        return False

    async def story(following: Following) -> None:
        following.server.misbehaviour = listen
        following.create("nodes", "n", status={"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}})
        following.create("pods", "p", spec={"containers": [{"name": "c", "image": "i"}]})
        await following.until(lambda: following.lab.nodes_of_pods().get("p") == "n", "the place")
        following.server.registry.delete("pods", "p", "default")
        await following.until(lambda: not following.lab.names("pods"), "the deletion")

        assert methods == {"GET"}
        assert following.server.registry.list("pods").items == []

    _run(story)
