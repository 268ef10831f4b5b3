"""Selectors see a device's driver, attributes and capacities, grouped by domain."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from schedlab.api.rules.device_selectors import DeviceFacts, compile_selector, device_matches
from schedlab.api.views.resource import Device
from schedlab.apimachinery.cel import CelError

DEVICE = {
    "name": "a",
    "attributes": {
        "model": {"string": "x"},
        "cores": {"int": 8},
        "fast": {"bool": True},
        "ver": {"version": "1.2.3"},
        "other.example/model": {"string": "y"},
    },
    "capacity": {"memory": {"value": "40Gi"}},
}


def facts(raw: dict[str, Any] = DEVICE) -> DeviceFacts:
    return DeviceFacts("gpu.example.com", msgspec.convert(raw, Device))


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ('device.driver == "gpu.example.com"', True),
        ('device.attributes["gpu.example.com"].model == "x"', True),
        ('device.attributes["other.example"].model == "x"', False),
        ('device.attributes["gpu.example.com"].fast', True),
        ('device.attributes["gpu.example.com"].cores > 7.5', True),
        ('device.attributes["gpu.example.com"].ver.isGreaterThan(semver("1.2.0"))', True),
        ('device.capacity["gpu.example.com"].memory.compareTo(quantity("40Gi")) >= 0', True),
        ("device.allowMultipleAllocations", False),
        ('has(device.attributes["nobody.example"].model)', False),
        ('"nobody.example" in device.attributes', False),
        ('device.attributes["nobody.example"].?model.orValue("z") == "z"', True),
        ('device.attributes["a.example"] == {} && device.capacity["b.example"] == {}', True),
    ],
)
def test_what_holds(expression: str, expected: bool) -> None:  # noqa: FBT001 - a table's column
    """A name without a domain is in the driver's; a domain of which there is nothing is empty."""
    assert device_matches(compile_selector(expression), facts()) is expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ('device.attributes["gpu.example.com"].colour == "red"', "no such key: colour"),
        ('device.attributes["nobody.example"].model == "x"', "no such key: model"),
        ('device.attributes["model"].model == "x"', "no such key: model"),
        (
            'device.attributes["gpu.example.com"].model',
            "CEL result of type string could not be converted to bool: unsupported native conversion from string to 'bool'",
        ),
        (
            'device.attributes["gpu.example.com"].cores',
            "CEL result of type int could not be converted to bool: unsupported type conversion from 'int' to bool",
        ),
        (
            "dyn(1.5)",
            "CEL result of type double could not be converted to bool: type conversion error from 'double' to 'bool'",
        ),
    ],
)
def test_what_fails(expression: str, expected: str) -> None:
    """An attribute that is missing and a result that is no boolean are errors."""
    with pytest.raises(CelError) as failure:
        device_matches(compile_selector(expression), facts())
    assert str(failure.value) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("device.driver", "must evaluate to bool or the unknown type, not string"),
        ('device.capacity["a"].b', "must evaluate to bool or the unknown type, not kubernetes.Quantity"),
        ("device.name", "compilation failed: ERROR: <input>:1:7: undefined field 'name'\n | device.name\n | ......^"),
    ],
)
def test_what_does_not_compile(expression: str, expected: str) -> None:
    """A selector yields a boolean, and knows a device's fields."""
    with pytest.raises(CelError) as failure:
        compile_selector(expression)
    assert str(failure.value) == expected


@pytest.mark.parametrize(
    ("attribute", "expected"),
    [
        ({"version": "1.x"}, "attribute a: parse semantic version: No Major.Minor.Patch elements found"),
        ({"ints": [1]}, "attribute a: unsupported attribute value"),
    ],
)
def test_attributes_that_cannot_be_used(attribute: dict[str, Any], expected: str) -> None:
    """They fail every selector, so that nothing is chosen by mistake."""
    with pytest.raises(CelError) as failure:
        device_matches(compile_selector("true"), facts({"name": "a", "attributes": {"a": attribute}}))
    assert str(failure.value) == expected
