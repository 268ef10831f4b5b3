"""What is wrong with services, and what is said about them."""

from typing import Any

import pytest

from schedlab.api.object import Object
from tests.support.kinds import changed, context, create_errors, defaulted, strategy, update_errors

FORBIDDEN = "Forbidden: may only be used when `type` is 'LoadBalancer'"


def service(**spec: Any) -> Object:
    return {"metadata": {"name": "s", "namespace": "n"}, "spec": {"ports": [{"port": 80}], **spec}}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, []),
        ({"ports": []}, ["ports: Required value"]),
        ({"ports": [], "clusterIP": "None", "clusterIPs": ["None"]}, []),
        (
            {"type": "X"},
            ['type: Unsupported value: "X": supported values: "ClusterIP", "ExternalName", "LoadBalancer", "NodePort"'],
        ),
        ({"type": "ExternalName"}, ["externalName: Required value"]),
        ({"type": "ExternalName", "externalName": "a.b."}, []),
        (
            {"type": "ExternalName", "externalName": "a", "clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"]},
            ["clusterIPs: Forbidden: may not be set for ExternalName services"],
        ),
        (
            {"type": "NodePort", "clusterIP": "None", "clusterIPs": ["None"]},
            ["clusterIPs[0]: Invalid value: \"None\": may not be set to 'None' for NodePort services"],
        ),
        (
            {"ports": [{"port": 80, "nodePort": 30000}]},
            ["ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'"],
        ),
        ({"ports": [{"port": 80}, {"port": 81}]}, ["ports[0].name: Required value", "ports[1].name: Required value"]),
        ({"ports": [{"port": 80, "name": "a"}, {"port": 81, "name": "a"}]}, ['ports[1].name: Duplicate value: "a"']),
        ({"ports": [{"port": 80, "appProtocol": "a b"}]}, None),
        ({"sessionAffinity": "X"}, ['sessionAffinity: Unsupported value: "X": supported values: "ClientIP", "None"']),
        (
            {"sessionAffinity": "ClientIP", "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 86401}}},
            [
                "sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 86401: must be greater than 0 and less than 86400"
            ],
        ),
        (
            {"clusterIP": "x", "clusterIPs": ["x"]},
            ['clusterIPs[0]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'],
        ),
        (
            {"clusterIP": "1.1.1.1", "clusterIPs": ["2.2.2.2"]},
            ['clusterIPs: Invalid value: ["2.2.2.2"]: first value must match `clusterIP`'],
        ),
        (
            {"clusterIPs": ["2.2.2.2"]},
            ['clusterIPs: Invalid value: ["2.2.2.2"]: must be empty when `clusterIP` is not specified'],
        ),
        (
            {"clusterIP": "1.1.1.1", "clusterIPs": ["1.1.1.1"], "ipFamilies": ["IPv6"]},
            ['clusterIPs[0]: Invalid value: "1.1.1.1": expected an IPv6 value as indicated by `ipFamilies[0]`'],
        ),
        ({"ipFamilies": ["IPv4", "IPv4"]}, ['ipFamilies[1]: Duplicate value: "IPv4"']),
        (
            {"externalIPs": ["127.0.0.1"]},
            ['externalIPs[0]: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)'],
        ),
        ({"externalIPs": ["0.0.0.0"]}, ['externalIPs[0]: Invalid value: "0.0.0.0": may not be unspecified (0.0.0.0)']),
        (
            {"externalIPs": ["224.0.0.1"]},
            [
                'externalIPs[0]: Invalid value: "224.0.0.1": may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)'
            ],
        ),
        ({"loadBalancerClass": "a/b"}, [f"loadBalancerClass: {FORBIDDEN}"]),
        ({"loadBalancerSourceRanges": ["1.0.0.0/8"]}, [f"LoadBalancerSourceRanges: {FORBIDDEN}"]),
        ({"type": "LoadBalancer", "loadBalancerSourceRanges": [" 1.0.0.0/8 "]}, []),
        (
            {"externalTrafficPolicy": "Local"},
            ['externalTrafficPolicy: Invalid value: "Local": may only be set for externally-accessible services'],
        ),
        ({"type": "LoadBalancer", "externalTrafficPolicy": "Local"}, ["healthCheckNodePort: Required value"]),
        (
            {"internalTrafficPolicy": "X"},
            ['internalTrafficPolicy: Unsupported value: "X": supported values: "Cluster", "Local"'],
        ),
        (
            {"trafficDistribution": "X"},
            [
                'trafficDistribution: Unsupported value: "X": supported values: "PreferClose", "PreferSameZone", "PreferSameNode"'
            ],
        ),
    ],
)
def test_new_services(spec: dict[str, Any], expected: list[str] | None) -> None:
    found = create_errors("services", service(**spec))
    if expected is None:
        assert len(found) == 1
    else:
        assert found == [f"spec.{text}" for text in expected]


