"""What `kubectl get` shows of each built-in resource: one module for each API group with columns of its own.

Mirrors: pkg/printers/internalversion (v1.36)
Differs: nothing that a client sees.
"""

import functools
from collections.abc import Iterator, Mapping
from typing import Any, Final

from schedlab.apimachinery.schema import read_data
from schedlab.apimachinery.table import DEFAULT, Printer
from schedlab.apiserver.printers import (
    admission,
    apps,
    autoscaling,
    batch,
    cluster,
    coordination,
    core,
    networking,
    policy,
    rbac,
    resource,
    scheduling,
    storage,
)

_GROUPS: Final[Mapping[str, Mapping[str, Printer]]] = {
    "": core.PRINTERS,
    "admissionregistration.k8s.io": admission.PRINTERS,
    "apps": apps.PRINTERS,
    "autoscaling": autoscaling.PRINTERS,
    "batch": batch.PRINTERS,
    "certificates.k8s.io": cluster.CERTIFICATES_PRINTERS,
    "coordination.k8s.io": coordination.PRINTERS,
    "discovery.k8s.io": networking.DISCOVERY_PRINTERS,
    "events.k8s.io": {"events": core.NEW_EVENTS},
    "flowcontrol.apiserver.k8s.io": cluster.FLOW_CONTROL_PRINTERS,
    "networking.k8s.io": networking.PRINTERS,
    "node.k8s.io": cluster.NODE_PRINTERS,
    "policy": policy.PRINTERS,
    "rbac.authorization.k8s.io": rbac.PRINTERS,
    "resource.k8s.io": resource.PRINTERS,
    "scheduling.k8s.io": scheduling.PRINTERS,
    "storage.k8s.io": storage.PRINTERS,
    "storagemigration.k8s.io": cluster.MIGRATION_PRINTERS,
}


def find(group: str, plural: str, subresource: str = "") -> Printer:
    """Return the printer of a built-in resource; those without columns of their own share the default one."""
    if subresource == "scale":
        return autoscaling.SCALE
    return _GROUPS.get(group, {}).get(plural, DEFAULT)


def all_printers() -> Iterator[Printer]:
    """Go through all printers; kinds that show the same share one."""
    yield from (DEFAULT, autoscaling.SCALE)
    for printers in _GROUPS.values():
        yield from printers.values()


def columns(printer: Printer) -> list[dict[str, Any]]:
    """Return the column definitions of a printer as the wire has them."""
    return _columns()[printer]


@functools.cache
def _columns() -> Mapping[Printer, list[dict[str, Any]]]:
    """Describe all columns at once, so that the big table of descriptions is read once and not kept."""
    types: Mapping[str, tuple[str, Mapping[str, str]]] = read_data("descriptions.json.gz")["types"]
    return {
        printer: [column.wire(lambda kind, field: types[kind][1][field]) for column in printer.columns]
        for printer in all_printers()
    }
