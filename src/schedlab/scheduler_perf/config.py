"""Reads scheduler_perf files: test cases, each a list of operations and the workloads that give its parameters.

Mirrors: testCase, Workload, params and getTestCases of test/integration/scheduler_perf/scheduler_perf.go (v1.36).
Differs: metricsCollectorConfig is read and not used: what is collected is what `measurement` says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any, Final

import msgspec

from schedlab.apimachinery.time import TimeError, parse_duration
from schedlab.apimachinery.yaml_file import read_document
from schedlab.kernel.errors import SchedlabError
from schedlab.scheduler_perf.operations import REFUSED, AnyOperation

_SHIPPED: Final = "performance-config.yaml"
THROUGHPUT: Final = "SchedulingThroughput"


class MetricSelector(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Which figure a threshold is about."""

    name: str
    data_bucket: str
    labels: dict[str, str] = {}
    expect_lower: bool = False


_THROUGHPUT_AVERAGE: Final = MetricSelector(THROUGHPUT, "Average")


class Workload(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """One size of a test case."""

    name: str
    params: dict[str, Any] = {}
    labels: list[str] = []
    threshold: float | dict[str, float] = 0
    threshold_metric_selector: MetricSelector | None = None
    feature_gates: dict[str, bool] = {}


class TestCase(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Operations that its workloads have in common."""

    __test__ = False

    name: str
    workload_template: list[AnyOperation]
    workloads: list[Workload]
    feature_gates: dict[str, bool] = {}
    metrics_collector_config: dict[str, Any] | None = None
    scheduler_config_path: str = ""
    default_pod_template_path: str = ""
    labels: list[str] = []
    default_threshold_metric_selector: MetricSelector | None = None

    def workload(self, name: str = "") -> Workload:
        """Return the workload of that name, or without one the first that measures speed; raises SchedlabError."""
        for workload in self.workloads:
            if workload.name == name or (not name and "performance" in {*self.labels, *workload.labels}):
                return workload
        if not name and self.workloads:
            return self.workloads[0]
        raise SchedlabError(
            f"test case {self.name} has no workload {name!r}",
            hint=f"it has: {', '.join(workload.name for workload in self.workloads)}",
        )

    def gates(self, workload: Workload) -> dict[str, bool]:
        """Return the feature gates of a workload; batching is off unless somebody asks for it, as upstream."""
        return {"OpportunisticBatching": False, **self.feature_gates, **workload.feature_gates}

    def threshold(self, workload: Workload) -> tuple[float, MetricSelector]:
        """Return what a figure must at least (or at most) be, and which one; 0 asks for nothing."""
        selector = workload.threshold_metric_selector or self.default_threshold_metric_selector or _THROUGHPUT_AVERAGE
        bound = workload.threshold
        return (bound if isinstance(bound, (int, float)) else bound.get("", 0)), selector


class Params:
    """The parameters of one workload; whoever reads one has used it."""

    def __init__(self, values: Mapping[str, Any], location: str) -> None:
        self._values, self._location = values, location
        self._used: dict[str, None] = {}

    def count(self, fixed: int, param: str) -> int:
        """Return a count that is given, or that of a parameter `$name`."""
        return self._typed(param, int) if param else fixed

    def flag(self, fixed: bool, param: str) -> bool:  # noqa: FBT001 - a field's value
        """Return a flag that is given, or that of a parameter."""
        return self._typed(param, bool) if param else fixed

    def duration_ns(self, fixed: str, param: str) -> int:
        """Return a duration that is given, or that of a parameter."""
        text = self._typed(param, str) if param else fixed or "0s"
        try:
            return parse_duration(text)
        except TimeError as error:
            raise SchedlabError(f"{param or 'duration'}: {error}", location=self._location) from error

    def resolve(self, template_params: Mapping[str, Any]) -> dict[str, Any]:
        """Return templateParams with the values of parameters in place of `$name`."""
        return {
            key: self._value(value) if isinstance(value, str) and value.startswith("$") else value
            for key, value in template_params.items()
        }

    def refuse_unused(self) -> None:
        """Refuse parameters that no operation uses: most likely a name is misspelt."""
        unused = [name for name in self._values if name not in self._used]
        if unused:
            raise SchedlabError(
                f"the workload parameters {', '.join(unused)} are defined but unused",
                location=self._location,
                hint="remove them, or name them in an operation as $name",
            )

    def _value(self, param: str) -> Any:
        name = param.removeprefix("$")
        self._used[name] = None
        if name not in self._values:
            raise SchedlabError(
                f"parameter {name} is undefined",
                location=self._location,
                hint=f"the workload defines: {', '.join(self._values) or 'none'}",
            )
        return self._values[name]

    def _typed(self, param: str, kind: type[Any]) -> Any:
        value = self._value(param)
        if kind is int and isinstance(value, float) and value.is_integer():
            value = int(value)
        if type(value) is not kind or (kind is int and value < 0):
            wanted = {int: "a count of 0 or more", bool: "true or false", str: "a text"}[kind]
            raise SchedlabError(
                f"parameter {param.removeprefix('$')} is {value!r}, not {wanted}", location=self._location
            )
        return value


def shipped() -> Path:
    """Return the workload file that comes with schedlab."""
    return Path(str(resources.files("schedlab.scheduler_perf"))) / "workloads" / _SHIPPED


def load(path: Path) -> Sequence[TestCase]:
    """Read a file of test cases; raises SchedlabError with the place of the mistake."""
    raw: Any = read_document(path, "name a readable file")
    if not isinstance(raw, list):
        raise SchedlabError(
            f"holds {_kind(raw)}, not a list of test cases",
            location=str(path),
            hint="it begins with `- name: SchedulingBasic`, as the files of test/integration/scheduler_perf",
        )
    _refuse_opcodes(raw, path)
    try:
        cases = msgspec.convert(raw, list[TestCase])
    except msgspec.ValidationError as error:
        place = str(error).rpartition(" - at ")
        message, where = (place[0], place[2].strip("`")) if place[1] else (str(error), "$")
        raise SchedlabError(
            message,
            location=f"{path}: {_named(raw, where)}",
            hint="the format is that of kube-scheduler's scheduler_perf (docs/performance.md)",
        ) from error
    for case in cases:
        _check_case(case, path)
    return cases


def _check_case(case: TestCase, path: Path) -> None:
    names = [workload.name for workload in case.workloads]
    for name in names:
        if names.count(name) > 1:
            raise SchedlabError(f"{case.name}: workload name {name} is not unique", location=str(path))
    for workload in case.workloads:
        bound = workload.threshold
        for value in bound.values() if isinstance(bound, dict) else [bound]:
            if value < 0:
                raise SchedlabError(
                    f"{case.name}/{workload.name}: invalid threshold={value}; should be non-negative",
                    location=str(path),
                )


def find_file(text: str, beside: Path) -> Path:
    """Return the path of a file that a test case names, relative to the case's own file."""
    path = Path(text)
    return path if path.is_absolute() else beside.parent / path


def _refuse_opcodes(raw: list[Any], path: Path) -> None:
    for case in raw:
        template = case.get("workloadTemplate") if isinstance(case, dict) else None
        for operation in template if isinstance(template, list) else ():
            opcode = operation.get("opcode") if isinstance(operation, dict) else None
            if opcode in REFUSED:
                raise SchedlabError(
                    f"{case.get('name')}: {opcode} is not supported: {REFUSED[opcode]}",
                    location=str(path),
                    hint="remove the operation, or the test case",
                )


def _named(raw: list[Any], where: str) -> str:
    """Return the place of a mistake with the test case's name in it: msgspec only counts."""
    head, _, rest = where.removeprefix("$[").partition("]")
    if head.isdigit() and int(head) < len(raw) and isinstance(raw[int(head)], dict):
        return f"{raw[int(head)].get('name', f'test case {head}')}{rest}"
    return where


def _kind(value: Any) -> str:
    return {type(None): "nothing", dict: "a mapping", str: "a text"}.get(type(value), type(value).__name__)
