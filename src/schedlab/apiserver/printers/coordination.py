"""The columns of leases and lease candidates.

Mirrors: pkg/printers/internalversion/printers.go (v1.36)
Differs: nothing.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from schedlab.apimachinery.table import AGE, NAME, Cell, Column, Object, Printer, age, name_of
from schedlab.apiserver.printers.common import part, shows


def _lease_cells(lease: Object, now_ns: int) -> Sequence[Cell]:
    return name_of(lease), part(lease, "spec").get("holderIdentity") or "", age(lease, now_ns)


LEASES: Final = Printer((NAME, shows("Holder", "coordination.v1.LeaseSpec", "holderIdentity"), AGE), _lease_cells)


def _candidate_cells(candidate: Object, now_ns: int) -> Sequence[Cell]:
    spec = part(candidate, "spec")
    versions = (spec.get("binaryVersion", ""), spec.get("emulationVersion", ""))
    return name_of(candidate), spec.get("leaseName", ""), *versions, age(candidate, now_ns)


LEASE_CANDIDATES: Final = Printer(
    (
        NAME,
        shows("LeaseName", "coordination.v1beta1.LeaseCandidateSpec", "leaseName"),
        Column("BinaryVersion"),
        Column("EmulationVersion"),
        AGE,
    ),
    _candidate_cells,
)

PRINTERS: Final[Mapping[str, Printer]] = {"leasecandidates": LEASE_CANDIDATES, "leases": LEASES}
