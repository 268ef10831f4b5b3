"""What custom resource definitions add to the resources that a controller looks after.

Mirrors: the discovery clients of kube-controller-manager, which ask anew every thirty seconds (v1.36).
Differs: definitions are read instead.
"""

from __future__ import annotations

from collections.abc import Sequence

from schedlab.api.object import StoredObject
from schedlab.apimachinery.resources import ResourceType


def served_types(definition: StoredObject) -> Sequence[ResourceType]:
    """Return what a definition has the server serve, one type per version; nothing before it is established."""
    raw = definition.raw
    conditions = (raw.get("status") or {}).get("conditions") or ()
    if not any(each["type"] == "Established" and each["status"] == "True" for each in conditions):
        return ()
    spec, names = raw["spec"], raw["spec"]["names"]
    return [
        ResourceType(
            group=spec["group"],
            version=version["name"],
            resource=names["plural"],
            singular=names.get("singular", ""),
            kind=names["kind"],
            namespaced=spec["scope"] == "Namespaced",
            verbs=("create", "delete", "list", "watch"),
        )
        for version in spec["versions"]
        if version["served"]
    ]
