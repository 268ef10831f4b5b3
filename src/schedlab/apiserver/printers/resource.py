"""The columns of the resource.k8s.io group's kinds.

Mirrors: pkg/printers/internalversion/printers.go (v1.36)
Differs: nothing.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from schedlab.apimachinery.table import AGE, NAME, Cell, Column, Object, Printer, age, name_of
from schedlab.apiserver.printers.common import NAME_AND_AGE, part, shows


def _claim_cells(claim: Object, now_ns: int) -> Sequence[Cell]:
    return name_of(claim), _claim_state(claim), age(claim, now_ns)


def _claim_state(claim: Object) -> str:
    status = part(claim, "status")
    states = ["deleted"] if claim["metadata"].get("deletionTimestamp") else []
    if status.get("allocation") is not None:
        states.append("allocated")
        if status.get("reservedFor"):
            states.append("reserved")
    elif not states:
        states.append("pending")
    return ",".join(states)


RESOURCE_CLAIMS: Final = Printer(
    (
        NAME,
        Column("State", description="A summary of the current state (allocated, pending, reserved, etc.)."),
        AGE,
    ),
    _claim_cells,
)


def _slice_cells(resource_slice: Object, now_ns: int) -> Sequence[Cell]:
    spec = part(resource_slice, "spec")
    return (
        name_of(resource_slice),
        spec.get("nodeName") or "",
        spec.get("driver", ""),
        part(spec, "pool").get("name", ""),
        age(resource_slice, now_ns),
    )


RESOURCE_SLICES: Final = Printer(
    (
        NAME,
        shows("Node", "resource.v1.ResourceSliceSpec", "nodeName"),
        shows("Driver", "resource.v1.ResourceSliceSpec", "driver"),
        shows("Pool", "resource.v1.ResourcePool", "name"),
        AGE,
    ),
    _slice_cells,
)

PRINTERS: Final[Mapping[str, Printer]] = {
    "deviceclasses": NAME_AND_AGE,
    "resourceclaims": RESOURCE_CLAIMS,
    "resourceclaimtemplates": NAME_AND_AGE,
    "resourceslices": RESOURCE_SLICES,
}
