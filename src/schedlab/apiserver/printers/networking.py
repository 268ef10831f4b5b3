"""The columns of the networking.k8s.io and discovery.k8s.io groups' kinds.

Mirrors: pkg/printers/internalversion/printers.go (v1.36)
Differs: nothing.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from schedlab.apimachinery.gvk import GroupResource
from schedlab.apimachinery.selectors import label_selector_text
from schedlab.apimachinery.table import AGE, NAME, NONE, Cell, Column, Object, Printer, age, name_of
from schedlab.apiserver.printers.common import part, shows, with_more
from schedlab.apiserver.printers.core import load_balancer_addresses


def _ingress_cells(ingress: Object, now_ns: int) -> Sequence[Cell]:
    spec = part(ingress, "spec")
    class_name = spec.get("ingressClassName")
    return (
        name_of(ingress),
        NONE if class_name is None else class_name,
        _hosts(spec.get("rules") or ()),
        ",".join(load_balancer_addresses(ingress)),
        "80, 443" if spec.get("tls") else "80",
        age(ingress, now_ns),
    )


def _hosts(rules: Sequence[Mapping[str, Any]]) -> str:
    """Join the first three hosts; the number of others counts rules, with a host or not."""
    hosts: list[str] = []
    for rule in rules:
        if len(hosts) == 3:
            return f"{','.join(hosts)} + {len(rules) - 3} more..."
        if rule.get("host"):
            hosts.append(rule["host"])
    return ",".join(hosts) or "*"


INGRESSES: Final = Printer(
    (
        NAME,
        Column(
            "Class",
            description="The name of the IngressClass resource that should be used for additional configuration",
        ),
        Column("Hosts", description="Hosts that incoming requests are matched against before the ingress rule"),
        Column("Address", description="Address is a list containing ingress points for the load-balancer"),
        Column("Ports", description="Ports of TLS configurations that open"),
        AGE,
    ),
    _ingress_cells,
)


def _ingress_class_cells(ingress_class: Object, now_ns: int) -> Sequence[Cell]:
    spec = part(ingress_class, "spec")
    parameters, text = spec.get("parameters"), NONE
    if parameters is not None:
        group = parameters.get("apiGroup")
        kind = parameters.get("kind", "") + ("" if group is None else f".{group}")
        text = f"{kind}/{parameters.get('name', '')}"
    return name_of(ingress_class), spec.get("controller", ""), text, age(ingress_class, now_ns)


INGRESS_CLASSES: Final = Printer(
    (
        NAME,
        Column("Controller", description="Controller that is responsible for handling this class"),
        Column("Parameters", description="A reference to a resource with additional parameters"),
        AGE,
    ),
    _ingress_class_cells,
)


def _network_policy_cells(policy: Object, now_ns: int) -> Sequence[Cell]:
    return name_of(policy), label_selector_text(part(policy, "spec", "podSelector")), age(policy, now_ns)


NETWORK_POLICIES: Final = Printer(
    (NAME, shows("Pod-Selector", "networking.v1.NetworkPolicySpec", "podSelector"), AGE), _network_policy_cells
)


def _service_cidr_cells(service_cidr: Object, now_ns: int) -> Sequence[Cell]:
    return name_of(service_cidr), ",".join(part(service_cidr, "spec").get("cidrs") or ()), age(service_cidr, now_ns)


SERVICE_CIDRS: Final = Printer(
    (NAME, shows("CIDRs", "networking.v1.ServiceCIDRSpec", "cidrs"), AGE), _service_cidr_cells
)


def _ip_address_cells(address: Object, now_ns: int) -> Sequence[Cell]:  # noqa: ARG001 - the signature of all printers
    parent, text = part(address, "spec").get("parentRef"), NONE
    if parent is not None:
        resource = str(GroupResource(parent.get("group", ""), parent.get("resource", ""))).lower()
        namespace = f"/{parent['namespace']}" if parent.get("namespace") else ""
        text = f"{resource}{namespace}/{parent.get('name', '')}"
    return name_of(address), text


IP_ADDRESSES: Final = Printer((NAME, shows("ParentRef", "networking.v1.IPAddressSpec", "parentRef")), _ip_address_cells)


def _slice_cells(endpoint_slice: Object, now_ns: int) -> Sequence[Cell]:
    endpoints = endpoint_slice.get("endpoints") or ()
    return (
        name_of(endpoint_slice),
        endpoint_slice.get("addressType", ""),
        with_more(map(_port, endpoint_slice.get("ports") or ())),
        with_more(address for endpoint in endpoints for address in endpoint.get("addresses") or ()),
        age(endpoint_slice, now_ns),
    )


def _port(port: Mapping[str, Any]) -> str:
    if port.get("port") is not None:
        return str(port["port"])
    return "*" if port.get("name") is None else str(port["name"])


ENDPOINT_SLICES: Final = Printer(
    (
        NAME,
        shows("AddressType", "discovery.v1.EndpointSlice", "addressType"),
        shows("Ports", "discovery.v1.EndpointSlice", "ports"),
        shows("Endpoints", "discovery.v1.EndpointSlice", "endpoints"),
        AGE,
    ),
    _slice_cells,
)

PRINTERS: Final[Mapping[str, Printer]] = {
    "ingressclasses": INGRESS_CLASSES,
    "ingresses": INGRESSES,
    "ipaddresses": IP_ADDRESSES,
    "networkpolicies": NETWORK_POLICIES,
    "servicecidrs": SERVICE_CIDRS,
}
DISCOVERY_PRINTERS: Final[Mapping[str, Printer]] = {"endpointslices": ENDPOINT_SLICES}
