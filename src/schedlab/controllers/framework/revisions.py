"""The history of templates that DaemonSets and StatefulSets keep in ControllerRevisions.

Mirrors: pkg/controller/history/controller_history.go, getPatch of pkg/controller/{daemon,statefulset} (v1.36).
Differs: data are compared as values, not as bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from schedlab.api.object import Object, StoredObject
from schedlab.apimachinery import gojson
from schedlab.client.protocol import Write
from schedlab.controllers.framework.kinds import CONTROLLER_REVISION, Kind
from schedlab.controllers.framework.template_hash import fnv1, safe_encode

REVISION_HASH: Final = "controller-revision-hash"
_DATA_HASH: Final = "controller.kubernetes.io/hash"
_PREFIX_LENGTH_MAX: Final = 223


def template_data(owner: StoredObject) -> Object:
    """Return what a revision keeps of its owner: a patch that puts this template in the place of another."""
    return {"spec": {"template": {**owner.raw["spec"]["template"], "$patch": "replace"}}}


def same_data(revision: StoredObject, data: Mapping[str, Any]) -> bool:
    """Whether a revision keeps these data."""
    return bool(revision.raw.get("data") == data)


def data_hash(data: Mapping[str, Any], collision_count: int | None) -> str:
    """Return the hash of data; the count tells equal hashes of different ones apart."""
    tail = b"" if collision_count is None else str(collision_count).encode()
    return safe_encode(str(fnv1(gojson.marshal_bytes(data) + tail)))


def revision_name(owner_name: str, code: str) -> str:
    """Return the name of the revision with this hash."""
    return f"{owner_name[:_PREFIX_LENGTH_MAX]}-{code}"


def by_number(revision: StoredObject) -> tuple[int, str, str]:
    """Order revisions from the first to the last."""
    return revision.view.revision, revision.view.metadata.creation_timestamp or "", revision.name


def highest(revisions: Iterable[StoredObject]) -> int:
    """Return the highest number among revisions."""
    return max((each.view.revision for each in revisions), default=0)


def new_revision(
    kind: Kind, owner: StoredObject, name: str, labels: Mapping[str, str], data: Object, number: int
) -> Write:
    """Return the creation of a revision."""
    metadata: Object = {
        "name": name,
        "namespace": owner.namespace,
        "labels": dict(labels),
        "ownerReferences": [kind.reference(owner)],
    }
    annotations = owner.view.metadata.annotations
    if annotations:
        metadata["annotations"] = dict(annotations)
    body: Object = {
        "apiVersion": CONTROLLER_REVISION.api_version,
        "kind": CONTROLLER_REVISION.kind,
        "metadata": metadata,
        "data": data,
        "revision": number,
    }
    return Write("create", CONTROLLER_REVISION.resource, owner.namespace, name, body)


def with_number(revision: StoredObject, number: int) -> Write:
    """Return the update that gives a revision another number."""
    body: Object = {**revision.raw, "revision": number}
    return Write("update", revision.resource, revision.namespace, revision.name, body)


def deletion(revision: StoredObject) -> Write:
    """Return the deletion of a revision."""
    return Write("delete", revision.resource, revision.namespace, revision.name)


def data_labels(labels: Mapping[str, str], code: str) -> dict[str, str]:
    """Return the labels of a revision that is named by the hash of its data."""
    return {**labels, _DATA_HASH: code}
