"""Typed views of the metadata that every object carries.

A view holds what selectors, the scheduler, controllers and the kubelet need, decoded straight from an object's JSON.
Views are frozen and acyclic, so the garbage collector need not track them. Fields outside a view are read from the
object's `raw` dict.
"""

from __future__ import annotations

from typing import dataclass_transform

import msgspec


# Type checkers read from this that subclasses are frozen too, as they are at run time.
@dataclass_transform(frozen_default=True, field_specifiers=(msgspec.field,))
class View(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, gc=False):
    """Base of every typed view: wire names are camelCase, attributes snake_case, unknown fields are ignored."""


class OwnerReference(View):
    """metadata.ownerReferences[i]."""

    kind: str = ""
    name: str = ""
    uid: str = ""
    api_version: str = ""
    controller: bool = False
    block_owner_deletion: bool = False


class ObjectMeta(View):
    """metadata, as far as the core reads it."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: int | None = None
    finalizers: tuple[str, ...] = ()
    owner_references: tuple[OwnerReference, ...] = ()
    generate_name: str = ""

    def controller(self) -> OwnerReference | None:
        """Return the owner that is the managing controller, if any."""
        for owner in self.owner_references:  # asked for at every change of an object: no generator
            if owner.controller:
                return owner
        return None


class LabelSelectorRequirement(View):
    """One entry of a label selector's matchExpressions."""

    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class LabelSelector(View):
    """metav1.LabelSelector: None (absent) selects nothing, an empty one everything."""

    match_labels: dict[str, str] = {}
    match_expressions: tuple[LabelSelectorRequirement, ...] = ()


class Metadata(View):
    """Any object, when only its metadata matters."""

    metadata: ObjectMeta = ObjectMeta()
