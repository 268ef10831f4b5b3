"""Rules that many kinds have as they are: metadata alone is checked, the spec counts generations, the status is apart.

Mirrors: the strategies in pkg/registry that do nothing else (v1.36)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from schedlab.api.kinds.strategy import (
    RESETS_SPEC,
    RESETS_STATUS,
    Context,
    PrepareCreate,
    PrepareUpdate,
    UpdateStrategy,
    ValidateCreate,
    ValidateUpdate,
    bump_generation,
    keep_spec,
    keep_status,
)
from schedlab.api.object import Object
from schedlab.api.validation import meta
from schedlab.api.validation.meta import NameCheck
from schedlab.apimachinery.field import ErrorList


def metadata_only(check_name: NameCheck, *, namespaced: bool) -> ValidateCreate:
    """Return a check of metadata."""

    def validate(obj: Object, _context: Context) -> ErrorList:
        return meta.validate(obj["metadata"], check_name, namespaced=namespaced)

    return validate


def metadata_update(new: Object, old: Object, _context: Context) -> ErrorList:
    """Check what an update does to metadata."""
    return meta.validate_update(new["metadata"], old["metadata"])


def first_generation(obj: Object, _context: Context) -> None:
    """Begin to count generations; the status is not the creator's."""
    obj["metadata"]["generation"] = 1


def first_generation_without_status(status: Mapping[str, object]) -> PrepareCreate:
    """Return a preparation that begins to count generations and empties the status."""

    def prepare(obj: Object, _context: Context) -> None:
        obj["metadata"]["generation"] = 1
        obj["status"] = dict(status)

    return prepare


def without_status(obj: Object, _context: Context) -> None:
    """Empty the status: it is not the creator's."""
    obj["status"] = {}


def count_spec_changes(new: Object, old: Object, _context: Context) -> None:
    """Keep the status and count a change of the spec."""
    keep_status(new, old)
    bump_generation(new, old, "spec")


def status_kept(new: Object, old: Object, _context: Context) -> None:
    keep_status(new, old)


def spec_kept(new: Object, old: Object, _context: Context) -> None:
    keep_spec(new, old)


def update_of_spec(validate: ValidateUpdate, prepare: PrepareUpdate = count_spec_changes) -> UpdateStrategy:
    """Return the rules of an update that cannot touch the status."""
    return UpdateStrategy(validate, prepare, RESETS_STATUS)


def update_of_status(validate: ValidateUpdate = metadata_update) -> UpdateStrategy:
    """Return the rules of an update that cannot touch the spec."""
    return UpdateStrategy(validate, spec_kept, RESETS_SPEC)


PLAIN_UPDATE: Final = UpdateStrategy(metadata_update)
