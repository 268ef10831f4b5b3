"""Sweep files: read strictly, every point tried on the scenario before anything runs, every mistake with its line."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import msgspec

from schedlab.apimachinery.time import TimeError, parse_duration
from schedlab.apimachinery.yaml_file import read_text
from schedlab.kernel.clock import SECOND_NS
from schedlab.kernel.errors import SchedlabError
from schedlab.kernel.words import counted
from schedlab.scenario.comparing import OWN
from schedlab.scenario.file import document_of, plan_of
from schedlab.scenario.metrics import hint_for, metric_of
from schedlab.scenario.mistakes import Mistake, MistakesError, place_text
from schedlab.scenario.mistakes import Path as Place
from schedlab.scenario.model import API_VERSION
from schedlab.scenario.plan import Plan
from schedlab.scenario.seeds import read_seeds
from schedlab.scenario.shape import mistakes_of
from schedlab.scenario.source import Source
from schedlab.scenario.sweeps import model
from schedlab.scenario.sweeps.axes import Axis, Choice, Point, draw_number, draw_points, grid, numbers, size, step_of
from schedlab.scenario.sweeps.inputs import Inputs
from schedlab.scenario.sweeps.paths import parse_path
from schedlab.scenario.sweeps.task import COLUMNS, Task, encode, task_of
from schedlab.scenario.sweeps.varying import (
    CONFIG,
    Document,
    whole_weight,
    with_configuration_file,
    with_own_configuration,
    with_parameter,
    with_weight,
)

_CONFIG_AXIS: Final = "config"
_RUNS_MAX: Final = 100_000
_VALUES_MAX: Final = 10_000
#: So many values of a parameter, and points, that cannot be run are told.
_FAULTS_MAX: Final = 5
#: Fields that a sweep chooses in another way, and how.
_ELSEWHERE: Final = {
    "seed": "seeds has them",
    CONFIG: "configs has whole configurations",
    "apiVersion": "",
    "kind": "",
    "name": "",
    "description": "",
}
_SHOWN: Final = ("pods_pending", "wait_mean", "wait_p99", "nodes_used_max", "nodes_needed_max", "requested_mean.cpu")


@dataclass(frozen=True, slots=True)
class SweepPlan:
    """What is to be run. scenario: its file. names: of what varies, `config` first if configurations do.

    files: what the scenarios name, as they name it. metrics: those of the table at the end.
    """

    location: Path
    scenario: Path
    names: Sequence[str]
    tasks: Sequence[Task]
    files: Sequence[str]
    timeout_s: float | None
    metrics: Sequence[str]


def read_sweep(file: Path) -> SweepPlan:
    """Return what a sweep file asks for; raises SchedlabError, MistakesError with all mistakes."""
    text = read_text(file, "name a sweep file")
    document = document_of(text, file)
    if not isinstance(document, Mapping):
        raise SchedlabError(
            f"holds {type(document).__name__}, not a {model.KIND}",
            location=str(file),
            hint=f"it begins with `apiVersion: {API_VERSION}` and `kind: {model.KIND}`",
        )
    mistakes = [*mistakes_of(document, model.Sweep)]
    if not mistakes:
        reader = _SweepReader(file, msgspec.convert(document, model.Sweep))
        found = reader.read()
        mistakes = reader.mistakes
        if found is not None and not mistakes:
            return found
    raise MistakesError(str(file), text, mistakes)


class _SweepReader:
    """Reads one sweep; keeps every mistake with its place."""

    def __init__(self, file: Path, sweep: model.Sweep) -> None:
        self.mistakes: list[Mistake] = []
        self._file, self._sweep = file, sweep
        self._scenario = file.parent / sweep.scenario
        self._base: Document = {}

    def read(self) -> SweepPlan | None:
        """Return what is to be run, when there are no mistakes."""
        text = read_text(self._scenario, f"{self._file} names it: a scenario file")
        own = document_of(text, self._scenario)
        plan_of(own, text, Source(self._scenario))
        self._base = with_own_configuration(own, self._scenario)
        timeout_s = self._timeout()
        seeds = self._seeds()
        metrics = self._metrics()
        axes = self._axes()
        if self.mistakes:
            return None
        points = [*self._points(axes, len(seeds))]
        tasks, files = self._tasks(points, seeds)
        return SweepPlan(self._file, self._scenario, [axis.name for axis in axes], tasks, files, timeout_s, metrics)

    def _wrong(self, place: Place, message: str, hint: str = "") -> None:
        self.mistakes.append(Mistake(place, message, hint))

    # --- Texts -------------------------------------------------------------------------------------------------------

    def _timeout(self) -> float | None:
        text = self._sweep.timeout
        if text is None:
            return None
        try:
            length_ns = parse_duration(text)
        except TimeError:
            self._wrong(("timeout",), f"{text!r} is no duration", "write one like 90s, 30m or 1h30m")
            return None
        if length_ns <= 0:
            self._wrong(("timeout",), f"{text} is no time at all", "give a longer one")
        return length_ns / SECOND_NS

    def _seeds(self) -> list[int]:
        given = self._sweep.seeds
        if given is None:
            return [self._base.get("seed", 1)]
        if isinstance(given, str):
            try:
                return read_seeds(given, "")
            except SchedlabError as error:
                self._wrong(("seeds",), error.message, error.hint)
                return []
        if not given:
            self._wrong(("seeds",), "is empty", "give at least one")
        if any(seed < 0 for seed in given):
            self._wrong(("seeds",), f"{min(given)} is no seed", "give 0 or more")
        return [*dict.fromkeys(given)]

    def _metrics(self) -> list[str]:
        for number, name in enumerate(self._sweep.metrics):
            if metric_of(name) is None:
                self._wrong(("metrics", number), f"there is no metric {name}", hint_for(name))
        return list(self._sweep.metrics or _SHOWN)

    # --- What varies -------------------------------------------------------------------------------------------------

    def _axes(self) -> list[Axis]:
        sweep = self._sweep
        axes = [self._configs()] if sweep.configs else []
        axes += [axis for number, one in enumerate(sweep.parameters) if (axis := self._parameter(number, one))]
        names = [axis.name for axis in axes]
        for number, axis in enumerate(axes):
            if axis.name in names[:number]:
                self._wrong(("parameters",), f"{axis.name} is there twice", "give one of them another name")
        for axis in axes:
            self._check_alone(axis)
        return axes

    def _configs(self) -> Axis:
        choices: list[Choice] = []
        for number, given in enumerate(self._sweep.configs):
            place: Place = ("configs", number)
            one = model.Config(file=given) if isinstance(given, str) else given
            name = one.name or one.file or (f"configs[{number}]" if one.set or one.weights else OWN)
            if name in [choice.value for choice in choices]:
                self._wrong(place, f"{name} is there twice", "give it a name of its own")
            choices.append(Choice(name, place, partial(self._configured, one)))
        return Axis(_CONFIG_AXIS, choices)

    def _configured(self, one: model.Config, document: Document) -> Document:
        if one.file is not None:
            document = with_configuration_file(document, self._file.parent / one.file)
        for path, value in one.set.items():
            document = with_parameter(document, (CONFIG, *parse_path(path)), value)
        for plugin, weight in one.weights.items():
            document = with_weight(document, plugin, whole_weight(weight))
        return document

    def _parameter(self, number: int, one: model.Parameter) -> Axis | None:
        place: Place = ("parameters", number)
        if (one.path is None) == (one.weight is None):
            self._wrong(
                place, "says neither where it stands nor whose weight it is, or both", "give one of path, weight"
            )
            return None
        if (one.values is None) == (one.range is None):
            self._wrong(place, "has neither values nor a range, or both", "give one of values, range")
            return None
        if one.format is not None and "{}" not in one.format:
            self._wrong((*place, "format"), f"{one.format!r} has no place for the value", "write {} where it stands")
            return None
        apply = self._application(place, one)
        if apply is None:
            return None
        name = one.name or one.path or one.weight or ""
        if name in COLUMNS or metric_of(name) is not None:
            self._wrong((*place, "name"), f"{name} is another column of results", "give it another name")

        def choice(value: Any, where: Place = place) -> Choice:
            shown = value if one.format is None else one.format.replace("{}", str(value))
            return Choice(shown, where, partial(apply, shown))

        if one.values is not None:
            return Axis(name, self._values((*place, "values"), one.values, choice))
        assert one.range is not None, "it has one of the two"
        return self._ranged((*place, "range"), one.range, name, choice)

    def _application(self, place: Place, one: model.Parameter) -> Callable[[Any, Document], Document] | None:
        """Return what puts a value into a document."""
        if one.weight is not None:
            plugin = one.weight
            return lambda value, document: with_weight(document, plugin, whole_weight(value))
        try:
            steps = parse_path(one.path or "")
        except SchedlabError as error:
            self._wrong((*place, "path"), error.message, error.hint)
            return None
        if len(steps) == 1 and steps[0] in _ELSEWHERE:
            self._wrong((*place, "path"), f"{one.path} is no parameter", _ELSEWHERE[str(steps[0])])
            return None
        return lambda value, document: with_parameter(document, steps, value)

    def _values(self, place: Place, values: Sequence[Any], choice: Callable[[Any, Place], Choice]) -> list[Choice]:
        if not values:
            self._wrong(place, "is empty", "give at least one")
        for number, value in enumerate(values):
            if value in values[:number]:
                self._wrong((*place, number), f"{value!r} is there twice", "take one out")
        return [choice(value, (*place, number)) for number, value in enumerate(values)]

    def _ranged(self, place: Place, given: model.Range, name: str, choice: Callable[[Any], Choice]) -> Axis:
        step = step_of(given)
        if given.to < given.from_:
            self._wrong(place, f"ends at {given.to}, before {given.from_}", "give the lower end as from")
        elif given.step is not None and given.step <= 0:
            self._wrong((*place, "step"), f"is {given.step}", "give one above 0")
        elif given.log and (given.from_ <= 0 or given.step is not None):
            self._wrong((*place, "log"), "goes with numbers above 0, and with no step", "take it out")
        elif step is None and self._sweep.random is None:
            self._wrong(place, "has no step, so that a grid has no end", "add step, or random")
        elif step is not None and (given.to - given.from_) / step >= _VALUES_MAX:
            self._wrong(place, "holds too many numbers", f"take a longer step: {_VALUES_MAX} numbers at most")
        else:
            draws = None if step is not None else lambda random: choice(draw_number(given, random))
            return Axis(name, [choice(number) for number in numbers(given)], draws)
        return Axis(name, [])

    # --- Trying ------------------------------------------------------------------------------------------------------

    def _check_alone(self, axis: Axis) -> None:
        """Try every choice without the others, so that a mistake is told of the value that makes it."""
        before = len(self.mistakes)
        for choice in axis.choices:
            if len(self.mistakes) - before >= _FAULTS_MAX:
                return
            try:
                document = choice.apply(self._base)
            except SchedlabError as error:
                inside = f"{error.location}: " if error.location else ""
                self._wrong(choice.place, f"{inside}{error.message}", error.hint)
                return
            for mistake in self._compile(encode(document))[1]:
                told = f"{_shown(choice.value)} cannot be: {place_text(mistake.path)}{mistake.message}"
                self._wrong(choice.place, told, mistake.hint)

    def _compile(self, document: str) -> tuple[Plan | None, Sequence[Mistake]]:
        try:
            return plan_of(json.loads(document), "", Source(self._scenario)), ()
        except MistakesError as error:
            return None, error.mistakes

    def _points(self, axes: Sequence[Axis], seeds: int) -> Iterator[Point]:
        search, there = self._sweep.random, size(axes)
        if search is not None and search.points > there:
            self._wrong(
                ("random", "points"),
                f"the axes have {counted(int(there), 'point')}, not {search.points}",
                "take random out",
            )
            return
        count = there if search is None else search.points
        if count * seeds > _RUNS_MAX:
            self._wrong((), f"asks for {count * seeds} runs, more than {_RUNS_MAX}", "take random, or fewer values")
            return
        yield from grid(axes) if search is None else draw_points(axes, search.points, search.seed)

    def _tasks(self, points: Sequence[Point], seeds: Sequence[int]) -> tuple[list[Task], list[str]]:
        """Return a task per point and seed, and the files that they need; points that cannot be run are mistakes."""
        inputs = Inputs(self._scenario.parent)
        tasks: list[Task] = []
        files: dict[str, None] = {}
        for point in points:
            values = {name: choice.value for name, choice in point.items()}
            document = self._base
            for choice in point.values():
                document = choice.apply(document)
            text = encode(document)
            plan, mistakes = self._compile(text)
            if plan is None:
                where = place_text(mistakes[0].path)
                self._wrong(
                    ("parameters",), f"{_shown(values)} cannot be: {where}{mistakes[0].message}", mistakes[0].hint
                )
                if len(self.mistakes) >= _FAULTS_MAX:
                    break
                continue
            files |= dict.fromkeys(plan.files)
            config = values.pop(_CONFIG_AXIS, OWN)
            tasks += [task_of(text, plan, inputs, seed, config, values) for seed in seeds]
        return tasks, [*files]


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
