"""Replica sets.

Mirrors: pkg/registry/apps/replicaset/strategy.go, pkg/apis/apps/{v1/defaults,validation/validation}.go (v1.36)
"""

from __future__ import annotations

from typing import Final

from schedlab.api.kinds.plain import first_generation_without_status, metadata_only, update_of_spec, update_of_status
from schedlab.api.kinds.pod.defaults import default_template
from schedlab.api.kinds.strategy import Context, Strategy
from schedlab.api.object import Object, StoredObject
from schedlab.api.validation import meta
from schedlab.apimachinery import names
from schedlab.apimachinery.field import ErrorList, Path
from schedlab.apimachinery.field_selectors import FieldLabels


def _default(replicas: Object, _context: Context) -> None:
    spec = replicas["spec"]
    spec.setdefault("replicas", 1)
    default_template(spec["template"])


def _validate_update(new: Object, old: Object, _context: Context) -> ErrorList:
    errors = meta.validate_update(new["metadata"], old["metadata"])
    return errors + meta.validate_immutable(
        new["spec"].get("selector"), old["spec"].get("selector"), Path("spec", "selector")
    )


def _field_values(replicas: StoredObject) -> dict[str, str]:
    return {"status.replicas": str(replicas.raw["status"].get("replicas", 0))}


REPLICA_SET: Final = Strategy(
    resource="replicasets.apps",
    validate=metadata_only(names.name_is_dns_subdomain, namespaced=True),
    update=update_of_spec(_validate_update),
    default=_default,
    prepare=first_generation_without_status({"replicas": 0}),
    subresources={"status": update_of_status()},
    field_labels=FieldLabels(frozenset(("metadata.name", "metadata.namespace", "status.replicas"))),
    field_values=_field_values,
)
