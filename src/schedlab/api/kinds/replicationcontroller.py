"""Replication controllers.

Mirrors: pkg/registry/core/replicationcontroller/strategy.go, pkg/apis/core/v1/defaults.go,
pkg/apis/core/validation/validation.go (ValidateReplicationController…) (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from schedlab.api.kinds import scales
from schedlab.api.kinds.plain import update_of_spec, update_of_status
from schedlab.api.kinds.pod.defaults import default_template
from schedlab.api.kinds.strategy import Context, Strategy, bump_generation, keep_status
from schedlab.api.kinds.templates import prepare_template
from schedlab.api.object import Object, StoredObject
from schedlab.api.validation import meta
from schedlab.api.validation.common import nonnegative
from schedlab.api.validation.workloads import (
    is_new_generation,
    pod_name_warnings,
    template_warnings,
    validate_available,
    validate_endless_pods,
    validate_parts,
    validate_pod_template,
    validate_selected,
)
from schedlab.apimachinery import field, names, selectors
from schedlab.apimachinery.field import ErrorList, Path
from schedlab.apimachinery.field_selectors import FieldLabels
from schedlab.apimachinery.selectors import Selector, from_map

_SPEC: Final = Path("spec")
_STATUS: Final = Path("status")
_PARTS: Final = ("fullyLabeledReplicas", "readyReplicas", "availableReplicas")
_COUNTS: Final = ("replicas", *_PARTS, "observedGeneration")


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


def _prepare(controller: Object, context: Context) -> None:
    controller["status"] = {"replicas": 0}
    controller["metadata"]["generation"] = 1
    _prepare_template(controller["spec"], {}, context)


def _prepare_template(spec: Object, old: Mapping[str, Any], context: Context) -> None:
    if spec.get("template") is not None:
        prepare_template(spec["template"], old.get("template"), context)


def _validate(controller: Object, context: Context) -> ErrorList:
    metadata = controller["metadata"]
    errors = meta.validate(metadata, names.name_is_dns_subdomain, namespaced=True)
    errors += _validate_spec(controller["spec"], context)
    if not errors:
        context.warnings.extend(pod_name_warnings(metadata["name"]))
        _warn(controller, context)
    return errors


def _validate_spec(spec: Object, context: Context) -> ErrorList:
    errors = nonnegative(spec, _SPEC, "minReadySeconds", "replicas")
    selector, template, path = spec.get("selector"), spec.get("template"), _SPEC.child("template")
    if not selector:
        errors.append(field.required(_SPEC.child("selector")))
    if spec.get("replicas") is None:
        errors.append(field.required(_SPEC.child("replicas")))
    if template is None:
        errors.append(field.required(path))
        return errors
    errors += validate_selected(template, from_map(selector), path)
    errors += validate_pod_template(template, path, context)
    return errors + validate_endless_pods(template, path, "ReplicationController")


def _prepare_update(new: Object, old: Object, context: Context) -> None:
    keep_status(new, old)
    _prepare_template(new["spec"], old["spec"], context)
    bump_generation(new, old, "spec")


def _validate_update(new: Object, old: Object, context: Context) -> ErrorList:
    errors = meta.validate_update(new["metadata"], old["metadata"]) + _validate_spec(new["spec"], context)
    if not errors and is_new_generation(new, old):
        _warn(old, context)  # it is the old template that upstream looks at
    return errors


def _warn(controller: Object, context: Context) -> None:
    if template := controller["spec"].get("template"):
        context.warnings.extend(template_warnings(template, _SPEC.child("template"), context))


def _validate_status(new: Object, old: Object, _context: Context) -> ErrorList:
    errors = meta.validate_update(new["metadata"], old["metadata"])
    status = new["status"]
    errors += nonnegative(status, _STATUS, *_COUNTS)
    return errors + validate_parts(status, _STATUS, *_PARTS) + validate_available(status, _STATUS)


def _field_values(controller: StoredObject) -> dict[str, str]:
    return {"status.replicas": str(controller.raw["status"].get("replicas", 0))}


def _selector(controller: Object) -> Selector:
    return selectors.from_map(controller["spec"].get("selector"))


REPLICATION_CONTROLLER: Final = Strategy(
    resource="replicationcontrollers",
    validate=_validate,
    update=update_of_spec(_validate_update, _prepare_update),
    default=_default,
    prepare=_prepare,
    subresources={"status": update_of_status(_validate_status)},
    field_labels=FieldLabels(frozenset(("metadata.name", "metadata.namespace", "status.replicas"))),
    field_values=_field_values,
    orphans_dependents=True,
    scale=scales.rules(_selector, "v1"),
)
