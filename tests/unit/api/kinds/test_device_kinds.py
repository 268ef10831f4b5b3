"""Kinds of resource.k8s.io: device classes, claims, claim templates and slices."""

from typing import Any

import pytest

from schedlab.api.object import Object
from tests.support.kinds import changed, context, create_errors, stored, update_errors

CLASS = "deviceclasses.resource.k8s.io"
CLAIM = "resourceclaims.resource.k8s.io"
TEMPLATE = "resourceclaimtemplates.resource.k8s.io"
SLICE = "resourceslices.resource.k8s.io"
CEL = "device.driver == 'd'"


def device_class(**spec: Any) -> Object:
    return {"metadata": {"name": "x"}, "spec": spec}


def selecting(expression: str) -> Object:
    return device_class(selectors=[{"cel": {"expression": expression}}])


def configuring(**opaque: Any) -> Object:
    known = {"driver": "d.example.com", "parameters": {"a": 1}}
    return device_class(config=[{"opaque": {**known, **opaque}}])


def claim(*requests: Object, **devices: Any) -> Object:
    spec = {"devices": {"requests": list(requests), **devices}}
    return {"metadata": {"name": "x", "namespace": "n"}, "spec": spec}


def exactly(**fields: Any) -> Object:
    return {"name": "r", "exactly": {"deviceClassName": "c", **fields}}


def one_of(*names: str, **fields: Any) -> Object:
    return {"name": "r", "firstAvailable": [{"name": name, "deviceClassName": "c", **fields} for name in names]}


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


def allocation(*results: Object, **fields: Any) -> Object:
    return {"devices": {"results": list(results)}, **fields}


