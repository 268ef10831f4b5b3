"""Informers and the in-process client: caches follow writes, indexes follow caches, handlers hear everything once."""

from __future__ import annotations

from typing import Any

import pytest

from schedlab.api.object import StoredObject
from schedlab.client.informers import Informers
from schedlab.client.inprocess import InProcessClient
from schedlab.client.protocol import Outcome, WatchEvent, Write
from schedlab.kernel.clock import VirtualClock
from schedlab.kernel.randomness import SeededRandom
from schedlab.registry import Registry, bootstrap
from schedlab.store import Store
from tests.support.registries import provide_accounts

POD = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


@pytest.fixture
def client() -> InProcessClient:
    registry = provide_accounts(Registry(Store(), VirtualClock(), SeededRandom(1)))
    bootstrap(registry)
    return InProcessClient(registry, "test/1.0")


def submit(client: InProcessClient, verb: Any, body: Any = None, **more: Any) -> Outcome:
    outcomes: list[Outcome] = []
    where = {"resource": "pods", "namespace": "default", "name": "p", **more}
    client.submit(Write(verb, body=body, **where), outcomes.append)
    assert len(outcomes) == 1
    return outcomes[0]


def bind(client: InProcessClient, node: str = "n") -> Outcome:
    body = {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": node}}
    return submit(client, "create", body, subresource="binding")


def node_of(obj: StoredObject) -> str:
    return str(obj.view.spec.node_name)


def test_writes_answer_once(client: InProcessClient) -> None:
    """Every verb answers with the object or the error."""
    created = submit(client, "create", POD)
    again = submit(client, "create", POD)
    bound = bind(client)
    patched = submit(client, "patch", {"metadata": {"labels": {"a": "b"}}})
    applied = submit(
        client,
        "patch",
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "labels": {"c": "d"}}},
        patch_type="apply",
        options={"fieldManager": "me"},
    )
    unknown = submit(client, "create", {"metadata": {"name": "p"}}, subresource="nope")
    deleted = submit(client, "delete", {"gracePeriodSeconds": 0})

    assert created.object is not None
    assert again.error is not None
    assert again.error.reason == "AlreadyExists"
    assert (bound.object, bound.error) == (None, None)
    assert patched.object is not None
    assert patched.object.labels == {"a": "b"}
    assert applied.object is not None
    assert applied.object.labels == {"a": "b", "c": "d"}
    assert unknown.error is not None
    assert unknown.error.code == 405
    assert deleted.error is None


def test_bad_body_is_a_bad_request(client: InProcessClient) -> None:
    """A body of the wrong shape is refused with kube-apiserver's words."""
    refused = submit(client, "create", {"metadata": {"name": "p"}, "spec": "x"}).error

    assert refused is not None
    assert "cannot unmarshal string into Go struct field Pod.spec of type v1.PodSpec" in refused.message


def test_cache_follows_writes(client: InProcessClient) -> None:
    """What was there before the first read and what comes after it is in the cache; what is deleted is not."""
    submit(client, "create", POD)
    pods = Informers(client).lister("pods")
    before = [view.metadata.name for view in pods.list()]
    submit(client, "patch", {"metadata": {"labels": {"a": "b"}}})
    changed = pods.get("p", "default")
    submit(client, "delete")

    assert before == ["p"]
    assert changed is not None
    assert changed.metadata.labels == {"a": "b"}
    assert pods.list() == pods.list("default") == []


def test_handlers_hear_every_change_once(client: InProcessClient) -> None:
    """A handler gets what is there, then each change with the state before it, after the cache."""
    informers = Informers(client)
    pods = informers.lister("pods")
    heard: list[tuple[str, str, bool]] = []

    def handler(event: WatchEvent) -> None:
        before = "" if event.previous is None else node_of(event.previous)
        heard.append((event.type, before, pods.stored("p", "default") is not None))

    submit(client, "create", POD)
    informers.on_change("pods", handler)
    bind(client)
    submit(client, "delete", {"gracePeriodSeconds": 0})

    assert heard == [("ADDED", "", True), ("MODIFIED", "", True), ("MODIFIED", "n", True), ("DELETED", "n", False)]
    assert informers.resources() == ("pods",)


def test_indexes_follow_the_cache(client: InProcessClient) -> None:
    """An object is found under its present value only."""
    pods = Informers(client).lister("pods")
    pods.add_index("node", node_of)
    submit(client, "create", POD)
    waiting = list(pods.indexed("node", "n"))
    bind(client)
    bound = [obj.name for obj in pods.indexed("node", "n")]
    submit(client, "delete", {"gracePeriodSeconds": 0})

    assert (waiting, bound, list(pods.indexed("node", "n"))) == ([], ["p"], [])


def test_stopped_informers_stand_still(client: InProcessClient) -> None:
    """After stop the cache takes no change."""
    informers = Informers(client)
    pods = informers.lister("pods")
    informers.stop()
    submit(client, "create", POD)

    assert pods.list() == []


def test_a_change_of_nothing_but_the_revision_is_taken_over_but_not_told(client: InProcessClient) -> None:
    registry = client._registry
    informers = Informers(client)
    pods = informers.lister("pods")
    pods.add_index("name", lambda obj: obj.name)
    submit(client, "create", POD)
    seen: list[WatchEvent] = []
    informers.on_change("pods", seen.append)
    seen.clear()

    registry.touch("pods", "p", "default")

    stored = pods.stored("p", "default")
    assert seen == []
    assert stored is not None
    assert stored.revision == registry.revision
    assert tuple(pods.indexed("name", "p")) == (stored,) == tuple(pods.all_stored("default"))
