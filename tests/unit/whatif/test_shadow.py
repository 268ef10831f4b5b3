"""Shadow schedulers: what they would have done, on the same state, without doing it."""

from __future__ import annotations

from typing import Any

import pytest

from schedlab.scheduler.config import ConfigError
from schedlab.whatif.shadow import Shadow
from tests.support.clusters import Lab
from tests.support.configurations import PACKING


def _shadowed(config: dict[str, Any], nodes: int = 2) -> tuple[Lab, Shadow]:
    lab = Lab(nodes=nodes)
    shadow = Shadow("other", lab.cluster, config, "other.yaml")
    lab.cluster.observers.add(shadow)
    lab.run()
    return lab, shadow


def test_the_same_configuration_agrees_on_every_pod() -> None:
    """But for ties, which chance decides."""
    lab, shadow = _shadowed({"apiVersion": PACKING["apiVersion"], "kind": PACKING["kind"]}, nodes=1)
    for number in range(10):
        lab.create_pod(f"p-{number}")
    lab.run()

    assert shadow.compared == 10
    assert not shadow.differences


def test_another_strategy_names_the_pod_and_the_plugin_that_flipped_it() -> None:
    lab, shadow = _shadowed(PACKING)
    lab.create_pod("first", nodeName="node-0")
    lab.run()
    lab.create_pod("second")
    lab.run()
    (difference,) = shadow.differences

    assert lab.nodes_of_pods()["second"] == "node-1"
    assert (difference.pod, difference.flip.before, difference.flip.after) == ("default/second", "node-1", "node-0")
    assert difference.flip.plugin == "NodeResourcesFit"
    assert shadow.as_json()["byPlugin"] == {"NodeResourcesFit": 1}
    assert [one["pod"] for one in shadow.as_json("default/second")["pods"]] == ["default/second"]
    assert shadow.as_json("default/first")["pods"] == []


def test_each_pod_is_judged_on_the_state_that_the_scheduler_found() -> None:
    """What the shadow would have done with earlier pods does not count."""
    lab, shadow = _shadowed(PACKING)
    lab.create_pod("first", nodeName="node-0")
    lab.run()
    for number in range(4):
        lab.create_pod(f"p-{number}")
    lab.run()
    caches = (lab.cluster.scheduler.cache, shadow.scheduler.cache)

    ours, theirs = ([sorted(pod.key for pod in info.pods) for info in cache.table.infos] for cache in caches)
    assert ours == theirs


def test_pods_of_schedulers_that_it_does_not_have_are_counted() -> None:
    config = {"apiVersion": PACKING["apiVersion"], "kind": PACKING["kind"], "profiles": [{"schedulerName": "mine"}]}
    lab, shadow = _shadowed(config)
    lab.create_pod("a")
    lab.run()

    assert (shadow.compared, shadow.unanswered) == (0, 1)


def test_nothing_is_bound_by_a_shadow() -> None:
    config = {"apiVersion": PACKING["apiVersion"], "kind": PACKING["kind"], "profiles": [{"schedulerName": "mine"}]}
    lab, _ = _shadowed(config)
    lab.create_pod("a", schedulerName="mine")
    lab.run(30)

    assert lab.nodes_of_pods() == {"a": ""}


def test_decisions_are_the_same_with_and_without_a_shadow() -> None:
    def placed(*, shadowed: bool) -> dict[str, str]:
        lab = Lab(nodes=5)
        if shadowed:
            lab.cluster.observers.add(Shadow("other", lab.cluster, PACKING))
        for number in range(30):
            lab.create_pod(f"p-{number}")
        lab.run()
        return lab.nodes_of_pods()

    assert placed(shadowed=True) == placed(shadowed=False)


def test_a_wrong_configuration_is_refused_with_its_place() -> None:
    lab = Lab()

    with pytest.raises(ConfigError) as caught:
        Shadow("other", lab.cluster, {**PACKING, "parallelism": -1}, "other.yaml")

    assert caught.value.location == "other.yaml"