def result(**fields: Any) -> Object:
    return {"request": "r", "driver": "d.example.com", "pool": "p", "device": "d", **fields}


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (device_class(), []),
        (selecting(CEL), []),
        (
            selecting(""),
            [
                (
                    'spec.selectors[0].cel.expression: Invalid value: "": compilation failed: ERROR: '
                    "<input>:1:1: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', "
                    "'-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, "
                    "IDENTIFIER}"
                )
            ],
        ),
        (
            selecting("device.driver +"),
            [
                (
                    'spec.selectors[0].cel.expression: Invalid value: "device.driver +": compilation '
                    "failed: ERROR: <input>:1:16: Syntax error: mismatched input '<EOF>' expecting {'[', "
                    "'{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, "
                    "STRING, BYTES, IDENTIFIER}\n | device.driver +\n | ...............^"
                )
            ],
        ),
        (
            selecting("device.driver"),
            [
                (
                    'spec.selectors[0].cel.expression: Invalid value: "device.driver": must evaluate to '
                    "bool or the unknown type, not string"
                )
            ],
        ),
        (selecting("x" * 10241), ["spec.selectors[0].cel.expression: Too long: may not be more than 10240 bytes"]),
        (device_class(selectors=[{}]), ["spec.selectors[0].cel: Required value"]),
        (configuring(), []),
        (configuring(driver=""), ["spec.config[0].opaque.driver: Required value"]),
        (configuring(driver="A"), []),
        (configuring(parameters=None), ["spec.config[0].opaque.parameters: Required value"]),
        (
            configuring(parameters=[1]),
            ['spec.config[0].opaque.parameters: Invalid value: "<value omitted>": must be a valid JSON object'],
        ),
        (device_class(config=[{}]), ["spec.config[0].opaque: Required value"]),
        (device_class(extendedResourceName="example.com/a"), []),
        (
            device_class(extendedResourceName="a"),
            ['spec.extendedResourceName: Invalid value: "a": must be a valid extended resource name'],
        ),
    ],
)
def test_device_classes(obj: Object, expected: list[str]) -> None:
    assert create_errors(CLASS, obj) == expected


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (claim(exactly()), []),
        (claim(), []),
        (
            claim({"name": "r"}),
            ["spec.devices.requests[0]: Required value: exactly one of `exactly` or `firstAvailable` is required"],
        ),
        (
            claim({"name": "A", "exactly": {"deviceClassName": "c"}}),
            [
                (
                    'spec.devices.requests[0].name: Invalid value: "A": a lowercase RFC 1123 label must '
                    "consist of lower case alphanumeric characters or '-', and must start and end with "
                    "an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation "
                    "is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
                )
            ],
        ),
        (claim(exactly(), exactly()), ['spec.devices.requests[1]: Duplicate value: "r"']),
        (
            claim({**exactly(), **one_of("a")}),
            [
                (
                    "spec.devices.requests[0]: Invalid value: null: exactly one of `exactly` or "
                    "`firstAvailable` is required, but multiple fields are set"
                )
            ],
        ),
        (claim(exactly(deviceClassName="")), ["spec.devices.requests[0].exactly.deviceClassName: Required value"]),
        (
            claim(exactly(deviceClassName="A")),
            [
                (
                    'spec.devices.requests[0].exactly.deviceClassName: Invalid value: "A": a lowercase '
                    "RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
                    "and must start and end with an alphanumeric character (e.g. 'example.com', regex "
                    "used for validation is "
                    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
                )
            ],
        ),
        (
            claim(exactly(allocationMode="x")),
            [
                (
                    'spec.devices.requests[0].exactly.allocationMode: Unsupported value: "x": supported '
                    'values: "All", "ExactCount"'
                )
            ],
        ),
        (
            claim(exactly(allocationMode="All", count=2)),
            [
                (
                    "spec.devices.requests[0].exactly.count: Invalid value: 2: must not be specified "
                    "when allocationMode is 'All'"
                )
            ],
        ),
        (
            claim(exactly(count=-1)),
            ["spec.devices.requests[0].exactly.count: Invalid value: -1: must be greater than zero"],
        ),
        (
            claim(exactly(selectors=[{"cel": {"expression": CEL}}] * 33)),
            ["spec.devices.requests[0].exactly.selectors: Too many: 33: must have at most 32 items"],
        ),
        (claim(one_of("a", "b")), []),
        (claim(one_of("a", "a")), ['spec.devices.requests[0].firstAvailable[1]: Duplicate value: "a"']),
        (
            claim(one_of(*"abcdefghi")),
            ["spec.devices.requests[0].firstAvailable: Too many: 9: must have at most 8 items"],
        ),
        (
            claim(one_of("a", count=-1)),
            ["spec.devices.requests[0].firstAvailable[0].count: Invalid value: -1: must be greater than zero"],
        ),
        (
            claim(exactly(tolerations=[{"key": "k", "operator": "x"}])),
            [
                (
                    'spec.devices.requests[0].exactly.tolerations[0].operator: Unsupported value: "x": '
                    'supported values: "Equal", "Exists"'
                )
            ],
        ),
    ],
)
def test_requests_of_claims(obj: Object, expected: list[str]) -> None:
    assert create_errors(CLAIM, obj) == expected


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (claim(exactly(), constraints=[{"matchAttribute": "d/a"}]), []),
        (
            claim(exactly(), constraints=[{}]),
            [
                (
                    'spec.devices.constraints[0]: Required value: exactly one of "matchAttribute" or '
                    '"distinctAttribute" is required, but multiple fields are set'
                )
            ],
        ),
        (
            claim(exactly(), constraints=[{"requests": ["q"], "matchAttribute": "d/a"}]),
            [
                (
                    'spec.devices.constraints[0].requests[0]: Invalid value: "q": must be the name of a '
                    "request in the claim or the name of a request and a subrequest separated by '/'"
                )
            ],
        ),
        (
            claim(exactly(), constraints=[{"requests": ["r", "r"], "matchAttribute": "d/a"}]),
            ['spec.devices.constraints[0].requests[1]: Duplicate value: "r"'],
        ),
        (
            claim(exactly(), constraints=[{"matchAttribute": "a"}]),
            [
                (
                    'spec.devices.constraints[0].matchAttribute: Invalid value: "a": a fully qualified '
                    "name must be a domain and a name separated by a slash"
                )
            ],
        ),
        (claim(one_of("a"), constraints=[{"requests": ["r/a"], "matchAttribute": "d/a"}]), []),
        (
            claim(one_of("a"), constraints=[{"requests": ["r/b"], "matchAttribute": "d/a"}]),
            [
                (
                    'spec.devices.constraints[0].requests[0]: Invalid value: "r/b": must be the name of '
                    "a request in the claim or the name of a request and a subrequest separated by '/'"
                )
            ],
        ),
        (
            claim(exactly(), config=[{"requests": ["q"], "opaque": {"driver": "d", "parameters": {}}}]),
            [
                (
                    'spec.devices.config[0].requests[0]: Invalid value: "q": must be the name of a '
                    "request in the claim or the name of a request and a subrequest separated by '/'"
                )
            ],
        ),
        (claim(exactly(), config=[{}]), ["spec.devices.config[0].opaque: Required value"]),
    ],
)
def test_constraints_and_configurations_of_claims(obj: Object, expected: list[str]) -> None:
    assert create_errors(CLAIM, obj) == expected


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        ({"metadata": {"name": "x", "namespace": "n"}, "spec": {"spec": claim(exactly())["spec"]}}, []),
        (
            {
                "metadata": {"name": "x", "namespace": "n"},
                "spec": {"metadata": {"labels": {"a b": "c"}}, "spec": claim({"name": "r"})["spec"]},
            },
            [
                (
                    'spec.metadata.labels: Invalid value: "a b": name part must consist of alphanumeric '
                    "characters, '-', '_' or '.', and must start and end with an alphanumeric character "
                    "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
                    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
                ),
                (
                    "spec.spec.devices.requests[0]: Required value: exactly one of `exactly` or "
                    "`firstAvailable` is required"
                ),
            ],
        ),
    ],
)
def test_claim_templates(obj: Object, expected: list[str]) -> None:
    assert create_errors(TEMPLATE, obj) == expected


