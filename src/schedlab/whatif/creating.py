"""Manifests created one after the other on a fork: what the API has against each, with those before it in place.

A dry run of each on its own knows nothing of the others, and refuses a pod whose namespace stands above it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import orjson

from schedlab.apimachinery.body import check_strict, check_version, decode_body
from schedlab.apimachinery.errors import StatusError, new_bad_request
from schedlab.registry import WriteOptions
from schedlab.whatif.forks import fork

if TYPE_CHECKING:
    from schedlab.cluster.cluster import Cluster
    from schedlab.registry import Registry

_OPTIONS: Final = WriteOptions(field_manager="schedlab", field_validation="Strict")


def refusals(cluster: Cluster, manifests: Sequence[Mapping[str, Any]], namespace: str) -> Iterator[Any]:
    """Yield the Status with which each is refused, or None; those without a namespace of their own go to `namespace`.

    Fields that are unknown or repeated are refused, too.
    """
    registry = fork(cluster, lean=True).registry
    for manifest in manifests:
        try:
            yield _create(registry, manifest, namespace)
        except StatusError as error:
            yield error.status


def _create(registry: Registry, manifest: Mapping[str, Any], namespace: str) -> Mapping[str, Any] | None:
    """Create an object; returns the Status that says so where nothing of its kind is served."""
    version, kind = manifest.get("apiVersion", ""), manifest.get("kind", "")
    found = next((one for one in registry.served if (one.type.gvk.api_version, one.type.kind) == (version, kind)), None)
    if found is None:
        return {"code": 404, "reason": "NotFound", "message": f'no matches for kind "{kind}" in version "{version}"'}
    try:
        text = orjson.dumps(manifest)
    except orjson.JSONEncodeError as error:
        raise new_bad_request(f"{kind} cannot be written as JSON: {error}") from None
    body = decode_body(text, found.type.gvk, found.schema)
    check_strict(body, _OPTIONS.field_validation, kind)
    check_version(body, found.type.gvk.group_version)
    place = (body.object["metadata"].get("namespace") or namespace) if found.type.namespaced else ""
    registry.create(found.name, body.object, place, _OPTIONS)
    return None
