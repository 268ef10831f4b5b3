"""Slices of resource.k8s.io: the devices a driver offers."""

from typing import Any

import pytest

from schedlab.api.object import Object
from tests.support.kinds import changed, create_errors, stored, update_errors

SLICE = "resourceslices.resource.k8s.io"


def device_slice(*devices: Object, **spec: Any) -> Object:
    pool = {"name": "p", "generation": 1, "resourceSliceCount": 1}
    known = {"driver": "d.example.com", "pool": pool, "nodeName": "n", "devices": list(devices)}
    return {"metadata": {"name": "x"}, "spec": {**known, **spec}}


def device(name: str = "d", **fields: Any) -> Object:
    return {"name": name, **fields}


def attribute(**value: Any) -> Object:
    return device(attributes={"a": value})


def counters(**values: Any) -> Object:
    return {"name": "s", "counters": values}


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (device_slice(device()), []),
        (device_slice(driver=""), ["spec.driver: Required value"]),
        (device_slice(driver="A"), []),
        (
            device_slice(pool={"name": "", "generation": -1, "resourceSliceCount": 0}),
            [
                "spec.pool.name: Required value",
                "spec.pool.resourceSliceCount: Invalid value: 0: must be greater than zero",
                "spec.pool.generation: Invalid value: -1: must be greater than or equal to zero",
            ],
        ),
        (
            device_slice(nodeName=None),
            [
                (
                    "spec: Required value: exactly one of `nodeName`, `nodeSelector`, `allNodes`, "
                    "`perDeviceNodeSelection` is required"
                )
            ],
        ),
        (
            device_slice(allNodes=True),
            [
                (
                    'spec: Invalid value: "{`nodeName`, `allNodes`}": exactly one of `nodeName`, '
                    "`nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required, but multiple "
                    "fields are set"
                )
            ],
        ),
        (device_slice(nodeName=None, allNodes=True), []),
        (
            device_slice(nodeName=None, nodeSelector={"nodeSelectorTerms": []}),
            [
                "spec.nodeSelector.nodeSelectorTerms: Required value: must have at least one node selector term",
                "spec.nodeSelector.nodeSelectorTerms: Invalid value: []: must have exactly one node selector term",
            ],
        ),
        (device_slice(nodeName=None, perDeviceNodeSelection=True), []),
        (device_slice(device(), device()), ['spec.devices[1]: Duplicate value: "d"']),
        (
            device_slice(device("A")),
            [
                (
                    'spec.devices[0].name: Invalid value: "A": a lowercase RFC 1123 label must consist '
                    "of lower case alphanumeric characters or '-', and must start and end with an "
                    "alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
                    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
                )
            ],
        ),
        (
            device_slice(*(device(f"d{i}") for i in range(129))),
            ["spec.devices: Too many: 129: must have at most 128 items"],
        ),
    ],
)
def test_slices(obj: Object, expected: list[str]) -> None:
    assert create_errors(SLICE, obj) == expected


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (device_slice(attribute(int=1)), []),
        (
            device_slice(attribute()),
            ['spec.devices[0].attributes[a]: Invalid value: "": exactly one value must be specified'],
        ),
        (
            device_slice(attribute(int=1, bool=True)),
            [
                (
                    "spec.devices[0].attributes[a]: Invalid value: "
                    '{"IntValue":1,"BoolValue":true,"StringValue":null,"VersionValue":null,"IntValues":nu'
                    'll,"BoolValues":null,"StringValues":null,"VersionValues":null}: exactly one value '
                    "must be specified"
                )
            ],
        ),
        (
            device_slice(attribute(version="1")),
            [
                (
                    'spec.devices[0].attributes[a].version: Invalid value: "1": must be a string '
                    "compatible with semver.org spec 2.0.0"
                )
            ],
        ),
        (
            device_slice(attribute(string="x" * 65)),
            ["spec.devices[0].attributes[a].string: Too long: may not be more than 64 bytes"],
        ),
        (device_slice(device(attributes={"a/b/c": {"int": 1}})), []),
        (device_slice(device(attributes={"A.example/b": {"int": 1}})), []),
        (device_slice(device(capacity={"c": {"value": "1"}})), []),
        (
            device_slice(device(capacity={"a b": {"value": "1"}})),
            [
                (
                    'spec.devices[0].capacity: Invalid value: "a b": a valid C identifier must start '
                    "with alphabetic character or '_', followed by a string of alphanumeric characters "
                    "or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is "
                    "'[A-Za-z_][A-Za-z0-9_]*')"
                )
            ],
        ),
        (device_slice(device(taints=[{"key": "k", "effect": "NoSchedule"}])), []),
        (
            device_slice(device(taints=[{"key": "", "effect": "x"}])),
            [
                'spec.devices[0].taints[0].key: Invalid value: "": name part must be non-empty',
                (
                    'spec.devices[0].taints[0].key: Invalid value: "": name part must consist of '
                    "alphanumeric characters, '-', '_' or '.', and must start and end with an "
                    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
                    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
                ),
                (
                    'spec.devices[0].taints[0].effect: Unsupported value: "x": supported values: '
                    '"NoExecute", "NoSchedule", "None"'
                ),
            ],
        ),
        (device_slice(device(consumesCounters=[{"counterSet": "s", "counters": {"c": {"value": "1"}}}])), []),
        (
            device_slice(device(consumesCounters=[{"counterSet": "", "counters": {}}])),
            [
                "spec.devices[0].consumesCounters[0].counterSet: Required value",
                "spec.devices[0].consumesCounters[0].counters: Required value",
            ],
        ),
        (device_slice(sharedCounters=[counters(c={"value": "1"})], devices=None), []),
        (device_slice(sharedCounters=[counters()], devices=None), ["spec.sharedCounters[0].counters: Required value"]),
        (
            device_slice(device(), sharedCounters=[counters(c={"value": "1"})]),
            ['spec: Invalid value: "": only one of `sharedCounters` or `devices` is allowed'],
        ),
        (
            device_slice(
                device(
                    allowMultipleAllocations=True,
                    capacity={"c": {"value": "4", "requestPolicy": {"default": "1", "validValues": ["1", "2"]}}},
                )
            ),
            [],
        ),
        (
            device_slice(device(capacity={"c": {"value": "4", "requestPolicy": {"default": "1"}}})),
            ["spec.devices[0].capacity[c].requestPolicy: Forbidden: allowMultipleAllocations must be true"],
        ),
        (
            device_slice(
                device(
                    allowMultipleAllocations=True,
                    capacity={"c": {"value": "4", "requestPolicy": {"default": "3", "validValues": ["1", "2"]}}},
                )
            ),
            [
                (
                    'spec.devices[0].capacity[c].requestPolicy.validValues: Invalid value: "3": default '
                    "value is not valid according to the requestPolicy"
                )
            ],
        ),
        (
            device_slice(
                device(
                    allowMultipleAllocations=True,
                    capacity={
                        "c": {
                            "value": "4",
                            "requestPolicy": {"default": "1", "validRange": {"min": "2", "max": "8", "step": "3"}},
                        }
                    },
                )
            ),
            [
                (
                    'spec.devices[0].capacity[c].requestPolicy.validRange.min: Invalid value: "1": '
                    "default is less than min: 2"
                ),
                (
                    'spec.devices[0].capacity[c].requestPolicy.validRange.max: Invalid value: "8": max '
                    "is larger than capacity value: 4"
                ),
                (
                    'spec.devices[0].capacity[c].requestPolicy.validRange.step: Invalid value: "3": one '
                    "step 5 is larger than capacity value: 4"
                ),
                (
                    'spec.devices[0].capacity[c].requestPolicy.validRange.step: Invalid value: "1": '
                    "value is not a multiple of a given step (3) from (2)"
                ),
            ],
        ),
    ],
)
def test_devices_of_slices(obj: Object, expected: list[str]) -> None:
    assert create_errors(SLICE, obj) == expected


@pytest.mark.parametrize(
    ("path", "value", "subresource", "expected"),
    [
        ("spec.driver", "e.example.com", "", ['spec.driver: Invalid value: "e.example.com": field is immutable']),
        ("spec.pool.name", "q", "", ['spec.pool.name: Invalid value: "q": field is immutable']),
        ("spec.nodeName", "m", "", ['spec.nodeName: Invalid value: "m": field is immutable']),
        ("spec.pool.generation", 2, "", []),
        ("spec.devices", [], "", []),
    ],
)
def test_slices_stay_with_driver_pool_and_node(path: str, value: Any, subresource: str, expected: list[str]) -> None:
    old = stored(SLICE, device_slice(device()))
    assert update_errors(SLICE, old, changed(old, path, value), subresource) == expected
