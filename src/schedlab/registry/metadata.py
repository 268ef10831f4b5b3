"""What every write does to metadata, whatever the kind.

Mirrors: staging/src/k8s.io/apiserver/pkg/registry/rest/meta.go, endpoints/handlers/{rest,create}.go (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from schedlab.api.object import Object
from schedlab.apimachinery.errors import new_bad_request

#: Longest part of a generateName that is kept; five random characters follow it.
_GENERATE_NAME_MAX: Final = 58

_SYSTEM_FIELDS: Final = ("creationTimestamp", "uid", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink")


def wipe_system_fields(metadata: Object) -> None:
    """Forget what a client may not set on creation."""
    for key in _SYSTEM_FIELDS:
        metadata.pop(key, None)


def match_namespace(metadata: Object, requested: str) -> None:
    """Make the namespace of an object that of the request; raises BadRequest when it names another one."""
    own = metadata.get("namespace", "")
    if own == requested:
        return
    if own and requested:
        message = "the namespace of the provided object does not match the namespace sent on the request"
        raise new_bad_request(message)
    if requested:
        metadata["namespace"] = requested
    else:
        metadata.pop("namespace", None)


def match_name(metadata: Object, requested: str, namespace: str) -> None:
    """Refuse an object that is not the one the URL names; raises BadRequest."""
    name, own_namespace = metadata.get("name", ""), metadata.get("namespace", "")
    if not name:
        problem = "was undeterminable: name must be provided"
        raise new_bad_request(f"the name of the object ({requested} based on URL) {problem}")
    if name != requested:
        raise new_bad_request(f"the name of the object ({name}) does not match the name on the URL ({requested})")
    if namespace and own_namespace and own_namespace != namespace:
        problem = f"does not match the namespace on the request ({namespace})"
        raise new_bad_request(f"the namespace of the object ({own_namespace}) {problem}")


def generated_name(prefix: str, suffix: str) -> str:
    return prefix[:_GENERATE_NAME_MAX] + suffix


def drop_repeated_owners(metadata: Object, warnings: list[str], *, after_admission: bool = False) -> None:
    """Keep each owner reference once."""
    owners = metadata.get("ownerReferences")
    if not owners or len(owners) < 2:
        return
    kept = _distinct(owners)
    if len(kept) == len(owners):
        return
    repeated = [owner.get("uid", "") for i, owner in enumerate(owners) if owner in owners[:i]]
    metadata["ownerReferences"] = kept
    phase = " after mutating admission happens" if after_admission else ""
    warnings.append(
        ".metadata.ownerReferences contains duplicate entries"
        f"{phase}; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; "
        f"please fix your requests; duplicate UID(s) observed: {', '.join(repeated)}"
    )


def _distinct(owners: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    kept: list[dict[str, Any]] = []
    for owner in owners:
        if owner not in kept:
            kept.append(owner)
    return kept
