"""Finds the printer of a resource.

Mirrors: pkg/printers/internalversion (v1.36)
Differs: nothing that a client sees.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from schedlab.apimachinery.table import DEFAULT, Printer
from schedlab.apiserver.printers import (
    admission,
    apps,
    autoscaling,
    batch,
    cluster,
    coordination,
    core,
    metrics,
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
    "apiregistration.k8s.io": cluster.REGISTRATION_PRINTERS,
    "apps": apps.PRINTERS,
    "autoscaling": autoscaling.PRINTERS,
    "batch": batch.PRINTERS,
    "certificates.k8s.io": cluster.CERTIFICATES_PRINTERS,
    "coordination.k8s.io": coordination.PRINTERS,
    "discovery.k8s.io": networking.DISCOVERY_PRINTERS,
    "events.k8s.io": {"events": core.NEW_EVENTS},
    "flowcontrol.apiserver.k8s.io": cluster.FLOW_CONTROL_PRINTERS,
    "metrics.k8s.io": metrics.PRINTERS,
    "networking.k8s.io": networking.PRINTERS,
    "node.k8s.io": cluster.NODE_PRINTERS,
    "policy": policy.PRINTERS,
    "rbac.authorization.k8s.io": rbac.PRINTERS,
    "resource.k8s.io": resource.PRINTERS,
    "scheduling.k8s.io": scheduling.PRINTERS,
    "storage.k8s.io": storage.PRINTERS,
    "storagemigration.k8s.io": cluster.MIGRATION_PRINTERS,
}


def find(resource: str, subresource: str = "") -> Printer:
    """Return the printer of a built-in resource, `pods` or `deployments.apps`.

    Those without columns of their own share the default one.
    """
    if subresource == "scale":
        return autoscaling.SCALE
    plural, _, group = resource.partition(".")
    return _GROUPS.get(group, {}).get(plural, DEFAULT)


def all_printers() -> Iterator[tuple[str, Printer]]:
    """Go through the resources with columns of their own."""
    for group, printers in _GROUPS.items():
        for plural, printer in printers.items():
            yield f"{plural}.{group}" if group else plural, printer
