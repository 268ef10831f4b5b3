"""CEL expressions about one object: types are checked, functions of Kubernetes are there, errors read as cel-go's."""

from __future__ import annotations

import subprocess
import sys

import pytest

from schedlab.apimachinery import cel
from schedlab.apimachinery.cel import CelError, Environment, NoSuchKeyError
from schedlab.apimachinery.quantity import ERR_FORMAT

ENVIRONMENT = Environment(
    "thing",
    {
        "name": cel.STRING,
        "count": cel.INT,
        "labels": cel.map_of(cel.STRING, cel.STRING),
        "any": cel.map_of(cel.STRING, cel.DYN),
        "size": cel.QUANTITY,
        "version": cel.SEMVER,
        "list": cel.list_of(cel.INT),
    },
)
THING = {
    "name": "n",
    "count": 3,
    "labels": {"a": "b"},
    "any": {"one": 1, "text": "x", "flag": True},
    "size": cel.quantity_value("1Gi"),
    "version": cel.semver_value("1.2.3"),
    "list": [3, 1, 2],
}


def evaluate(expression: str) -> object:
    value, _ = ENVIRONMENT.compile(expression).evaluate(ENVIRONMENT.bind(THING))
    return value


@pytest.mark.parametrize(
    "expression",
    [
        'thing.name == "n" && thing.count > 2',
        "thing.count < 3.5 && 2u < 3 && 1.0 <= 1",
        'cel.bind(all, thing.any, all.one == 1 && all.text == "x")',
        "cel.bind(all, thing, all.count == 3)",
        'thing.any.?missing.orValue(7) == 7 && thing.any[?"one"].hasValue()',
        'has(thing.any.one) && !has(thing.any.two) && "a" in thing.labels',
        'thing.name.upperAscii() == "N" && "a,b".split(",").join("") == "ab"',
        'thing.size == quantity("1024Mi") && thing.size != quantity("1G")',
        'thing.size.compareTo(quantity("1Gi")) == 0 && thing.size.isGreaterThan(quantity("1G"))',
        'thing.size.isLessThan(quantity("2Gi")) && sign(quantity("-1")) == -1',
        'thing.size.add(quantity("1Gi")) == quantity("2Gi") && thing.size.sub(24) == quantity("1073741800")',
        'thing.size.add(1).isInteger() && thing.size.asInteger() == 1073741824 && !quantity("1m").isInteger()',
        'quantity("1k").asApproximateFloat() == 1000.0 && !isQuantity("1x") && isQuantity("1.5Gi")',
        'thing.version == semver("1.2.3+build") && thing.version.isLessThan(semver("1.10.0"))',
        "thing.version.major() == 1 && thing.version.minor() == 2 && thing.version.patch() == 3",
        'semver("v1.2", true).compareTo(semver("1.2.0")) == 0 && isSemver("v1.2", true) && !isSemver("v1.2")',
        "thing.list.max() == 3 && thing.list.min() == 1 && thing.list.sum() == 6 && !thing.list.isSorted()",
        "thing.list.indexOf(1) == 1 && [1, 2, 1].lastIndexOf(1) == 2 && [1].indexOf(5) == -1",
        '"abc".indexOf("b") == 1 && "abcb".lastIndexOf("b") == 3',
        "sets.contains([1, 2], [1]) && sets.intersects([1], [1, 2]) && sets.equivalent([1, 1], [1])",
        '"a1b22".find("[0-9]+") == "1" && "a1b22".findAll("[0-9]+") == ["1", "22"] && "a1".find("z") == ""',
        '"a1b22".findAll("[0-9]+", 1) == ["1"]',
        "thing.list.exists(x, x == 3) && thing.list.all(x, x > 0) && thing.list.map(x, x * 2) == [6, 2, 4]",
        "true || 1 / 0 == 1",
    ],
)
def test_expressions_that_hold(expression: str) -> None:
    """Operators, macros and functions do what Kubernetes' CEL does."""
    assert evaluate(expression) is True


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("thing.other == 1", "ERROR: <input>:1:6: undefined field 'other'\n | thing.other == 1\n | .....^"),
        ("other", "ERROR: <input>:1:1: undeclared reference to 'other' (in container '')\n | other\n | ^"),
        (
            "thing.size > 3",
            "ERROR: <input>:1:12: found no matching overload for '_>_' applied to '(kubernetes.Quantity, int)'",
        ),
        (
            'thing.version.compareTo(quantity("1"))',
            "ERROR: <input>:1:24: found no matching overload for 'compareTo' applied to '(kubernetes.Semver, ",
        ),
    ],
)
def test_what_does_not_compile(expression: str, expected: str) -> None:
    """The text names the place, in cel-go's words."""
    with pytest.raises(CelError) as failure:
        ENVIRONMENT.compile(expression)
    assert str(failure.value).startswith(expected)


