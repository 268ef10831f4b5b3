"""Pod templates.

Mirrors: pkg/registry/core/podtemplate/strategy.go (v1.36)
"""

from __future__ import annotations

from typing import Final

from schedlab.api.kinds.plain import first_generation, metadata_only, metadata_update
from schedlab.api.kinds.pod.defaults import default_template
from schedlab.api.kinds.strategy import Context, Strategy, UpdateStrategy, bump_generation
from schedlab.api.object import Object
from schedlab.apimachinery import names


def _default(template: Object, _context: Context) -> None:
    default_template(template["template"])


def _prepare_update(new: Object, old: Object, _context: Context) -> None:
    bump_generation(new, old, "template")


POD_TEMPLATE: Final = Strategy(
    resource="podtemplates",
    validate=metadata_only(names.name_is_dns_subdomain, namespaced=True),
    update=UpdateStrategy(metadata_update, _prepare_update),
    default=_default,
    prepare=first_generation,
    returns_deleted=True,
)
