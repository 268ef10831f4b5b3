"""Pod templates.

Mirrors: pkg/registry/core/podtemplate/strategy.go, pkg/apis/core/validation/validation.go (ValidatePodTemplate…) (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from typing import Final

from schedlab.api.kinds.pod.defaults import default_template
from schedlab.api.kinds.strategy import Context, Strategy, UpdateStrategy, bump_generation
from schedlab.api.kinds.templates import prepare_template
from schedlab.api.object import Object
from schedlab.api.validation import meta
from schedlab.api.validation.workloads import is_new_generation, template_warnings, validate_pod_template
from schedlab.apimachinery import names
from schedlab.apimachinery.field import ErrorList, Path

_TEMPLATE: Final = Path("template")


def _default(template: Object, _context: Context) -> None:
    default_template(template["template"])


def _prepare(template: Object, context: Context) -> None:
    template["metadata"]["generation"] = 1
    prepare_template(template["template"], None, context)


def _validate(template: Object, context: Context) -> ErrorList:
    errors = meta.validate(template["metadata"], names.name_is_dns_subdomain, namespaced=True)
    errors += validate_pod_template(template["template"], _TEMPLATE, context)
    if not errors:
        context.warnings.extend(template_warnings(template["template"], _TEMPLATE, context))
    return errors


def _prepare_update(new: Object, old: Object, context: Context) -> None:
    prepare_template(new["template"], old["template"], context)
    bump_generation(new, old, "template")


def _validate_update(new: Object, old: Object, context: Context) -> ErrorList:
    errors = meta.validate_update(new["metadata"], old["metadata"])
    errors += validate_pod_template(new["template"], _TEMPLATE, context)
    if not errors and is_new_generation(new, old):
        context.warnings.extend(template_warnings(new["template"], _TEMPLATE, context))
    return errors


POD_TEMPLATE: Final = Strategy(
    resource="podtemplates",
    validate=_validate,
    update=UpdateStrategy(_validate_update, _prepare_update),
    default=_default,
    prepare=_prepare,
    returns_deleted=True,
)
