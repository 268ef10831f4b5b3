"""Opportunistic batching: when the next best node of the last cycle is tried first."""

from typing import Any

import pytest

from schedlab.scheduler.framework.status import unschedulable
from schedlab.testing.builders import PodBuilder, make_node, make_pod
from tests.unit.scheduler.fake_cluster import FakeCluster, configuration, profile
from tests.unit.scheduler.runtime.fake_plugins import FakePlugin, registry_of


def one_per_node(**more: Any) -> FakePlugin:
    """A filter that lets every node hold one pod, and signs pods by their label `app`."""
    return FakePlugin(
        "One",
        filter=lambda _state, _pod, node: unschedulable("full") if node.pods else None,
        **{"sign_pod": lambda pod: ((("app", pod.labels.get("app", "")),), None), **more},
    )


def ranked(**more: Any) -> FakePlugin:
    """Nodes of higher number are better."""
    return FakePlugin(
        "Rank",
        score=lambda _state, _pod, node: (int(node.name[1:]), None),
        **{"sign_pod": lambda _: ((), None), **more},
    )


def cluster(*plugins: FakePlugin, nodes: int = 5, gate: bool = True, **more: Any) -> FakeCluster:
    plugins = plugins or (one_per_node(), ranked())
    made = FakeCluster(
        configuration(profile("PrioritySort", "DefaultBinder", *(plugin.name for plugin in plugins)), **more),
        registry=registry_of(*plugins),
        gates={"OpportunisticBatching": gate},
    )
    made.add(*(make_node(f"n{index}").capacity(pods="10") for index in range(nodes)))
    return made


def hints(made: FakeCluster) -> list[str]:
    return [record.node_hint for record in made.observer.cycles]


def app(name: str, app_name: str = "x") -> PodBuilder:
    return make_pod(name).label("app", app_name)


def test_equal_pods_follow_the_order_of_the_first() -> None:
    made = cluster()

    assert made.schedule(app("p"), app("q"), app("r")) == ["n4", "n3", "n2"]
    assert hints(made) == ["", "n3", "n2"]
    assert made.metrics.batch_attempts.values == {
        ("default-scheduler", "no_hint"): 1,
        ("default-scheduler", "hint_used"): 2,
    }
    filter_record = made.observer.cycles[1].filter
    assert filter_record is not None
    assert filter_record.visited.tolist() == [3]


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        ("other pod", "pod_incompatible"),
        ("pod between", "pod_skipped"),
        ("too late", "expired"),
        ("node gone", "node_missing"),
        ("room left", "node_not_full"),
    ],
)
def test_order_does_not_hold_when(case: str, reason: str) -> None:
    made = cluster()
    made.schedule(app("p"))
    if case == "other pod":
        made.schedule(app("q", "other"))
    elif case == "pod between":
        made.add(app("fails").set("spec.nodeSelector", {}))
        made.scheduler.scheduling_cycle += 1
        made.run()
    elif case == "too late":
        made.clock.advance_to(made.clock.now_ns() + 500_000_001)
        made.schedule(app("q"))
    elif case == "node gone":
        made.remove("nodes", "n4")
        made.schedule(app("q"))
    else:
        made.remove("pods", "p")
        made.schedule(app("q"))

    assert hints(made) == ["", ""]
    assert made.metrics.batch_cache_flushed.values == {("default-scheduler", reason): 1}


def test_hint_that_does_not_fit_is_no_harm() -> None:
    made = cluster()
    made.schedule(app("p"))
    made.add(make_pod("other").node("n3"))

    assert made.schedule(app("q")) == ["n2"]
    assert hints(made) == ["", "n3"]


@pytest.mark.parametrize(
    "plugin",
    [
        pytest.param(one_per_node(sign_pod=lambda _: (None, unschedulable("no"))), id="a plugin cannot sign the pod"),
        pytest.param(FakePlugin("Mute", filter=lambda *_: None), id="a plugin does not sign at all"),
    ],
)
def test_pods_that_cannot_be_signed_get_no_hint(plugin: FakePlugin) -> None:
    made = cluster(plugin, ranked())
    made.schedule(app("p"), app("q"))

    assert hints(made) == ["", ""]


def test_extenders_switch_batching_off() -> None:
    made = cluster(extenders=[{"urlPrefix": "http://x", "managedResources": [{"name": "example.com/x"}]}])
    made.schedule(app("p"), app("q"))

    assert hints(made) == ["", ""]


def test_without_the_gate_there_is_none() -> None:
    made = cluster(gate=False)

    assert made.schedule(app("p"), app("q")) == ["n4", "n3"]
    assert made.scheduler.profiles["default-scheduler"].batch is None
