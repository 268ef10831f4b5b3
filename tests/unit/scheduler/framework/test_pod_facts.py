"""Facts of pods: shared where pods are stored alike, kept while nothing that counts changes."""

from __future__ import annotations

from typing import Any

import pytest

from schedlab.api.object import StoredObject
from schedlab.scheduler.framework.helpers.lazy import lazy
from schedlab.scheduler.framework.types import PodInfo

REQUESTS = {"cpu": "100m", "memory": "1Gi"}


def pod(
    name: str = "p",
    *,
    node: str = "",
    namespace: str = "default",
    labels: dict[str, str] | None = None,
    status: dict[str, Any] | None = None,
    requests: dict[str, str] = REQUESTS,
) -> PodInfo:
    container = {"name": "c", "resources": {"requests": requests}}
    obj = {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {"name": name, "namespace": namespace, "uid": name, "labels": labels or {}},
        "spec": {"containers": [container], **({"nodeName": node} if node else {})},
        "status": status or {},
    }
    stored = StoredObject.encode("pods", obj, 1)
    return PodInfo(stored.view, stored)


def running(applied: dict[str, str], **more: Any) -> dict[str, Any]:
    return {
        "containerStatuses": [{"name": "c", "resources": {"requests": applied}, "allocatedResources": applied}],
        **more,
    }


def test_waiting_pods_that_are_stored_alike_share_their_facts() -> None:
    assert pod("a").facts is pod("b").facts
    assert pod("a").facts is not pod("b", namespace="other").facts
    assert pod("a").facts is not pod("b", requests={"cpu": "1"}).facts
    assert pod("a").facts is not pod("a", node="n").facts


def test_the_name_of_the_token_volume_does_not_count() -> None:
    def with_token(suffix: str) -> PodInfo:
        name = f"kube-api-access-{suffix}"
        spec = {"containers": [{"name": "c", "volumeMounts": [{"name": name}]}], "volumes": [{"name": name}]}
        metadata = {"name": suffix, "namespace": "d", "uid": suffix}
        obj = {"kind": "Pod", "apiVersion": "v1", "metadata": metadata, "spec": spec, "status": {}}
        stored = StoredObject.encode("pods", obj, 1)
        return PodInfo(stored.view, stored)

    assert with_token("abcde").facts is with_token("12345").facts


def test_a_pod_keeps_its_facts_on_its_way_to_a_node() -> None:
    waiting = pod()
    assumed = waiting.on_node("n")
    bound = pod(node="n")

    assert assumed.facts is waiting.facts
    assert bound.reuse(assumed)
    assert bound.facts is waiting.facts
    assert bound.requests == {"cpu": 100, "memory": 2**30}


@pytest.mark.parametrize(
    ("status", "kept"),
    [
        (running(REQUESTS, phase="Running", startTime="2026-01-01T00:00:00Z"), True),
        ({"containerStatuses": [{"name": "c"}]}, True),
        (running({"cpu": "2", "memory": "1Gi"}), False),
        (running(REQUESTS, resources={"requests": {"cpu": "3"}}), False),
        (running(REQUESTS, conditions=[{"type": "PodResizePending", "status": "True", "reason": "Infeasible"}]), False),
    ],
    ids=["given what it asks for", "nothing known", "given more", "pod level", "resize is impossible"],
)
def test_a_status_counts_only_if_it_says_something_else_than_the_spec(status: dict[str, Any], *, kept: bool) -> None:
    before, after = pod(node="n"), pod(node="n", status=status)
    expected = PodInfo(after.pod).requests

    assert after.reuse(before) is kept
    assert after.requests == expected


def test_another_spec_begins_anew_and_labels_do_not_count() -> None:
    before = pod(node="n")

    assert not pod(node="n", requests={"cpu": "1"}).reuse(before)
    assert pod(node="n", labels={"a": "b"}).reuse(before)


def test_a_lazy_attribute_is_computed_once() -> None:
    computed: list[int] = []

    class Thing:
        @lazy
        def value(self) -> int:
            """The value."""
            computed.append(1)
            return 7

    thing = Thing()

    assert (thing.value, thing.value, len(computed)) == (7, 7, 1)
    assert Thing.value.__doc__ == "The value."
