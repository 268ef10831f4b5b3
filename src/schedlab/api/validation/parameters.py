"""Checks that classes of storage share: who provides it, and what they are told.

Mirrors: pkg/apis/storage/validation/validation.go (validateProvisioner, validateParameters) (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from schedlab.api.validation.common import messages
from schedlab.apimachinery import field, names
from schedlab.apimachinery.field import ErrorList, Path

_COUNT_MAX: Final = 512
_SIZE_MAX: Final = 256 * 1024


def validate_provisioner(provisioner: str, path: Path) -> ErrorList:
    if not provisioner:
        return [field.required(path)]
    return messages(path, provisioner.lower(), names.check_qualified_name(provisioner.lower()))


def validate_parameters(parameters: Mapping[str, str], path: Path) -> ErrorList:
    if len(parameters) > _COUNT_MAX:
        return [field.too_long(path, _COUNT_MAX)]
    errors = [field.invalid(path, key, "field can not be empty.") for key in parameters if not key]
    if sum(names.byte_length(text) for pair in parameters.items() for text in pair) > _SIZE_MAX:
        errors.append(field.too_long(path, _SIZE_MAX))
    return errors
