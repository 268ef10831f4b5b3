"""A search proposes configurations that a scheduler takes, and knows which ones no other one beats."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from schedlab.apimachinery.features import FeatureGates
from schedlab.scenario.sweeps.space import Objective, Space, apply_values, default_weights, front_of
from schedlab.scheduler.config.load import load


class Lowest:
    """Proposes the first of everything, and keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: dict[str, Any] = {}

    def suggest_int(self, name: str, low: int, high: int, *, step: int = 1) -> int:
        self.asked[name] = (low, high, step)
        return low

    def suggest_categorical(self, name: str, choices: Sequence[Any]) -> Any:
        self.asked[name] = choices
        return choices[0]


def test_only_what_may_be_chosen_is_proposed() -> None:
    proposer = Lowest()

    values = Space({"NodeAffinity": (1, 4)}, (), (20, 60)).propose(proposer)

    assert values == {"weight NodeAffinity": 1, "percentageOfNodesToScore": 20}
    assert proposer.asked == {"weight NodeAffinity": (1, 4, 1), "percentageOfNodesToScore": (20, 60, 5)}


def test_shape_is_proposed_only_with_the_strategy_that_has_one() -> None:
    assert "fullest" not in Space({}, ["MostAllocated"], None).propose(Lowest())
    assert Space({}, ["RequestedToCapacityRatio"], None).propose(Lowest())["fullest"] == 10


def test_values_stand_in_every_profile() -> None:
    profiles = [{"schedulerName": "a"}, {"schedulerName": "b"}]
    values = {
        "weight NodeAffinity": 7,
        "weight ImageLocality": 0,
        "scoringStrategy": "RequestedToCapacityRatio",
        "fullest": 60,
        "percentageOfNodesToScore": 40,
    }

    config = apply_values({"schedulerConfig": {"profiles": profiles}}, values)["schedulerConfig"]

    loaded = load(config, FeatureGates.default())
    assert loaded.percentage_of_nodes_to_score == 40
    assert len(config["profiles"]) == 2
    for profile in config["profiles"]:
        assert profile["plugins"]["score"]["enabled"] == [{"name": "NodeAffinity", "weight": 7}]
        assert profile["plugins"]["score"]["disabled"] == [{"name": "ImageLocality"}]
        [fit] = profile["pluginConfig"]
        assert fit["args"]["scoringStrategy"]["requestedToCapacityRatio"]["shape"] == [
            {"utilization": 0, "score": 0},
            {"utilization": 60, "score": 10},
            {"utilization": 100, "score": 0},
        ]


def test_default_weights_are_those_of_the_default_profile() -> None:
    assert {"NodeResourcesFit", "NodeAffinity", "ImageLocality", "TaintToleration"} <= set(default_weights())
    assert "NodeName" not in default_weights()


@pytest.mark.parametrize(
    ("results", "front"),
    [
        ([], []),
        ([(1.0, 1.0)], [0]),
        ([(3.0, 1.0), (1.0, 1.0), (2.0, 5.0)], [1, 2]),
        ([(1.0, 1.0), (1.0, 1.0)], [0]),
        ([(1.0, 3.0), (1.0, 2.0), (0.0, 3.0)], [2]),
    ],
)
def test_front_has_what_no_other_one_beats(results: list[tuple[float, float]], front: list[int]) -> None:
    """The first becomes small, the second large."""
    assert front_of(results, [Objective("a"), Objective("b", maximize=True)]) == front
