"""Watches begin where the query says, see what the selectors show, and end in time."""

import asyncio
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from schedlab.apiserver.app import APIServer
from schedlab.registry import Registry
from tests.support.api_server import TOKEN, make_app
from tests.support.asgi import Call, Response, answer

PATH = "/api/v1/namespaces/default/configmaps"
HEADERS = {"host": "x", "authorization": f"Bearer {TOKEN}"}


def put(registry: Registry, name: str, **labels: str) -> int:
    """Create or relabel a configmap; returns its revision."""
    obj = registry.decode("configmaps", {"metadata": {"name": name, "namespace": "default", "labels": labels}})
    found = registry.list("configmaps", "default").items
    if any(item.name == name for item in found):
        return registry.update("configmaps", name, obj, "default").object.revision
    return registry.create("configmaps", obj, "default").revision


def watch(
    query: str,
    before: Callable[[Registry], None] = lambda _: None,
    during: Callable[[Registry, APIServer], None] = lambda _registry, app: app.stop(),
    accept: str = "application/json",
) -> Response:
    """Watch configmaps; `during` runs once the watch has begun and must let it end."""

    async def main() -> Response:
        app, registry = make_app()
        before(registry)
        running = asyncio.create_task(answer(app, Call("GET", PATH, query, {**HEADERS, "accept": accept})))
        for _ in range(10):
            await asyncio.sleep(0)
        during(registry, app)
        return await asyncio.wait_for(running, 5)

    return asyncio.run(main())


def summary(response: Response) -> list[str]:
    """Return type and name of each event."""
    return [f"{line['type']} {line['object']['metadata'].get('name', '')}".strip() for line in response.lines]


def one_then_two(registry: Registry) -> None:
    put(registry, "a", x="1")
    put(registry, "b")


def changes(registry: Registry, app: APIServer) -> None:
    put(registry, "a", x="2")
    registry.delete("configmaps", "b", "default")
    app.stop()


def test_watch_without_version_begins_with_the_present_state() -> None:
    """What is there comes as ADDED, then what happens."""
    for query in ("watch=1", "watch=1&resourceVersion=0"):
        assert summary(watch(query, one_then_two, changes)) == ["ADDED a", "ADDED b", "MODIFIED a", "DELETED b"]


def test_watch_from_a_version_replays_what_has_happened() -> None:
    """Nothing is lost between a list and its watch."""
    revisions: list[int] = []

    def before(registry: Registry) -> None:
        revisions.append(put(registry, "a"))
        put(registry, "a", x="1")
        put(registry, "b")

    watch("", before)
    found = watch(f"watch=1&resourceVersion={revisions[0]}", before)

    assert summary(found) == ["MODIFIED a", "ADDED b"]


def test_selectors_show_changes_as_their_reader_sees_them() -> None:
    """An object that stops to match is gone, one that begins to match is new."""

    def during(registry: Registry, app: APIServer) -> None:
        put(registry, "b", x="1")
        put(registry, "a", x="2")
        app.stop()

    assert summary(watch("watch=1&labelSelector=x%3D1", one_then_two, during)) == ["ADDED a", "ADDED b", "DELETED a"]
    named = watch("watch=1&fieldSelector=metadata.name%3Db", one_then_two, changes)
    assert summary(named) == ["ADDED b", "DELETED b"]


def test_initial_events_end_with_a_bookmark() -> None:
    """A list by watch says when the present state is complete; its version is that of the state."""
    found = watch(
        "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
        one_then_two,
        changes,
    )

    assert summary(found) == ["ADDED a", "ADDED b", "BOOKMARK", "MODIFIED a", "DELETED b"]
    bookmark = found.lines[2]["object"]
    assert (bookmark["kind"], bookmark["apiVersion"]) == ("ConfigMap", "v1")
    assert bookmark["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert int(bookmark["metadata"]["resourceVersion"]) >= int(found.lines[1]["object"]["metadata"]["resourceVersion"])


def test_watch_may_begin_without_the_present_state() -> None:
    """sendInitialEvents=false shows only what happens from now on."""
    query = "watch=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan"

    assert summary(watch(query, one_then_two, changes)) == ["MODIFIED a", "DELETED b"]


def test_versions_that_do_not_exist() -> None:
    """A future version waits, except for initial events; what is no number is an error before the stream begins."""
    future = watch("watch=1&resourceVersion=99999999", one_then_two, changes)
    initial = watch(
        "watch=1&resourceVersion=99999999&sendInitialEvents=true&resourceVersionMatch=NotOlderThan", one_then_two
    )
    nonsense = watch("watch=1&resourceVersion=abc")

    assert (future.status, future.body) == (200, b"")
    assert (initial.status, summary(initial)) == (200, ["ERROR"])
    assert initial.lines[0]["object"]["reason"] == "Timeout"
    assert (nonsense.status, "reason" in nonsense.json) == (500, False)


def test_versions_that_are_gone() -> None:
    """A version that was compacted is told by an ERROR event, so that the client lists again."""

    def before(registry: Registry) -> None:
        one_then_two(registry)
        registry._core.store.compact(registry.revision)

    found = watch("watch=1&resourceVersion=2", before)

    assert found.status == 200
    assert [line["object"]["code"] for line in found.lines] == [410]


def test_tables_and_metadata_of_events() -> None:
    """Each event has the form that was asked for; a form of lists ends the stream at the first event."""
    table = watch("watch=1", one_then_two, accept="application/json;as=Table;v=v1;g=meta.k8s.io")
    partial = watch("watch=1", one_then_two, accept="application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io")
    lists = watch("watch=1", one_then_two, accept="application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io")

    assert [bool(line["object"]["columnDefinitions"]) for line in table.lines] == [True, False]
    assert {line["object"]["kind"] for line in partial.lines} == {"PartialObjectMetadata"}
    assert (lists.status, lists.body) == (200, b"")


def test_watch_ends_at_its_timeout() -> None:
    """A watch lasts at most as long as its timeoutSeconds."""

    async def main() -> Response:
        app, _registry = make_app()
        call = Call("GET", PATH, "watch=1&timeoutSeconds=1", HEADERS)
        return await asyncio.wait_for(answer(app, call), 5)

    assert asyncio.run(main()).status == 200


def test_yaml_cannot_be_watched() -> None:
    """There are no frames in YAML."""
    found = watch("watch=1", accept="application/yaml")

    assert found.status == 406


@pytest.mark.parametrize("path", ["/api/v1/watch/namespaces/default/configmaps", f"{PATH}?watch=1"])
def test_old_paths_of_watches(path: str) -> None:
    """The verb may stand in the path."""

    async def main() -> Any:
        app, registry = make_app()
        one_then_two(registry)
        place, _, query = path.partition("?")
        running = asyncio.create_task(answer(app, Call("GET", place, query, HEADERS)))
        for _ in range(10):
            await asyncio.sleep(0)
        app.stop()
        return await running

    response = asyncio.run(main())
    assert [orjson.loads(line)["type"] for line in response.body.splitlines()] == ["ADDED", "ADDED"]
