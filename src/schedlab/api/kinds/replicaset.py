"""Replica sets.

Mirrors: pkg/registry/apps/replicaset/strategy.go, pkg/apis/apps/{v1/defaults,validation/validation}.go (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from typing import Final

from schedlab.api.kinds import scales
from schedlab.api.kinds.deployment import drop_terminating
from schedlab.api.kinds.plain import update_of_spec
from schedlab.api.kinds.pod.defaults import default_template
from schedlab.api.kinds.strategy import (
    RESETS_SPEC,
    Context,
    Strategy,
    UpdateStrategy,
    bump_generation,
    keep_spec,
    keep_status,
)
from schedlab.api.kinds.templates import prepare_template
from schedlab.api.object import Object, StoredObject
from schedlab.api.validation import meta
from schedlab.api.validation.common import nonnegative
from schedlab.api.validation.workloads import (
    is_new_generation,
    pod_name_warnings,
    template_warnings,
    validate_available,
    validate_fixed_selector,
    validate_parts,
    validate_replicated_template,
    validate_selector,
)
from schedlab.apimachinery import names
from schedlab.apimachinery.field import ErrorList, Path
from schedlab.apimachinery.field_selectors import FieldLabels

_SPEC: Final = Path("spec")
_TEMPLATE: Final = _SPEC.child("template")
_STATUS: Final = Path("status")
_PARTS: Final = ("fullyLabeledReplicas", "readyReplicas", "availableReplicas")
_COUNTS: Final = ("replicas", *_PARTS, "observedGeneration", "terminatingReplicas")


def _default(replicas: Object, _context: Context) -> None:
    spec = replicas["spec"]
    spec.setdefault("replicas", 1)
    default_template(spec["template"])


def _prepare(replicas: Object, context: Context) -> None:
    replicas["status"] = {"replicas": 0}
    replicas["metadata"]["generation"] = 1
    prepare_template(replicas["spec"]["template"], None, context)


def _validate(replicas: Object, context: Context) -> ErrorList:
    metadata = replicas["metadata"]
    errors = meta.validate(metadata, names.name_is_dns_subdomain, namespaced=True)
    errors += _validate_spec(replicas["spec"], context)
    if not errors:
        context.warnings.extend(pod_name_warnings(metadata["name"]))
        context.warnings.extend(template_warnings(replicas["spec"]["template"], _TEMPLATE, context))
    return errors


def _validate_spec(spec: Object, context: Context) -> ErrorList:
    selector = spec.get("selector")
    errors = nonnegative(spec, _SPEC, "replicas", "minReadySeconds")
    errors += validate_selector(selector, _SPEC.child("selector"), "deployment")
    return errors + validate_replicated_template(spec["template"], selector, _SPEC, context)


def _prepare_update(new: Object, old: Object, context: Context) -> None:
    keep_status(new, old)
    prepare_template(new["spec"]["template"], old["spec"]["template"], context)
    bump_generation(new, old, "spec")


def _validate_update(new: Object, old: Object, context: Context) -> ErrorList:
    errors = meta.validate_update(new["metadata"], old["metadata"])
    errors += _validate_spec(new["spec"], context)
    selector, before = new["spec"].get("selector"), old["spec"].get("selector")
    errors += validate_fixed_selector(selector, before, _SPEC.child("selector"))
    if not errors and is_new_generation(new, old):
        context.warnings.extend(template_warnings(new["spec"]["template"], _TEMPLATE, context))
    return errors


def _prepare_status(new: Object, old: Object, context: Context) -> None:
    keep_spec(new, old)
    if not context.features.enabled("DeploymentReplicaSetTerminatingReplicas"):
        drop_terminating(new["status"], old["status"])


def _validate_status(new: Object, old: Object, _context: Context) -> ErrorList:
    errors = meta.validate_update(new["metadata"], old["metadata"])
    status = new["status"]
    errors += nonnegative(status, _STATUS, *_COUNTS)
    return errors + validate_parts(status, _STATUS, *_PARTS) + validate_available(status, _STATUS)


def _field_values(replicas: StoredObject) -> dict[str, str]:
    return {"status.replicas": str(replicas.raw["status"].get("replicas", 0))}


REPLICA_SET: Final = Strategy(
    resource="replicasets.apps",
    validate=_validate,
    update=update_of_spec(_validate_update, _prepare_update),
    default=_default,
    prepare=_prepare,
    subresources={"status": UpdateStrategy(_validate_status, _prepare_status, RESETS_SPEC)},
    field_labels=FieldLabels(frozenset(("metadata.name", "metadata.namespace", "status.replicas"))),
    field_values=_field_values,
    scale=scales.rules(scales.by_label_selector, "apps/v1", "apps/v1beta2"),
)
