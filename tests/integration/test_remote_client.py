"""The client of an API server over HTTP: mirrors that follow it through restarts and refusals, and writes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from schedlab.apimachinery.errors import Forbidden, NotFound, ServiceUnavailable
from schedlab.client.informers import Informers
from schedlab.client.protocol import Outcome, Write
from schedlab.registry import Registry
from schedlab.remote.client import RemoteClient
from schedlab.remote.kubeconfig import Access
from schedlab.remote.transport import Transport
from tests.support.api_server import TOKEN
from tests.support.live_server import Server


@asynccontextmanager
async def _world(token: str = TOKEN) -> AsyncIterator[tuple[Server, RemoteClient]]:
    server = Server()
    await server.start()
    access = Access(server.access.server, token=token)
    client = RemoteClient(Transport(access, "kube-scheduler/v1.36.2 (test)"))
    try:
        yield server, client
    finally:
        await client.close()
        await server.stop()


def _run(story: Callable[[Server, RemoteClient], Awaitable[None]]) -> None:
    async def told() -> None:
        async with _world() as (server, client):
            await story(server, client)

    asyncio.run(told())


async def _until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not holds():  # noqa: ASYNC110 - what is waited for is no event
            await asyncio.sleep(0.01)


def _pod(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


def _create(registry: Registry, name: str) -> None:
    registry.create("pods", registry.decode("pods", _pod(name)), "default")


async def _answer(client: RemoteClient, write: Write) -> Outcome:
    answer: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
    client.submit(write, answer.set_result)
    return await answer


def test_a_mirror_lists_what_is_there_and_follows_every_change() -> None:
    async def story(server: Server, client: RemoteClient) -> None:
        _create(server.registry, "a")
        told: list[tuple[str, str]] = []
        pods = Informers(client).lister("pods")
        pods.on_change(lambda event: told.append((event.type, event.object.name)))
        await _until(lambda: not client.lacking())
        _create(server.registry, "b")
        server.registry.patch("pods", "b", "merge", {"metadata": {"labels": {"x": "y"}}}, "default")
        server.registry.delete("pods", "a", "default")
        await _until(lambda: ("DELETED", "a") in told)

        assert told == [("ADDED", "a"), ("ADDED", "b"), ("MODIFIED", "b"), ("MODIFIED", "a"), ("DELETED", "a")]
        assert [pod.metadata.labels for pod in pods.list()] == [{"x": "y"}]

    _run(story)


def test_more_objects_than_a_page_holds_are_all_listed() -> None:
    async def story(server: Server, client: RemoteClient) -> None:
        for number in range(1203):
            body = server.registry.decode("configmaps", {"metadata": {"name": f"m-{number}"}})
            server.registry.create("configmaps", body, "default")
        maps = Informers(client).lister("configmaps")
        await _until(lambda: not client.lacking())

        assert sum(one.name.startswith("m-") for one in maps.all_stored()) == 1203

    _run(story)


def test_after_a_restart_with_another_store_the_difference_is_told() -> None:
    async def story(server: Server, client: RemoteClient) -> None:
        _create(server.registry, "old")
        _create(server.registry, "both")
        told: list[tuple[str, str]] = []
        pods = Informers(client).lister("pods")
        await _until(lambda: not client.lacking())
        uid = pods.list()[0].metadata.uid
        pods.on_change(lambda event: told.append((event.type, event.object.name)))
        told.clear()
        await server.stop()
        await server.start()
        _create(server.registry, "both")
        _create(server.registry, "new")
        await _until(lambda: ("ADDED", "new") in told)

        assert sorted(told) == [("ADDED", "both"), ("ADDED", "new"), ("DELETED", "both"), ("DELETED", "old")]
        assert uid not in {pod.metadata.uid for pod in pods.list()}

    _run(story)


def test_a_resource_that_is_not_served_has_no_objects() -> None:
    async def story(_: Server, client: RemoteClient) -> None:
        groups = Informers(client).lister("podgroups.scheduling.k8s.io")
        await _until(lambda: not client.lacking())

        assert groups.list() == []

    _run(story)


def test_what_may_not_be_listed_is_lacking_and_told() -> None:
    async def told() -> None:
        async with _world(token="nobody knows it") as (_, client):
            errors: list[tuple[str, str]] = []
            client.on_error = lambda resource, verb, error: errors.append((f"{verb} {resource}", str(error.code)))
            Informers(client).lister("pods")
            await _until(lambda: bool(errors))

            assert client.lacking() == ("pods",)
            assert errors[0] == ("list pods", "401")

    asyncio.run(told())


def test_writes_are_answered_with_the_object_or_the_servers_error() -> None:
    async def story(server: Server, client: RemoteClient) -> None:
        made = await _answer(client, Write("create", "pods", "default", "a", _pod("a")))
        again = await _answer(client, Write("create", "pods", "default", "a", _pod("a")))
        condition = {"status": {"conditions": [{"type": "PodScheduled", "status": "False"}]}}
        patched = await _answer(
            client, Write("patch", "pods", "default", "a", condition, "status", patch_type="strategic")
        )
        binding = {"metadata": {"name": "a"}, "target": {"kind": "Node", "name": "n"}}
        bound = await _answer(client, Write("create", "pods", "default", "a", binding, "binding"))
        gone = await _answer(client, Write("delete", "pods", "default", "b"))

        assert made.object is not None
        assert made.object.name == "a"
        assert again.error is not None
        assert again.error.message == 'pods "a" already exists'
        assert patched.object is not None
        assert patched.object.view.status.conditions[0].type == "PodScheduled"
        assert (bound.object, bound.error) == (None, None)
        assert server.registry.get("pods", "a", "default").view.spec.node_name == "n"
        assert isinstance(gone.error, NotFound)
        managers = {
            entry["manager"] for entry in server.registry.get("pods", "a", "default").raw["metadata"]["managedFields"]
        }
        assert managers == {"kube-scheduler"}

    _run(story)


def test_a_read_goes_past_the_mirror() -> None:
    async def story(server: Server, client: RemoteClient) -> None:
        _create(server.registry, "a")
        answers: list[Outcome] = []
        client.read("pods", "a", "default", answers.append)
        client.read("pods", "b", "default", answers.append)
        await _until(lambda: len(answers) == 2)

        assert sorted(type(answer.error).__name__ for answer in answers) == ["NoneType", "NotFound"]

    _run(story)


def test_a_server_that_is_away_is_an_error_of_the_write() -> None:
    async def story(server: Server, client: RemoteClient) -> None:
        await server.stop()
        outcome = await _answer(client, Write("create", "pods", "default", "a", _pod("a")))
        await server.start()

        assert isinstance(outcome.error, ServiceUnavailable)
        assert f"127.0.0.1:{server.port} cannot be reached" in outcome.error.message

    _run(story)


@pytest.mark.parametrize("user", ["system:serviceaccount:default:nobody"])
def test_a_refusal_carries_the_servers_words(user: str) -> None:
    async def told() -> None:
        server = Server()
        await server.start()
        transport = Transport(server.access, "kubectl")
        transport.headers["Impersonate-User"] = user
        client = RemoteClient(transport)
        try:
            outcome = await _answer(client, Write("delete", "pods", "default", "a"))
        finally:
            await client.close()
            await server.stop()

        assert isinstance(outcome.error, Forbidden)
        assert f'User "{user}" cannot delete resource "pods"' in outcome.error.message

    asyncio.run(told())
