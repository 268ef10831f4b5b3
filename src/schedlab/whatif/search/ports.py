"""A host port that the pod does without."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Final

from schedlab.api.object import Object
from schedlab.whatif.search.edits import Edit, Suggestion

if TYPE_CHECKING:
    from schedlab.whatif.search.case import Case

_PLUGIN: Final = "NodePorts"
_COST: Final = 40


def suggest(case: Case) -> Iterator[Suggestion]:
    """Yield the host ports without any one of which the pod fits."""
    if not len(case.only(_PLUGIN)) or case.pod.pod.spec.host_network:
        return
    for port in dict.fromkeys(number for _, _, number in case.pod.host_ports):
        edit = drop_port(port)
        node = case.land([edit])
        if node:
            yield Suggestion((edit,), node)


def drop_port(port: int) -> Edit:
    """Return the edit that gives up a host port."""
    summary = f"do without host port {port}"
    return Edit("host-port", summary, _COST, pod=partial(_drop, port), details={"hostPort": port})


def _drop(port: int, pod: Object) -> None:
    for container in (*pod["spec"].get("containers", ()), *pod["spec"].get("initContainers", ())):
        for each in container.get("ports") or ():
            if each.get("hostPort") == port:
                del each["hostPort"]
