"""Device classes.

Mirrors: pkg/registry/resource/deviceclass/strategy.go (v1.36)
Differs: only metadata is checked.
"""

from __future__ import annotations

from typing import Final

from schedlab.api.kinds.plain import first_generation, metadata_only, metadata_update
from schedlab.api.kinds.strategy import Context, Strategy, UpdateStrategy, bump_generation
from schedlab.api.object import Object
from schedlab.apimachinery import names


def _prepare_update(new: Object, old: Object, _context: Context) -> None:
    bump_generation(new, old, "spec")


DEVICE_CLASS: Final = Strategy(
    resource="deviceclasses.resource.k8s.io",
    validate=metadata_only(names.name_is_dns_subdomain, namespaced=False),
    update=UpdateStrategy(metadata_update, _prepare_update),
    prepare=first_generation,
    returns_deleted=True,
)
