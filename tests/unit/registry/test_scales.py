"""The subresource `scale` of workloads."""

from __future__ import annotations

from typing import Any

import pytest

from schedlab.apimachinery.errors import BadRequest, Conflict, Invalid, MethodNotAllowed, NotFound
from schedlab.kernel.clock import VirtualClock
from schedlab.kernel.randomness import SeededRandom
from schedlab.registry import Registry, WriteOptions, bootstrap
from schedlab.store import Store

DEPLOYMENTS = "deployments.apps"
OPTIONS = WriteOptions(user_agent="me/1")
LABELS = {"app": "a"}
TEMPLATE = {"metadata": {"labels": LABELS}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


@pytest.fixture
def registry() -> Registry:
    made = Registry(Store(), VirtualClock(), SeededRandom(1))
    bootstrap(made)
    spec = {"selector": {"matchLabels": LABELS}, "template": TEMPLATE}
    deployment = made.decode(DEPLOYMENTS, {"metadata": {"name": "x"}, "spec": spec})
    made.create(DEPLOYMENTS, deployment, "default", OPTIONS)
    return made


def scale(registry: Registry, **metadata: Any) -> dict[str, Any]:
    sent = {"metadata": {"name": "x", **metadata}, "spec": {"replicas": 3}}
    return registry.decode(DEPLOYMENTS, sent, "scale")


def test_a_scale_shows_replicas_and_selector(registry: Registry) -> None:
    shown = registry.get(DEPLOYMENTS, "x", "default", "scale").raw
    assert (shown["kind"], shown["apiVersion"]) == ("Scale", "autoscaling/v1")
    assert shown["spec"] == {"replicas": 1}
    assert shown["status"] == {"replicas": 0, "selector": "app=a"}


def test_a_replaced_scale_changes_replicas_and_counts_a_generation(registry: Registry) -> None:
    answer = registry.update(DEPLOYMENTS, "x", scale(registry), "default", OPTIONS, "scale").object
    assert answer.raw["spec"] == {"replicas": 3}
    stored = registry.get(DEPLOYMENTS, "x", "default").raw
    assert (stored["spec"]["replicas"], stored["metadata"]["generation"]) == (3, 2)


def test_who_scales_owns_the_replicas(registry: Registry) -> None:
    registry.patch(DEPLOYMENTS, "x", "merge", b'{"spec":{"replicas":2}}', "default", OPTIONS, "scale")
    stored = registry.get(DEPLOYMENTS, "x", "default").raw
    owners = {
        entry.get("subresource", ""): entry["fieldsV1"]["f:spec"] for entry in stored["metadata"]["managedFields"]
    }
    assert owners["scale"] == {"f:replicas": {}}
    assert "f:replicas" not in owners[""]


def test_zero_replicas_are_not_shown(registry: Registry) -> None:
    registry.patch(DEPLOYMENTS, "x", "merge", b'{"spec":{"replicas":0}}', "default", OPTIONS, "scale")
    assert registry.get(DEPLOYMENTS, "x", "default").raw["spec"]["replicas"] == 0
    assert registry.get(DEPLOYMENTS, "x", "default", "scale").raw["spec"] == {}


def test_an_applied_scale_takes_over_by_force_only(registry: Registry) -> None:
    wanted = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "x"}, "spec": {"replicas": 9}}
    with pytest.raises(Conflict):
        registry.apply(DEPLOYMENTS, "x", wanted, "default", WriteOptions(field_manager="m"), "scale")
    options = WriteOptions(field_manager="m", force=True)
    registry.apply(DEPLOYMENTS, "x", wanted, "default", options, "scale")
    assert registry.get(DEPLOYMENTS, "x", "default").raw["spec"]["replicas"] == 9


def test_what_a_scale_must_be(registry: Registry) -> None:
    with pytest.raises(Invalid, match=r'Scale.autoscaling "x" is invalid: spec.replicas: Invalid value: -1'):
        registry.patch(DEPLOYMENTS, "x", "merge", b'{"spec":{"replicas":-1}}', "default", OPTIONS, "scale")
    with pytest.raises(BadRequest, match="does not match the name on the URL"):
        registry.update(DEPLOYMENTS, "x", scale(registry, name="y"), "default", OPTIONS, "scale")
    with pytest.raises(Conflict, match="the object has been modified"):
        registry.update(DEPLOYMENTS, "x", scale(registry, resourceVersion="1"), "default", OPTIONS, "scale")
    with pytest.raises(Conflict, match="UID in precondition: u"):
        registry.update(DEPLOYMENTS, "x", scale(registry, uid="u"), "default", OPTIONS, "scale")


def test_only_what_is_there_and_has_replicas_can_be_scaled(registry: Registry) -> None:
    with pytest.raises(NotFound, match=r'deployments.apps "y" not found'):
        registry.get(DEPLOYMENTS, "y", "default", "scale")
    with pytest.raises(NotFound, match=r'deployments/scale.apps "y" not found'):
        registry.update(DEPLOYMENTS, "y", scale(registry, name="y"), "default", OPTIONS, "scale")
    with pytest.raises(MethodNotAllowed):
        registry.patch("pods", "y", "merge", b"{}", "default", OPTIONS, "scale")


def test_a_replication_controller_selects_by_labels_alone(registry: Registry) -> None:
    name = "replicationcontrollers"
    spec = {"selector": LABELS, "template": TEMPLATE}
    registry.create(name, registry.decode(name, {"metadata": {"name": "r"}, "spec": spec}), "default", OPTIONS)
    assert registry.get(name, "r", "default", "scale").raw["status"]["selector"] == "app=a"