@pytest.mark.parametrize(("path", "value", "subresource", "expected"), [("metadata.labels", {"a": "b"}, "", [])])
def test_a_template_stays(path: str, value: Any, subresource: str, expected: list[str]) -> None:
    old = stored(TEMPLATE, {"metadata": {"name": "x", "namespace": "n"}, "spec": {"spec": claim(exactly())["spec"]}})
    assert update_errors(TEMPLATE, old, changed(old, path, value), subresource) == expected


@pytest.mark.parametrize(
    ("path", "value", "subresource", "expected"),
    [
        ("metadata.labels", {"a": "b"}, "", []),
        ("status", {"allocation": allocation(result())}, "status", []),
        (
            "status",
            {"allocation": allocation(result(request="q"))},
            "status",
            [
                (
                    'status.allocation.devices.results[0].request: Invalid value: "q": must be the name '
                    "of a request in the claim or the name of a request and a subrequest separated by '/'"
                )
            ],
        ),
        (
            "status",
            {"allocation": allocation(result(driver="", pool="", device=""))},
            "status",
            [
                "status.allocation.devices.results[0].driver: Required value",
                "status.allocation.devices.results[0].pool: Required value",
                (
                    'status.allocation.devices.results[0].device: Invalid value: "": a lowercase RFC '
                    "1123 label must consist of lower case alphanumeric characters or '-', and must "
                    "start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex "
                    "used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
                ),
            ],
        ),
        (
            "status",
            {"reservedFor": [{"resource": "pods", "name": "p", "uid": "u"}]},
            "status",
            ["status.reservedFor: Forbidden: may not be specified when `allocated` is not set"],
        ),
        (
            "status",
            {"allocation": allocation(result()), "reservedFor": [{"resource": "pods", "name": "p", "uid": "u"}] * 2},
            "status",
            ['status.reservedFor[1]: Duplicate value: "u"'],
        ),
        (
            "status",
            {"allocation": allocation(result()), "reservedFor": [{"uid": ""}]},
            "status",
            [
                "status.reservedFor[0].resource: Required value",
                "status.reservedFor[0].name: Required value",
                "status.reservedFor[0].uid: Required value",
            ],
        ),
        (
            "status",
            {"devices": [{"driver": "d.example.com", "pool": "p", "device": "d"}]},
            "status",
            [
                (
                    'status.devices[0]: Invalid value: {"Driver":{},"Pool":{},"Device":{},"ShareID":{}}: '
                    "must be an allocated device in the claim"
                )
            ],
        ),
    ],
)
def test_updates_of_claims(path: str, value: Any, subresource: str, expected: list[str]) -> None:
    old = stored(CLAIM, claim(exactly()))
    assert update_errors(CLAIM, old, changed(old, path, value), subresource) == expected


def test_the_spec_of_a_claim_stays() -> None:
    old = stored(CLAIM, claim(exactly()))
    (error,) = update_errors(CLAIM, old, changed(old, "spec.devices.requests.0.exactly.count", 2))
    assert error.startswith("spec: Invalid value: {")
    assert error.endswith(": field is immutable")


def test_a_request_asks_for_one_device_by_default() -> None:
    (request,) = stored(CLAIM, claim(exactly()))["spec"]["devices"]["requests"]
    assert (request["exactly"]["allocationMode"], request["exactly"]["count"]) == ("ExactCount", 1)


def test_an_allocation_stays_and_only_users_go_and_come() -> None:
    old = stored(CLAIM, claim(exactly()))
    used = changed(
        old,
        "status",
        {"allocation": allocation(result()), "reservedFor": [{"resource": "pods", "name": "p", "uid": "u"}]},
    )
    other = changed(used, "status.allocation.devices.results.0.device", "e")
    (error,) = update_errors(CLAIM, used, other, "status")
    assert error.startswith("status.allocation: Invalid value: {")
    assert update_errors(CLAIM, used, changed(used, "status.reservedFor", []), "status") == []
    assert update_errors(CLAIM, used, changed(used, "status", {}), "status") == []


def test_fields_of_features_that_are_off_are_dropped() -> None:
    within = context(DRAPrioritizedList=False)
    (request,) = stored(CLAIM, claim(one_of("a")), within)["spec"]["devices"]["requests"]
    assert "firstAvailable" not in request


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
