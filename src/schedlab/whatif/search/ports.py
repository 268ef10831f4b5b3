"""A host port that the pod does without."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Final

from schedlab.api.object import Object
from schedlab.api.rules.ports import BIND_ALL_HOST_IP, HostPort
from schedlab.scheduler.plugins.node_ports import port_text
from schedlab.whatif.search.edits import Edit, Suggestion

if TYPE_CHECKING:
    from schedlab.whatif.search.case import Case

_PLUGIN: Final = "NodePorts"
_COST: Final = 40


def suggest(case: Case) -> Iterator[Suggestion]:
    """Yield the host ports without any one of which the pod fits."""
    if not len(case.only(_PLUGIN)) or case.pod.pod.spec.host_network:
        return
    for port in case.pod.host_ports:
        edit = drop_port(port)
        node = case.land([edit])
        if node:
            yield Suggestion((edit,), node)


def drop_port(port: HostPort) -> Edit:
    """Return the edit that gives up a host port: the one of that protocol and address, others of its number stay."""
    address, protocol, number = port
    details = {"hostPort": number, "protocol": protocol, "hostIP": address}
    return Edit(
        "host-port", f"do without host port {port_text(port)}", _COST, pod=partial(_drop, port), details=details
    )


def _drop(port: HostPort, pod: Object) -> None:
    address, protocol, number = port
    for container in (*pod["spec"].get("containers", ()), *pod["spec"].get("initContainers", ())):
        for each in container.get("ports") or ():
            is_there = each.get("hostPort") == number and (each.get("protocol") or "TCP") == protocol
            if is_there and (each.get("hostIP") or BIND_ALL_HOST_IP) == address:
                del each["hostPort"]
