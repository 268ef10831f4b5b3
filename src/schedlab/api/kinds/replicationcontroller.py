"""Replication controllers.

Mirrors: pkg/registry/core/replicationcontroller/strategy.go, pkg/apis/core/v1/defaults.go (v1.36)
"""

from __future__ import annotations

from typing import Final

from schedlab.api.kinds.plain import (
    first_generation_without_status,
    metadata_only,
    metadata_update,
    update_of_spec,
    update_of_status,
)
from schedlab.api.kinds.pod.defaults import default_template
from schedlab.api.kinds.strategy import Context, Strategy
from schedlab.api.object import Object, StoredObject
from schedlab.apimachinery import names
from schedlab.apimachinery.field_selectors import FieldLabels


def _default(controller: Object, _context: Context) -> None:
    spec = controller["spec"]
    template = spec.get("template")
    spec.setdefault("replicas", 1)
    if template is None:
        return
    labels = (template.get("metadata") or {}).get("labels")
    if labels:
        spec.setdefault("selector", dict(labels))
        controller["metadata"].setdefault("labels", dict(labels))
    default_template(template)


def _field_values(controller: StoredObject) -> dict[str, str]:
    return {"status.replicas": str(controller.raw["status"].get("replicas", 0))}


REPLICATION_CONTROLLER: Final = Strategy(
    resource="replicationcontrollers",
    validate=metadata_only(names.name_is_dns_subdomain, namespaced=True),
    update=update_of_spec(metadata_update),
    default=_default,
    prepare=first_generation_without_status({"replicas": 0}),
    subresources={"status": update_of_status()},
    field_labels=FieldLabels(frozenset(("metadata.name", "metadata.namespace", "status.replicas"))),
    field_values=_field_values,
)
