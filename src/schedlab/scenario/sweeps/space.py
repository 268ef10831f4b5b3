"""What a search of configurations may choose, what it is for, and which choices no other one beats."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol, TypeAlias, get_args

from schedlab.apimachinery.features import FeatureGates
from schedlab.scenario.sweeps.paths import parse_path
from schedlab.scenario.sweeps.varying import CONFIG, Document, configuration_of, with_parameter, with_weight
from schedlab.scheduler.config.defaults import default_plugins

Strategy = Literal["LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"]
STRATEGIES: Final[tuple[Strategy, ...]] = get_args(Strategy)
WEIGHT_MAX: Final = 10
PERCENTAGES: Final = (10, 100)
#: Values of a candidate by name: `weight PLUGIN`, `scoringStrategy`, `fullest`, `percentageOfNodesToScore`.
Values: TypeAlias = Mapping[str, Any]
Ends: TypeAlias = tuple[int, int]

_WEIGHT: Final = "weight "
_STRATEGY: Final = "scoringStrategy"
#: Of RequestedToCapacityRatio: at which percentage of a node's capacity it scores best, on straight lines from and to 0.
_FULLEST: Final = "fullest"
_PERCENTAGE: Final = "percentageOfNodesToScore"
_FULLEST_STEP: Final = 10
_PERCENTAGE_STEP: Final = 5


class Proposer(Protocol):
    """What proposes values, as optuna.Trial does."""

    def suggest_int(self, name: str, low: int, high: int, *, step: int = 1) -> int: ...

    def suggest_categorical(self, name: str, choices: Sequence[Any]) -> Any: ...


@dataclass(frozen=True, slots=True)
class Objective:
    """A metric that is to become small, or large."""

    metric: str
    maximize: bool = False

    def cost(self, value: float) -> float:
        """Return a number that is the smaller the better."""
        return -value if self.maximize else value


def default_weights() -> dict[str, Ends]:
    """Return the score plugins of the default profile with the ends of their weights."""
    plugins = default_plugins(FeatureGates.default()).multi_point.enabled
    return {plugin.name: (0, WEIGHT_MAX) for plugin in plugins if plugin.weight}


@dataclass(frozen=True, slots=True)
class Space:
    """What may be chosen; what is empty stays as the scenario's own configuration has it."""

    weights: Mapping[str, Ends]
    strategies: Sequence[Strategy]
    percentage: Ends | None

    def propose(self, proposer: Proposer) -> Values:
        """Return values as they are proposed."""
        values: dict[str, Any] = {}
        for plugin, (low, high) in self.weights.items():
            values[f"{_WEIGHT}{plugin}"] = proposer.suggest_int(f"{_WEIGHT}{plugin}", low, high)
        if self.strategies:
            values[_STRATEGY] = proposer.suggest_categorical(_STRATEGY, list(self.strategies))
            if values[_STRATEGY] == "RequestedToCapacityRatio":
                values[_FULLEST] = proposer.suggest_int(_FULLEST, _FULLEST_STEP, 100, step=_FULLEST_STEP)
        if self.percentage is not None:
            low, high = self.percentage
            step = _PERCENTAGE_STEP if (high - low) % _PERCENTAGE_STEP == 0 else 1
            values[_PERCENTAGE] = proposer.suggest_int(_PERCENTAGE, low, high, step=step)
        return values

    def ends(self) -> Iterator[tuple[str, Values]]:
        """Yield values at the ends, each alone with the option that it is chosen by."""
        for plugin, ends in self.weights.items():
            yield from ((f"--weight {plugin}", {f"{_WEIGHT}{plugin}": end}) for end in ends)
        for strategy in self.strategies:
            yield f"--strategy {strategy}", {_STRATEGY: strategy, _FULLEST: 100}
        for end in self.percentage or ():
            yield "--percentage", {_PERCENTAGE: end}


def apply_values(document: Document, values: Values) -> Document:
    """Return a scenario's document with these values in its scheduler configuration, in all profiles."""
    for name, value in values.items():
        if name.startswith(_WEIGHT):
            document = with_weight(document, name.removeprefix(_WEIGHT), value)
        elif name == _STRATEGY:
            document = _with_strategy(document, value, values.get(_FULLEST, 100))
        elif name == _PERCENTAGE:
            document = with_parameter(document, (CONFIG, _PERCENTAGE), value)
    return document


def _with_strategy(document: Document, strategy: Strategy, fullest: int) -> Document:
    for number, _ in enumerate(configuration_of(document)["profiles"]):
        base = f"{CONFIG}.profiles[{number}].pluginConfig[NodeResourcesFit].args.scoringStrategy"
        document = with_parameter(document, parse_path(f"{base}.type"), strategy)
        shape = _shape(fullest) if strategy == "RequestedToCapacityRatio" else None
        document = with_parameter(document, parse_path(f"{base}.requestedToCapacityRatio"), shape)
    return document


def _shape(fullest: int) -> dict[str, Any]:
    points = {0: 0, fullest: 10, **({} if fullest == 100 else {100: 0})}
    return {"shape": [{"utilization": share, "score": score} for share, score in points.items()]}


def front_of(results: Sequence[Sequence[float]], objectives: Sequence[Objective]) -> list[int]:
    """Return the places of results that no other one beats, the best by the first objective first.

    One beats another that it is as good as in every objective and better in one; of equal ones the first stays.
    """
    costs = [[one.cost(value) for one, value in zip(objectives, row, strict=True)] for row in results]
    stay = [
        place
        for place, own in enumerate(costs)
        if not any(_beats(other, own) for other in costs) and own not in costs[:place]
    ]
    return sorted(stay, key=lambda place: costs[place])


def _beats(one: Sequence[float], other: Sequence[float]) -> bool:
    return all(a <= b for a, b in zip(one, other, strict=True)) and any(a < b for a, b in zip(one, other, strict=True))
