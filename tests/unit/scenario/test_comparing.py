"""Configurations are compared on the same arrivals, with the plugin that flipped each pod, the same in any process."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from schedlab.kernel.errors import SchedlabError
from schedlab.scenario.comparing import Comparison, Variant
from schedlab.scenario.comparing import compare as compare_variants
from schedlab.scenario.source import Source

SCENARIO = """\
apiVersion: schedlab.dev/v1alpha1
kind: Scenario
cluster: {nodes: [{count: 4}]}
loads:
- name: w
  arrivals: {poisson: 1/s}
  count: 6
  pods: [{template: {spec: {containers: [{name: a, image: a, resources: {requests: {cpu: "1", memory: 8Gi}}}]}}}]
"""
PACKING = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- pluginConfig:
  - {name: NodeResourcesFit, args: {scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}]}}}
  plugins: {score: {disabled: [{name: NodeResourcesBalancedAllocation}]}}
"""


def compare(scenario: Path, configs: Sequence[Path | None], seeds: Sequence[int], **options: Any) -> Comparison:
    variants = [Variant(Source(scenario), None if one is None else Source(one)) for one in configs]
    return compare_variants(variants, seeds, **options)


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    scenario, packing = tmp_path / "s.yaml", tmp_path / "packing.yaml"
    scenario.write_text(SCENARIO, encoding="utf-8")
    packing.write_text(PACKING, encoding="utf-8")
    return scenario, packing


def test_moved_pods_are_told_with_the_plugin_that_flipped_them(files: tuple[Path, Path]) -> None:
    scenario, packing = files

    found = compare(scenario, [None, packing], [1, 2, 3])

    metrics = found.metrics()
    assert metrics["nodes_used_max"]["means"] == [4, 2]
    assert metrics["nodes_used_max"]["differences"][0]["clear"]
    [moved] = found.moved
    assert {one["seed"] for one in moved} == {1, 2, 3}
    flipped = [one for one in moved if one["cause"] == "configuration"]
    assert flipped
    assert {one["plugin"] for one in flipped} == {"NodeResourcesFit"}
    assert all(one["before"] != one["after"] for one in moved)
    old, new = moved[0]["decisions"]
    assert old["selected"] == moved[0]["before"]
    assert new["selected"] == moved[0]["after"]
    assert "NodeResourcesFit" in old["plugins"]


def test_same_configuration_moves_nothing(files: tuple[Path, Path]) -> None:
    scenario, packing = files

    found = compare(scenario, [packing, packing], [5])

    assert found.moved == [[]]
    assert found.runs[0][0]["digest"] == found.runs[0][1]["digest"]
    assert all(one["differences"][0]["mean"] == 0 for one in found.metrics().values() if one["differences"][0])


def test_processes_find_what_one_finds(files: tuple[Path, Path]) -> None:
    scenario, packing = files

    alone = compare(scenario, [None, packing], [1, 2, 3], jobs=1)
    together = compare(scenario, [None, packing], [1, 2, 3], jobs=2)

    assert together.data() == alone.data()
    assert together.series == alone.series


def test_mistakes_of_a_configuration_are_told_before_anything_runs(files: tuple[Path, Path]) -> None:
    scenario, packing = files
    packing.write_text(PACKING.replace("MostAllocated", "Most"), encoding="utf-8")

    with pytest.raises(SchedlabError, match=r"packing\.yaml"):
        compare(scenario, [None, packing], [1])


def test_interruption_leaves_the_seeds_that_were_finished(files: tuple[Path, Path]) -> None:
    def interrupt(finished: int) -> None:
        if finished == 2:
            raise KeyboardInterrupt

    found = compare(files[0], [None], [1, 2, 3], progress=interrupt)

    assert found.interrupted
    assert found.seeds == [1, 2]
    assert len(found.metrics()["wait_p50"]["values"][0]) == 2
