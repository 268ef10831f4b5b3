"""The rules of pods as a whole.

Mirrors: pkg/registry/core/pod/strategy.go (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from typing import Final

from schedlab.api.kinds.plain import metadata_only, metadata_update
from schedlab.api.kinds.pod.defaults import default_pod
from schedlab.api.kinds.pod.preparation import prepare_create, prepare_status_update, prepare_update
from schedlab.api.kinds.strategy import RESETS_STATUS, Strategy, UpdateStrategy
from schedlab.api.object import Object, StoredObject
from schedlab.apimachinery import names
from schedlab.apimachinery.field_selectors import FieldLabels

_FINISHED: Final = ("Failed", "Succeeded")
_RESETS: Final = (("spec",), ("metadata", "deletionTimestamp"), ("metadata", "ownerReferences"))


def grace_period(pod: Object, wanted: int | None) -> int:
    """Return how long a deleted pod lives on; one without node, or that has ended, is gone at once."""
    if not pod["spec"].get("nodeName") or pod["status"].get("phase") in _FINISHED:
        return 0
    seconds = pod["spec"].get("terminationGracePeriodSeconds", 0) if wanted is None else wanted
    return 1 if seconds < 0 else int(seconds)


def _field_values(pod: StoredObject) -> dict[str, str]:
    view = pod.view
    return {
        "spec.nodeName": view.spec.node_name,
        "spec.restartPolicy": view.spec.restart_policy,
        "spec.schedulerName": view.spec.scheduler_name,
        "spec.serviceAccountName": view.spec.service_account_name,
        "spec.hostNetwork": "true" if view.spec.host_network else "false",
        "status.phase": view.status.phase,
        "status.podIP": view.status.pod_ip,
        "status.nominatedNodeName": view.status.nominated_node_name,
    }


POD: Final = Strategy(
    resource="pods",
    validate=metadata_only(names.name_is_dns_subdomain, namespaced=True),
    update=UpdateStrategy(metadata_update, prepare_update, RESETS_STATUS),
    default=default_pod,
    prepare=prepare_create,
    subresources={"status": UpdateStrategy(metadata_update, prepare_status_update, _RESETS)},
    grace_period=grace_period,
    returns_deleted=True,
    field_labels=FieldLabels(
        frozenset(
            (
                "metadata.name",
                "metadata.namespace",
                "spec.nodeName",
                "spec.restartPolicy",
                "spec.schedulerName",
                "spec.serviceAccountName",
                "spec.hostNetwork",
                "status.phase",
                "status.podIP",
                "status.podIPs",
                "status.nominatedNodeName",
            )
        )
    ),
    field_values=_field_values,
)