def test_ports_are_told_apart_by_protocol() -> None:
    ports = [{"port": 80, "name": "a"}, {"port": 80, "name": "b", "protocol": "UDP"}]
    assert create_errors("services", service(ports=ports)) == []
    ports[1]["protocol"] = "TCP"
    shown = '{"Name":"","Protocol":"TCP","AppProtocol":null,"Port":80,"TargetPort":0,"NodePort":0}'
    assert create_errors("services", service(ports=ports)) == [f"spec.ports[1]: Duplicate value: {shown}"]


def existing(**spec: Any) -> Object:
    made = defaulted("services", service(clusterIP="10.96.0.9", clusterIPs=["10.96.0.9"], ipFamilies=["IPv4"], **spec))
    made["metadata"].update({"uid": "u", "resourceVersion": "1"})
    return made


def test_the_first_address_stays() -> None:
    old = existing()
    other = changed(changed(old, "spec.clusterIP", "10.96.0.8"), "spec.clusterIPs", ["10.96.0.8"])
    assert update_errors("services", old, other) == [
        'spec.clusterIPs[0]: Invalid value: ["10.96.0.8"]: may not change once set'
    ]
    external = changed(changed(old, "spec.type", "ExternalName"), "spec.externalName", "a")
    assert update_errors("services", old, external) == []  # what it had is dropped


def test_a_status_has_addresses_of_load_balancers_only() -> None:
    old = existing()
    ingress = "status.loadBalancer.ingress"
    assert update_errors("services", old, changed(old, ingress, [{"ip": "1.1.1.1"}]), "status") == [
        f"{ingress}: Forbidden: may only be used when `spec.type` is 'LoadBalancer'"
    ]
    balancer = existing(type="LoadBalancer")
    assert update_errors(
        "services", balancer, changed(balancer, ingress, [{"hostname": "1.1.1.1", "ipMode": "VIP"}]), "status"
    ) == [
        f"{ingress}[0].ipMode: Forbidden: may not be specified when `ip` is not set",
        f'{ingress}[0].hostname: Invalid value: "1.1.1.1": must be a DNS name, not an IP address',
    ]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (
            {"externalIPs": ["1.1.1.1"]},
            ["spec.externalIPs is deprecated and may no longer be implemented in some clusters"],
        ),
        (
            {"clusterIP": "None", "clusterIPs": ["None"], "sessionAffinity": "ClientIP"},
            ["spec.SessionAffinity is ignored for headless services"],
        ),
        ({"externalName": "a"}, ['spec.externalName is ignored when spec.type is not "ExternalName"']),
        (
            {"trafficDistribution": "PreferClose"},
            ['spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"'],
        ),
    ],
)
def test_warnings(spec: dict[str, Any], expected: list[str]) -> None:
    within = context()
    strategy("services").validate(defaulted("services", service(**spec)), within)
    assert within.warnings == expected
