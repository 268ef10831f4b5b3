"""Which columns a resource has in Tables.

Mirrors: staging/src/k8s.io/apiserver/pkg/registry/rest/table.go (v1.36). Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from schedlab.api.object import StoredObject
from schedlab.apiserver.encoding import TablePrinter
from schedlab.registry.resource import Resource

_NAME: Final = {
    "name": "Name",
    "type": "string",
    "format": "name",
    "description": (
        "Name must be unique within a namespace. Is required when creating resources, although some resources may "
        "allow a client to request the generation of an appropriate name automatically. Name is primarily intended "
        "for creation idempotence and configuration definition. Cannot be updated. More info: "
        "https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names"
    ),
    "priority": 0,
}
_CREATED_AT: Final = {
    "name": "Created At",
    "type": "date",
    "format": "",
    "description": (
        "CreationTimestamp is a timestamp representing the server time when this object was created. It is not "
        "guaranteed to be set in happens-before order across separate operations. Clients may not set this value. It "
        "is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. More "
        "info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
    ),
    "priority": 0,
}


class DefaultPrinter:
    """What resources without columns of their own show: the name and when it was made."""

    columns: Sequence[dict[str, Any]] = (_NAME, _CREATED_AT)

    def cells(self, obj: StoredObject) -> Sequence[Any]:
        """The cells of one object."""
        return obj.name, obj.view.metadata.creation_timestamp


_DEFAULT: Final = DefaultPrinter()


def printer_of(resource: Resource) -> TablePrinter:  # noqa: ARG001 - the printers of kinds are looked up by it
    """Return the columns of a resource."""
    return _DEFAULT
