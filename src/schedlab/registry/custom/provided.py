"""Custom resources that a server brings along: their definitions, and how they come to be served."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Literal

from schedlab.api.kinds.customresourcedefinition import DEFINITIONS
from schedlab.api.object import Object
from schedlab.apimachinery.errors import NotFound
from schedlab.registry.request import WriteOptions

if TYPE_CHECKING:
    from schedlab.registry.registry import Registry

_OPTIONS: Final = WriteOptions(field_manager="schedlab")
_AGE: Final = {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}


def definition_of(
    kind: str,
    plural: str,
    group: str,
    version: str,
    schema: Object,
    columns: Sequence[Object],
    *,
    scope: Literal["Cluster", "Namespaced"] = "Cluster",
) -> Object:
    """Return the definition of a resource with one version and a status; `columns` come before the age."""
    served = {
        "name": version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
        "additionalPrinterColumns": [*columns, _AGE],
    }
    names = {"kind": kind, "listKind": f"{kind}List", "plural": plural, "singular": kind.lower()}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {"group": group, "names": names, "scope": scope, "versions": [served]},
    }


def provide(registry: Registry, definition: Object) -> None:
    """Serve the resource, unless a definition of it is there already."""
    try:
        registry.get(DEFINITIONS, definition["metadata"]["name"])
    except NotFound:
        registry.create(DEFINITIONS, registry.decode(DEFINITIONS, definition), "", _OPTIONS)
