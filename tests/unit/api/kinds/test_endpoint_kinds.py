"""Endpoints and their slices: what is wrong with them and what may change."""

from typing import Any

import pytest

from schedlab.api.object import Object
from tests.support.kinds import changed, create_errors, stored, update_errors

SLICE = "endpointslices.discovery.k8s.io"
ENDPOINTS = "endpoints"


def within(**fields: Any) -> Object:
    return {"metadata": {"name": "x", "namespace": "n"}, **fields}


def endpoint_slice(*endpoints: Object, **fields: Any) -> Object:
    return within(**{"addressType": "IPv4", "endpoints": list(endpoints), "ports": [], **fields})


def subset(**fields: Any) -> Object:
    known = {"addresses": [{"ip": "10.0.0.1"}], "ports": [{"port": 80}]}
    return within(subsets=[{**known, **fields}])


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (endpoint_slice({"addresses": ["10.0.0.1"]}), []),
        (endpoint_slice(addressType=""), ["addressType: Required value"]),
        (
            endpoint_slice(addressType="x"),
            ['addressType: Unsupported value: "x": supported values: "FQDN", "IPv4", "IPv6"'],
        ),
        (
            endpoint_slice({"addresses": []}),
            ["endpoints[0].addresses: Required value: must contain at least 1 address"],
        ),
        (
            endpoint_slice({"addresses": ["a"]}),
            [
                (
                    'endpoints[0].addresses[0]: Invalid value: "a": must be a valid IP address, (e.g. '
                    "10.9.8.7 or 2001:db8::ffff)"
                )
            ],
        ),
        (
            endpoint_slice({"addresses": ["2001:db8::1"]}),
            ['endpoints[0].addresses: Invalid value: "2001:db8::1": must be an IPv4 address'],
        ),
        (
            endpoint_slice({"addresses": ["127.0.0.1"]}),
            [
                (
                    'endpoints[0].addresses[0]: Invalid value: "127.0.0.1": may not be in the loopback '
                    "range (127.0.0.0/8, ::1/128)"
                )
            ],
        ),
        (endpoint_slice({"addresses": ["a.b"]}, addressType="FQDN"), []),
        (
            endpoint_slice({"addresses": ["10.0.0.1"], "hostname": "A"}),
            [
                (
                    'endpoints[0].hostname: Invalid value: "A": a lowercase RFC 1123 label must consist '
                    "of lower case alphanumeric characters or '-', and must start and end with an "
                    "alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
                    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
                )
            ],
        ),
        (
            endpoint_slice({"addresses": ["10.0.0.1"], "nodeName": "A"}),
            [
                (
                    'endpoints[0].nodeName: Invalid value: "A": a lowercase RFC 1123 subdomain must '
                    "consist of lower case alphanumeric characters, '-' or '.', and must start and end "
                    "with an alphanumeric character (e.g. 'example.com', regex used for validation is "
                    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
                )
            ],
        ),
        (endpoint_slice({"addresses": ["10.0.0.1"], "deprecatedTopology": {"a": "b"}}), []),
        (
            endpoint_slice({"addresses": ["10.0.0.1"], "hints": {"forZones": [{"name": "z"}, {"name": "z"}]}}),
            ['endpoints[0].hints.forZones[1].name: Duplicate value: "z"'],
        ),
        (endpoint_slice(ports=[{"port": 80}, {"port": 81}]), ['ports[1].name: Duplicate value: ""']),
        (
            endpoint_slice(ports=[{"name": "A", "protocol": "x"}]),
            [
                (
                    'ports[0].name: Invalid value: "A": a lowercase RFC 1123 label must consist of lower '
                    "case alphanumeric characters or '-', and must start and end with an alphanumeric "
                    "character (e.g. 'my-name',  or '123-abc', regex used for validation is "
                    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
                ),
                'ports[0].protocol: Unsupported value: "x": supported values: "SCTP", "TCP", "UDP"',
            ],
        ),
        (
            endpoint_slice(ports=[{"name": "a", "appProtocol": "x/y/z"}]),
            [
                (
                    'ports[0].appProtocol: Invalid value: "x/y/z": a valid label key must consist of '
                    "alphanumeric characters, '-', '_' or '.', and must start and end with an "
                    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
                    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS "
                    "subdomain prefix and '/' (e.g. 'example.com/MyName')"
                )
            ],
        ),
    ],
)
def test_endpoint_slices(obj: Object, expected: list[str]) -> None:
    assert create_errors(SLICE, obj) == expected


@pytest.mark.parametrize(
    ("path", "value", "subresource", "expected"),
    [
        ("addressType", "IPv6", "", ['addressType: Invalid value: "IPv6": field is immutable']),
        ("metadata.labels", {"a": "b"}, "", []),
    ],
)
def test_the_addresses_of_a_slice_stay_of_one_type(
    path: str, value: Any, subresource: str, expected: list[str]
) -> None:
    old = stored(SLICE, endpoint_slice())
    assert update_errors(SLICE, old, changed(old, path, value), subresource) == expected


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (subset(), []),
        (subset(addresses=[]), ["subsets[0]: Required value: must specify `addresses` or `notReadyAddresses`"]),
        (
            subset(addresses=[{"ip": ""}]),
            [
                (
                    'subsets[0].addresses[0].ip: Invalid value: "": must be a valid IP address, (e.g. '
                    "10.9.8.7 or 2001:db8::ffff)"
                ),
                'subsets[0].addresses[0].ip: Invalid value: "": must be a valid IP address',
            ],
        ),
        (
            subset(addresses=[{"ip": "a"}]),
            [
                (
                    'subsets[0].addresses[0].ip: Invalid value: "a": must be a valid IP address, (e.g. '
                    "10.9.8.7 or 2001:db8::ffff)"
                ),
                'subsets[0].addresses[0].ip: Invalid value: "a": must be a valid IP address',
            ],
        ),
        (
            subset(addresses=[{"ip": "127.0.0.1"}]),
            [
                (
                    'subsets[0].addresses[0].ip: Invalid value: "127.0.0.1": may not be in the loopback '
                    "range (127.0.0.0/8, ::1/128)"
                )
            ],
        ),
        (
            subset(addresses=[{"ip": "10.0.0.1", "hostname": "A", "nodeName": "B"}]),
            [
                (
                    'subsets[0].addresses[0].hostname: Invalid value: "A": a lowercase RFC 1123 label '
                    "must consist of lower case alphanumeric characters or '-', and must start and end "
                    "with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for "
                    "validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
                ),
                (
                    'subsets[0].addresses[0].nodeName: Invalid value: "B": a lowercase RFC 1123 '
                    "subdomain must consist of lower case alphanumeric characters, '-' or '.', and must "
                    "start and end with an alphanumeric character (e.g. 'example.com', regex used for "
                    "validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
                ),
            ],
        ),
        (
            subset(ports=[{"port": 0}]),
            ["subsets[0].ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive"],
        ),
        (
            subset(ports=[{"port": 80, "protocol": "x"}]),
            ['subsets[0].ports[0].protocol: Unsupported value: "x": supported values: "SCTP", "TCP", "UDP"'],
        ),
        (
            subset(ports=[{"port": 80}, {"port": 81}]),
            ["subsets[0].ports[0].name: Required value", "subsets[0].ports[1].name: Required value"],
        ),
    ],
)
def test_endpoints(obj: Object, expected: list[str]) -> None:
    assert create_errors(ENDPOINTS, obj) == expected


def test_ports_of_endpoints_are_tcp_by_default() -> None:
    assert stored(ENDPOINTS, subset())["subsets"][0]["ports"] == [{"port": 80, "protocol": "TCP"}]
