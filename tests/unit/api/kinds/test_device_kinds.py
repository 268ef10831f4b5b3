"""Kinds of resource.k8s.io: device classes, claims and claim templates."""

from typing import Any

import pytest

from schedlab.api.object import Object
from tests.support.kinds import changed, context, create_errors, stored, update_errors

CLASS = "deviceclasses.resource.k8s.io"
CLAIM = "resourceclaims.resource.k8s.io"
TEMPLATE = "resourceclaimtemplates.resource.k8s.io"
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
