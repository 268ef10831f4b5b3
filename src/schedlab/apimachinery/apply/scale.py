"""managedFields of the scale subresource: those of `spec.replicas`, in both directions.

A Scale is made from another object and shows only who manages the replicas, under the names that Scale has for it.
After a request to the subresource, the entries of the Scale are put back into the object.

Mirrors: staging/src/k8s.io/apimachinery/pkg/util/managedfields/scalehandler.go (v1.36)
Differs: nothing; an entry that the request made carries no time, as upstream.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from schedlab.apimachinery.apply import fieldset
from schedlab.apimachinery.apply import managed as managed_fields
from schedlab.apimachinery.apply.fieldset import Path
from schedlab.apimachinery.apply.managed import Managed, Owned

SCALE_VERSION: Final = "autoscaling/v1"
_REPLICAS: Final[Path] = ("f:spec", "f:replicas")

#: Path of the replicas per apiVersion of the object; None when a version has none.
ReplicasPaths = Mapping[str, Path | None]


def to_scale(entries: Sequence[Mapping[str, Any]], paths: ReplicasPaths) -> list[dict[str, Any]]:
    """Return the managedFields of the Scale of an object; raises ManagedFieldsError."""
    parent = managed_fields.read(entries)
    scale = Managed()
    for manager, owned in parent.owned.items():
        path = paths.get(owned.api_version)
        if path and fieldset.contains(owned.fields, path):
            scale.owned[manager] = Owned(_only(_REPLICAS), SCALE_VERSION, owned.applied)
            scale.times[manager] = parent.times[manager]
    return managed_fields.write(scale)


def to_parent(
    entries: Sequence[Mapping[str, Any]],
    scale_entries: Sequence[Mapping[str, Any]],
    api_version: str,
    paths: ReplicasPaths,
) -> list[dict[str, Any]]:
    """Return the managedFields of an object after its Scale was written; raises ManagedFieldsError."""
    parent = managed_fields.read(entries)
    scale = managed_fields.read(scale_entries)
    out = Managed()
    for manager, owned in parent.owned.items():
        if owned.api_version not in paths:
            continue
        path = paths[owned.api_version]
        fields = owned.fields
        if path and fieldset.contains(fields, path) and scale.owned.pop(manager, None) is None:
            fields = fieldset.difference(fields, _only(path))
        if fields:
            out.owned[manager] = owned._replace(fields=fields)
            out.times[manager] = parent.times[manager]
    own_path = paths.get(api_version)
    for manager, owned in scale.owned.items():
        if own_path and fieldset.contains(owned.fields, _REPLICAS):
            renamed = manager._replace(api_version=manager.api_version and api_version)
            out.owned[renamed] = Owned(_only(own_path), api_version, owned.applied)
            out.times[renamed] = parent.times.get(manager)
    return managed_fields.write(out)


def _only(path: Path) -> fieldset.FieldSet:
    return fieldset.of_paths([[element.removeprefix("f:") for element in path]])
