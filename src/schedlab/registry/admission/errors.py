"""How admission says no.

Mirrors: staging/src/k8s.io/apiserver/pkg/admission/errors.go (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from schedlab.apimachinery.errors import Forbidden, new_forbidden
from schedlab.registry.admission.chain import Attributes


def forbidden(attributes: Attributes, cause: str) -> Forbidden:
    """Return the refusal of a request; an object whose name is yet to be generated goes by its prefix."""
    name = attributes.name
    if not name:
        metadata = (attributes.obj or {}).get("metadata", {})
        name = metadata.get("name") or metadata.get("generateName") or "Unknown"
    return new_forbidden(attributes.resource.group_resource, name, cause)
