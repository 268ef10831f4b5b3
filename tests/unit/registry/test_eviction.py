"""Evictions: what a disruption budget allows, and what needs no budget."""

from __future__ import annotations

from typing import Any

import pytest

from schedlab.apimachinery.errors import BadRequest, NotFound, StatusError, TooManyRequests
from schedlab.kernel.clock import VirtualClock
from schedlab.kernel.randomness import SeededRandom
from schedlab.registry import Registry, bootstrap
from schedlab.store import Store
from tests.support.registries import provide_accounts

BUDGETS = "poddisruptionbudgets.policy"
READY = b'{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}'
UNREADY = b'{"status":{"phase":"Running"}}'


@pytest.fixture
def registry() -> Registry:
    made = provide_accounts(Registry(Store(), VirtualClock(), SeededRandom(1)))
    bootstrap(made)
    pod = {
        "metadata": {"name": "p", "labels": {"app": "a"}},
        "spec": {"containers": [{"name": "c", "image": "i"}], "nodeName": "n"},
    }
    made.create("pods", made.decode("pods", pod), "default")
    return made


def budget(registry: Registry, name: str = "b", **status: Any) -> None:
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "a"}}, **status.pop("spec", {})}
    obj = registry.decode(BUDGETS, {"metadata": {"name": name}, "spec": spec})
    made = registry.create(BUDGETS, obj, "default").thaw()
    made["status"] = {"observedGeneration": 1, **dict.fromkeys(("currentHealthy", "expectedPods"), 1)} | status
    for key in ("disruptionsAllowed", "desiredHealthy"):
        made["status"].setdefault(key, 0)
    registry.update(BUDGETS, name, made, "default", subresource="status")


def run(registry: Registry, text: bytes = READY) -> None:
    registry.patch("pods", "p", "strategic", text, "default", subresource="status")


def evict(registry: Registry, name: str = "p") -> None:
    registry.evict("p", registry.decode("pods", {"metadata": {"name": name}}, "eviction"), "default")


def test_pod_without_budget_is_deleted_gracefully(registry: Registry) -> None:
    """The pod says why it goes and gets its grace period."""
    run(registry)
    evict(registry)
    pod = registry.get("pods", "p", "default").view

    assert pod.metadata.deletion_grace_period_seconds == 30
    assert pod.status.condition("DisruptionTarget").reason == "EvictionByEvictionAPI"


def test_budget_counts_down(registry: Registry) -> None:
    """An allowed disruption is taken and the pod is noted."""
    run(registry)
    budget(registry, disruptionsAllowed=1)
    evict(registry)
    status = registry.get(BUDGETS, "b", "default").raw["status"]

    assert status["disruptionsAllowed"] == 0
    assert list(status["disruptedPods"]) == ["p"]
    assert status["conditions"][0]["reason"] == "InsufficientPods"


@pytest.mark.parametrize(
    ("status", "cause"),
    [
        ({"desiredHealthy": 2}, "The disruption budget b needs 2 healthy pods and has 1 currently"),
        ({"observedGeneration": 0}, "The disruption budget b is still being processed by the server."),
    ],
    ids=["no disruption left", "not yet looked at"],
)
def test_exhausted_budget_refuses(registry: Registry, status: dict[str, Any], cause: str) -> None:
    """A budget without disruptions, or one that was not computed yet, answers 429."""
    run(registry)
    budget(registry, **status)
    with pytest.raises(TooManyRequests, match="Cannot evict pod as it would violate") as refused:
        evict(registry)

    assert refused.value.causes[0]["message"] == cause


def test_two_budgets_are_an_error(registry: Registry) -> None:
    """Two budgets over one pod cannot be decided upon."""
    run(registry)
    budget(registry)
    budget(registry, "c")
    with pytest.raises(StatusError, match="more than one PodDisruptionBudget") as refused:
        evict(registry)

    assert refused.value.code == 500


def test_pending_pods_ignore_budgets(registry: Registry) -> None:
    """A pod that does not run disrupts nobody."""
    budget(registry)
    evict(registry)

    assert registry.get("pods", "p", "default").view.metadata.deletion_timestamp


@pytest.mark.parametrize(
    "wanted",
    [{"spec": {"unhealthyPodEvictionPolicy": "AlwaysAllow"}}, {"desiredHealthy": 1}],
    ids=["always allow", "enough others are healthy"],
)
def test_unready_pods_may_go(registry: Registry, wanted: dict[str, Any]) -> None:
    """An unready pod goes where the policy says so or the budget is met without it."""
    run(registry, UNREADY)
    budget(registry, **wanted)
    evict(registry)

    assert registry.get("pods", "p", "default").view.metadata.deletion_timestamp


def test_names_must_agree(registry: Registry) -> None:
    """The body names the pod of the URL."""
    with pytest.raises(BadRequest, match="name in URL does not match name in Eviction object"):
        evict(registry, "q")


def test_missing_pod_is_not_found(registry: Registry) -> None:
    """There is nothing to evict."""
    registry.delete("pods", "p", "default")
    with pytest.raises(NotFound):
        registry.evict("q", registry.decode("pods", {"metadata": {"name": "q"}}, "eviction"), "default")