def test_syntax_errors_are_told() -> None:
    """Also where the whole object is used, which is checked without types."""
    with pytest.raises(CelError, match="Syntax error"):
        ENVIRONMENT.compile("1 +")
    with pytest.raises(CelError, match="no such overload"):
        evaluate("cel.bind(all, thing, all.name + 1) == 2")


TEN = "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]"


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("thing.any.two == 1", "no such key: two"),
        ('thing.labels["x"] == "y"', "no such key: x"),
        ("thing.list[5] == 1", "index out of bounds: 5"),
        ("1 / 0 == 1", "division by zero"),
        ("thing.any.text < 3", "no such overload"),
        ("thing.any.flag.compareTo(thing.size) == 0", "no such overload"),
        ("thing.any.one.major() == 1", "no such overload"),
        ("dyn(thing.any).compareTo(dyn(thing.any)) == 0", "no such overload"),
        ('quantity("x") == quantity("1")', ERR_FORMAT),
        ('semver("1") == semver("2")', "No Major.Minor.Patch elements found"),
        ('quantity("1.5").asInteger() == 1', "cannot convert value to integer"),
        ("[].max() == 1", "max called on empty list"),
        ("[1, thing.any.text].min() == 1", "no such overload"),
        (f"{TEN}.map(a, {TEN}.map(b, {TEN}.map(c, {TEN}.map(d, {TEN}.map(e, a))))).size() == 1", "operation cancelled"),
    ],
)
def test_what_fails(expression: str, expected: str) -> None:
    """Errors of evaluation have cel-go's texts; an expression that runs away is stopped."""
    with pytest.raises(CelError) as failure:
        evaluate(expression)
    assert str(failure.value).startswith(expected)


def test_versions_and_quantities_are_not_mixed_up() -> None:
    """What the check cannot see is refused when it is evaluated."""
    mixed = {"a": cel.quantity_value("1"), "b": cel.semver_value("1.0.0")}
    for expression in (
        "thing.any.a.compareTo(thing.any.b) == 0",
        "thing.any.a.major() == 1",
        "thing.any.b.isInteger()",
    ):
        compiled = ENVIRONMENT.compile(expression)
        with pytest.raises(CelError, match="no such overload"):
            compiled.evaluate(ENVIRONMENT.bind({**THING, "any": mixed}))


def test_missing_key_is_told_apart() -> None:
    """Whoever knows what a key stands for can put it in."""
    with pytest.raises(NoSuchKeyError) as failure:
        evaluate("thing.any.two == 1")
    assert failure.value.key == "two"


def test_library_is_loaded_late() -> None:
    """Importing the module does not load the library; compiling does."""
    assert "cel_expr_python.cel" not in _modules_after("import schedlab.apimachinery.cel")
    evaluate("true")
    assert "cel_expr_python.cel" in sys.modules


def _modules_after(statement: str) -> str:
    command = [sys.executable, "-c", f"import sys\n{statement}\nprint(list(sys.modules))"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout
