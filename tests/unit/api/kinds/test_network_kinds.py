"""Kinds of networking: what is wrong with them and what may change."""

from typing import Any

import pytest

from schedlab.api.object import Object
from tests.support.kinds import changed, context, create_errors, stored, strategy, update_errors

INGRESS = "ingresses.networking.k8s.io"
INGRESS_CLASS = "ingressclasses.networking.k8s.io"
POLICY = "networkpolicies.networking.k8s.io"
ADDRESS = "ipaddresses.networking.k8s.io"
CIDR = "servicecidrs.networking.k8s.io"
BACKEND = {"service": {"name": "s", "port": {"number": 80}}}


def within(**fields: Any) -> Object:
    return {"metadata": {"name": "x", "namespace": "n"}, **fields}


def ingress(**path: Any) -> Object:
    """Return an ingress with one path."""
    known = {"path": "/", "pathType": "Prefix", "backend": BACKEND}
    return within(spec={"rules": [{"http": {"paths": [{**known, **path}]}}]})


def policy(**rule: Any) -> Object:
    """Return a network policy with one rule."""
    return within(spec={"podSelector": {}, "ingress": [rule]})


def block(cidr: str, *exceptions: str) -> Object:
    return policy(**{"from": [{"ipBlock": {"cidr": cidr, "except": list(exceptions)}}]})


def ingress_class(**fields: Any) -> Object:
    return {"metadata": {"name": "x"}, "spec": {"controller": "e.com/c", **fields}}


def parameters(**fields: Any) -> Object:
    return ingress_class(parameters={"kind": "k", "name": "p", **fields})


def address(name: str = "10.0.0.1", **reference: Any) -> Object:
    return {"metadata": {"name": name}, "spec": {"parentRef": {"resource": "services", "name": "s", **reference}}}


def service_cidr(*cidrs: str) -> Object:
    return {"metadata": {"name": "x"}, "spec": {"cidrs": list(cidrs)}}


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (ingress(), []),
        (within(spec={}), ["spec: Invalid value: null: either `defaultBackend` or `rules` must be specified"]),
        (within(spec={"defaultBackend": BACKEND}), []),
        (
            within(spec={"rules": [{"host": "a_b"}], "defaultBackend": BACKEND}),
            [
                (
                    'spec.rules[0].host: Invalid value: "a_b": a lowercase RFC 1123 subdomain must '
                    "consist of lower case alphanumeric characters, '-' or '.', and must start and end "
                    "with an alphanumeric character (e.g. 'example.com', regex used for validation is "
                    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
                )
            ],
        ),
        (
            within(spec={"rules": [{"host": "*.e.com"}, {"host": "10.0.0.1"}], "defaultBackend": BACKEND}),
            ['spec.rules[1].host: Invalid value: "10.0.0.1": must be a DNS name, not an IP address'],
        ),
        (
            within(spec={"tls": [{"hosts": ["A"]}], "defaultBackend": BACKEND}),
            [
                (
                    'spec.tls[0].hosts[0]: Invalid value: "A": a lowercase RFC 1123 subdomain must '
                    "consist of lower case alphanumeric characters, '-' or '.', and must start and end "
                    "with an alphanumeric character (e.g. 'example.com', regex used for validation is "
                    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
                )
            ],
        ),
        (
            within(spec={"ingressClassName": "A", "defaultBackend": BACKEND}),
            [
                (
                    'spec.ingressClassName: Invalid value: "A": a lowercase RFC 1123 subdomain must '
                    "consist of lower case alphanumeric characters, '-' or '.', and must start and end "
                    "with an alphanumeric character (e.g. 'example.com', regex used for validation is "
                    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
                )
            ],
        ),
        (ingress(pathType=None), ["spec.rules[0].http.paths[0].pathType: Required value: pathType must be specified"]),
        (
            ingress(pathType="x"),
            [
                (
                    'spec.rules[0].http.paths[0].pathType: Unsupported value: "x": supported values: '
                    '"Exact", "ImplementationSpecific", "Prefix"'
                )
            ],
        ),
        (ingress(path="a"), ['spec.rules[0].http.paths[0].path: Invalid value: "a": must be an absolute path']),
        (ingress(path="/a//b"), ["spec.rules[0].http.paths[0].path: Invalid value: \"/a//b\": must not contain '//'"]),
        (
            ingress(path="/a/../b"),
            ["spec.rules[0].http.paths[0].path: Invalid value: \"/a/../b\": must not contain '/../'"],
        ),
        (ingress(path="/%2f"), ["spec.rules[0].http.paths[0].path: Invalid value: \"/%2f\": must not contain '%2f'"]),
        (
            ingress(backend={}),
            ['spec.rules[0].http.paths[0].backend: Invalid value: "": resource or service backend is required'],
        ),
        (
            ingress(backend={"service": {"name": "s", "port": {}}}),
            ["spec.rules[0].http.paths[0].backend: Required value: port name or number is required"],
        ),
        (
            ingress(backend={"service": {"name": "s", "port": {"number": 1, "name": "a"}}}),
            ['spec.rules[0].http.paths[0].backend: Invalid value: "": cannot set both port name & port number'],
        ),
        (
            ingress(backend={"service": {"name": "A", "port": {"number": 0, "name": "A"}}}),
            [
                (
                    'spec.rules[0].http.paths[0].backend.service.name: Invalid value: "A": a lowercase '
                    "RFC 1123 label must consist of lower case alphanumeric characters or '-', and must "
                    "start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex "
                    "used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
                ),
                (
                    'spec.rules[0].http.paths[0].backend.service.port.name: Invalid value: "A": must '
                    "contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)"
                ),
                (
                    'spec.rules[0].http.paths[0].backend.service.port.name: Invalid value: "A": must '
                    "contain at least one letter (a-z)"
                ),
            ],
        ),
        (ingress(backend={"resource": {"kind": "k", "name": "r"}}), []),
        (
            ingress(backend={**BACKEND, "resource": {"kind": "k", "name": "r"}}),
            [('spec.rules[0].http.paths[0].backend: Invalid value: "": cannot set both resource and service backends')],
        ),
    ],
)
def test_ingresses(obj: Object, expected: list[str]) -> None:
    assert create_errors(INGRESS, obj) == expected


@pytest.mark.parametrize(
    ("path", "value", "subresource", "expected"),
    [
        ("status.loadBalancer.ingress", [{"ip": "10.0.0.1"}], "status", []),
        (
            "status.loadBalancer.ingress",
            [{"ip": "a"}],
            "status",
            [
                (
                    'status.loadBalancer.ingress[0].ip: Invalid value: "a": must be a valid IP address, '
                    "(e.g. 10.9.8.7 or 2001:db8::ffff)"
                )
            ],
        ),
        (
            "status.loadBalancer.ingress",
            [{"hostname": "10.0.0.1"}],
            "status",
            [
                (
                    'status.loadBalancer.ingress[0].hostname: Invalid value: "10.0.0.1": must be a DNS '
                    "name, not an IP address"
                )
            ],
        ),
    ],
)
def test_statuses_of_ingresses(path: str, value: Any, subresource: str, expected: list[str]) -> None:
    old = stored(INGRESS, ingress())
    assert update_errors(INGRESS, old, changed(old, path, value), subresource) == expected


def test_the_class_of_an_ingress_may_be_named_by_an_annotation_of_old() -> None:
    old = ingress()
    old["metadata"]["annotations"] = {"kubernetes.io/ingress.class": "c"}
    now = context()
    assert strategy(INGRESS).validate(stored(INGRESS, old), now) == []
    assert now.warnings == [
        "annotation \"kubernetes.io/ingress.class\" is deprecated, please use 'spec.ingressClassName' instead"
    ]


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (ingress_class(), []),
        (ingress_class(controller=""), ["spec.controller: Required value"]),
        (
            ingress_class(controller="a"),
            ['spec.controller: Invalid value: "a": must be a domain-prefixed path (such as "acme.io/foo")'],
        ),
        (parameters(), ["spec.parameters.scope: Required value"]),
        (parameters(kind=""), ["spec.parameters.kind: Required value", "spec.parameters.scope: Required value"]),
        (
            parameters(scope="x"),
            ['spec.parameters.scope: Unsupported value: "x": supported values: "Cluster", "Namespace"'],
        ),
        (
            parameters(scope="Namespace"),
            ["spec.parameters.namespace: Required value: `parameters.scope` is set to 'Namespace'"],
        ),
        (
            parameters(scope="Cluster", namespace="n"),
            ["spec.parameters.namespace: Forbidden: `parameters.scope` is set to 'Cluster'"],
        ),
    ],
)
def test_ingress_classes(obj: Object, expected: list[str]) -> None:
    assert create_errors(INGRESS_CLASS, obj) == expected


@pytest.mark.parametrize(
    ("path", "value", "subresource", "expected"),
    [
        ("spec.controller", "e.com/d", "", ['spec.controller: Invalid value: "e.com/d": field is immutable']),
        ("metadata.labels", {"a": "b"}, "", []),
    ],
)
def test_the_controller_of_an_ingress_class_stays(path: str, value: Any, subresource: str, expected: list[str]) -> None:
    old = stored(INGRESS_CLASS, ingress_class())
    assert update_errors(INGRESS_CLASS, old, changed(old, path, value), subresource) == expected


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (policy(), []),
        (
            within(spec={"podSelector": {"matchLabels": {"a b": "c"}}}),
            [
                (
                    'spec.podSelector.matchLabels: Invalid value: "a b": name part must consist of '
                    "alphanumeric characters, '-', '_' or '.', and must start and end with an "
                    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
                    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
                )
            ],
        ),
        (
            within(spec={"policyTypes": ["Ingress", "Egress", "x"]}),
            ['spec.policyTypes: Invalid value: ["Ingress","Egress","x"]: may not specify more than two policyTypes'],
        ),
        (
            within(spec={"policyTypes": ["x"]}),
            ['spec.policyTypes[0]: Unsupported value: "x": supported values: "Ingress", "Egress"'],
        ),
        (
            policy(ports=[{"port": 0}]),
            ["spec.ingress[0].ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive"],
        ),
        (
            policy(ports=[{"port": "A"}]),
            [
                (
                    'spec.ingress[0].ports[0].port: Invalid value: "A": must contain only alpha-numeric '
                    "characters (a-z, 0-9), and hyphens (-)"
                ),
                'spec.ingress[0].ports[0].port: Invalid value: "A": must contain at least one letter (a-z)',
            ],
        ),
        (
            policy(ports=[{"port": "a", "endPort": 3}]),
            ["spec.ingress[0].ports[0].endPort: Invalid value: 3: may not be specified when `port` is non-numeric"],
        ),
        (
            policy(ports=[{"endPort": 3}]),
            [("spec.ingress[0].ports[0].endPort: Invalid value: 3: may not be specified when `port` is not specified")],
        ),
        (
            policy(ports=[{"port": 5, "endPort": 3}]),
            ["spec.ingress[0].ports[0].endPort: Invalid value: 5: must be greater than or equal to `port`"],
        ),
        (
            policy(ports=[{"protocol": "x"}]),
            ['spec.ingress[0].ports[0].protocol: Unsupported value: "x": supported values: "TCP", "UDP", "SCTP"'],
        ),
        (policy(**{"from": [{}]}), ["spec.ingress[0].from[0]: Required value: must specify a peer"]),
        (
            policy(**{"from": [{"podSelector": {}, "ipBlock": {"cidr": "10.0.0.0/8"}}]}),
            ["spec.ingress[0].from[0]: Forbidden: may not specify both ipBlock and another peer"],
        ),
        (block("10.0.0.0/8", "10.1.0.0/16"), []),
        (block(""), ["spec.ingress[0].from[0].ipBlock.cidr: Required value"]),
        (
            block("10.0.0.0"),
            [
                (
                    'spec.ingress[0].from[0].ipBlock.cidr: Invalid value: "10.0.0.0": must be a valid '
                    "CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
                )
            ],
        ),
        (
            block("10.0.0.0/8", "11.0.0.0/16"),
            [
                (
                    'spec.ingress[0].from[0].ipBlock.except[0]: Invalid value: "11.0.0.0/16": must be a '
                    "strict subset of `cidr`"
                )
            ],
        ),
        (
            block("10.0.0.0/8", "10.0.0.0/8"),
            [
                (
                    'spec.ingress[0].from[0].ipBlock.except[0]: Invalid value: "10.0.0.0/8": must be a '
                    "strict subset of `cidr`"
                )
            ],
        ),
    ],
)
def test_network_policies(obj: Object, expected: list[str]) -> None:
    assert create_errors(POLICY, obj) == expected


@pytest.mark.parametrize(("spec", "types"), [({"ingress": []}, ["Ingress"]), ({"egress": [{}]}, ["Ingress", "Egress"])])
def test_a_network_policy_is_about_ingress_and_of_egress_if_it_says_so(spec: Object, types: list[str]) -> None:
    assert stored(POLICY, within(spec=spec))["spec"]["policyTypes"] == types


def test_ports_of_a_network_policy_are_tcp_by_default() -> None:
    (rule,) = stored(POLICY, policy(ports=[{"port": 80}]))["spec"]["ingress"]
    assert rule["ports"] == [{"port": 80, "protocol": "TCP"}]


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (address(), []),
        (address("10.0.0.01"), ['metadata.name: Invalid value: "10.0.0.01": must not have leading 0s']),
        (
            address("a"),
            ['metadata.name: Invalid value: "a": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'],
        ),
        (address("2001:db8::1"), []),
        (
            address("2001:DB8::1"),
            ['metadata.name: Invalid value: "2001:DB8::1": must be in canonical form ("2001:db8::1")'],
        ),
        (address(resource=""), ["spec.parentRef.resource: Required value"]),
        (
            address(name="a/b"),
            ['metadata.name: Invalid value: "a/b": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'],
        ),
        ({"metadata": {"name": "10.0.0.1"}, "spec": {}}, ["spec.parentRef: Required value"]),
    ],
)
def test_ip_addresses(obj: Object, expected: list[str]) -> None:
    assert create_errors(ADDRESS, obj) == expected


@pytest.mark.parametrize(
    ("path", "value", "subresource", "expected"),
    [
        (
            "spec.parentRef.name",
            "t",
            "",
            [
                (
                    "spec.parentRef: Invalid value: "
                    '{"Group":"","Resource":"services","Namespace":"","Name":"t"}: field is immutable'
                )
            ],
        )
    ],
)
def test_the_owner_of_an_address_stays(path: str, value: Any, subresource: str, expected: list[str]) -> None:
    old = stored(ADDRESS, address())
    assert update_errors(ADDRESS, old, changed(old, path, value), subresource) == expected


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (service_cidr("10.0.0.0/24"), []),
        (service_cidr("10.0.0.0/24", "2001:db8::/64"), []),
        (service_cidr(), ["spec.cidrs: Required value: at least one CIDR required"]),
        (
            service_cidr("10.0.0.0/24", "10.1.0.0/24"),
            [
                (
                    'spec.cidrs: Invalid value: ["10.0.0.0/24","10.1.0.0/24"]: may specify no more than '
                    "one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"
                )
            ],
        ),
        (
            service_cidr("a"),
            ['spec.cidrs[0]: Invalid value: "a": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)'],
        ),
        (
            service_cidr("10.0.0.1/24"),
            ['spec.cidrs[0]: Invalid value: "10.0.0.1/24": must not have bits set beyond the prefix length'],
        ),
        (
            service_cidr("10.0.0.0/24", "2001:db8::/64", "10.1.0.0/24"),
            [
                (
                    'spec.cidrs: Invalid value: {"CIDRs":["10.0.0.0/24","2001:db8::/64","10.1.0.0/24"]}: '
                    "may only hold up to 2 values"
                )
            ],
        ),
    ],
)
def test_ranges_of_service_addresses(obj: Object, expected: list[str]) -> None:
    assert create_errors(CIDR, obj) == expected


@pytest.mark.parametrize(
    ("path", "value", "subresource", "expected"),
    [
        ("spec.cidrs", ["10.0.0.0/24", "2001:db8::/64"], "", []),
        ("spec.cidrs", ["10.1.0.0/24"], "", ['spec.cidrs[0]: Invalid value: "10.1.0.0/24": field is immutable']),
    ],
)
def test_a_range_of_service_addresses_grows_by_a_family_only(
    path: str, value: Any, subresource: str, expected: list[str]
) -> None:
    old = stored(CIDR, service_cidr("10.0.0.0/24"))
    assert update_errors(CIDR, old, changed(old, path, value), subresource) == expected
