"""Expressions about usage, with KWOK's functions."""

from __future__ import annotations

from typing import Any

import pytest

from schedlab.apimachinery.cel import CelError
from schedlab.apimachinery.time import parse_time
from schedlab.kubelet.usage.expressions import compile_usage, evaluate_usage

CREATED = "2026-01-01T00:00:00Z"
CONTAINER: dict[str, Any] = {"name": "c", "resources": {"requests": {"cpu": "250m"}}}
POD: dict[str, Any] = {
    "metadata": {"name": "p", "creationTimestamp": CREATED},
    "spec": {"containers": [CONTAINER]},
    "status": {"startTime": "2026-01-01T00:01:00Z"},
}
NODE: dict[str, Any] = {"metadata": {"name": "n", "creationTimestamp": CREATED}, "status": {"capacity": {"cpu": "4"}}}


def evaluate(source: str) -> float:
    """Evaluate an expression two minutes after everything was created."""
    return evaluate_usage(compile_usage(source), NODE, POD, CONTAINER, parse_time("2026-01-01T00:02:00Z"), 0.25)


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ('Quantity("1Mi") * (pod.SinceSecond() / 60.0)', 2 * 2.0**20),
        ('"a" in pod.metadata.annotations ? Quantity(pod.metadata.annotations["a"]) : Quantity("1m")', 0.001),
        ('pod.spec.containers[0].resources.requests["cpu"] * 2', 0.5),
        ("container.resources.requests.cpu / 2", 0.125),
        ("-(container.resources.requests.cpu / -2)", 0.125),
        ('(Quantity("1") + Quantity("2") - Quantity("500m")) / 2.0', 1.25),
        ('Quantity("1") > Quantity("200m") ? 1 : 2', 1.0),
        ('Quantity("1") <= Quantity("200m") ? 1u : 2u', 2.0),
        ("node.status.capacity.cpu * Rand()", 1.0),
        ("SinceSecond(node)", 120.0),
        ("UnixSecond(Now()) - pod.status.startTime.UnixSecond()", 60.0),
        ("Now() - timestamp(pod.status.startTime)", 60e9),
        ('pod.metadata.name == "p"', 1.0),
    ],
)
def test_values(source: str, value: float) -> None:
    """Numbers, durations in nanoseconds, truth and quantities are amounts."""
    assert evaluate(source) == value


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ('Quantity("x")', "quantities must match the regular expression"),
        ('Quantity("1") / 0', "division by zero"),
        ('Quantity("1") * (0.0 / 0.0)', "nan is no amount"),
        ("1.0 / 0.0", "inf is no amount"),
        ('2 * Quantity("1")', "no such overload"),
        ('"text"', "unsupported type: STRING"),
        ("pod.metadata.nothing", "no such key: nothing"),
        ('"soon".UnixSecond()', "soon"),
    ],
)
def test_failures(source: str, message: str) -> None:
    """What cannot be worked out says why."""
    with pytest.raises(CelError, match=message):
        evaluate(source)


def test_what_is_no_expression() -> None:
    """It does not compile."""
    with pytest.raises(CelError, match="Syntax error"):
        compile_usage("1 +")
