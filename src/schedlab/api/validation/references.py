"""Checks of references to objects by group, kind and name.

Mirrors: pkg/apis/networking/validation/validation.go (validateIngressTypedLocalObjectReference) (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from schedlab.api.validation.common import dns_subdomain, messages
from schedlab.apimachinery import field, names
from schedlab.apimachinery.field import ErrorList, Path


def validate_typed_reference(reference: Mapping[str, Any], path: Path) -> ErrorList:
    """Check a reference with an optional API group."""
    group = reference.get("apiGroup")
    errors = [] if group is None else dns_subdomain(group, path.child("apiGroup"))
    for key in ("kind", "name"):
        errors += validate_path_segment(reference.get(key, ""), path.child(key))
    return errors


def validate_path_segment(value: str, path: Path) -> ErrorList:
    """A name that must be there and can stand in a URL path."""
    return messages(path, value, names.check_path_segment_name(value)) if value else [field.required(path)]
