"""The conditions of a namespace that is being deleted: what is left in it, and why.

Mirrors: pkg/controller/namespace/deletion/status_condition_utils.go (v1.36)
Differs: resources are always found and their groups always parsed, so the first two conditions stay False.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from schedlab.api.object import StoredObject
from schedlab.controllers.framework.status import Condition, find_condition

#: Type, and reason and message of the state in which nothing is in the way.
_FINE: Final = (
    ("NamespaceDeletionDiscoveryFailure", "ResourcesDiscovered", "All resources successfully discovered"),
    ("NamespaceDeletionGroupVersionParsingFailure", "ParsedGroupVersions", "All legacy kube types successfully parsed"),
    (
        "NamespaceDeletionContentFailure",
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
    ("NamespaceContentRemaining", "ContentRemoved", "All content successfully removed"),
    ("NamespaceFinalizersRemaining", "ContentHasNoFinalizers", "All content-preserving finalizers finished"),
)
_FAILURE: Final = "NamespaceDeletionContentFailure"
_CONTENT: Final = "NamespaceContentRemaining"
_FINALIZERS: Final = "NamespaceFinalizersRemaining"


def new_conditions(
    known: Sequence[Condition], remaining: Iterable[StoredObject], failures: Sequence[str], now: str
) -> Sequence[Condition]:
    """Return the conditions of a namespace with these contents; those of other types stay, and so do times of old."""
    troubles = _troubles(tuple(remaining), failures)
    made = [dict(each) for each in known]
    for kind, reason, message in _FINE:
        status = "True" if kind in troubles else "False"
        told = {"status": status, **(troubles.get(kind) or {"reason": reason, "message": message})}
        before = find_condition(made, kind)
        if before is None:
            made.append({"type": kind, "lastTransitionTime": now, **told})
        else:
            assert isinstance(before, dict)
            before.update(told if before["status"] == status else {"lastTransitionTime": now, **told})
    return made


def _troubles(remaining: Sequence[StoredObject], failures: Sequence[str]) -> Mapping[str, Mapping[str, Any]]:
    """Return reason and message of what is in the way, by condition."""
    found: dict[str, Mapping[str, Any]] = {}
    if failures:
        errors = failures[0] if len(failures) == 1 else f"[{', '.join(failures)}]"
        message = f"Failed to delete all resource types, {len(failures)} remaining: {errors}"
        found[_FAILURE] = {"reason": "ContentDeletionFailed", "message": message}
    if remaining:
        counts = Counter(f"{plural}.{group}" for plural, _, group in (_parts(each) for each in remaining))
        parts = sorted(f"{resource} has {count} resource instances" for resource, count in counts.items())
        found[_CONTENT] = {
            "reason": "SomeResourcesRemain",
            "message": f"Some resources are remaining: {', '.join(parts)}",
        }
    finalizers = Counter(name for each in remaining for name in each.view.metadata.finalizers)
    if finalizers:
        parts = sorted(f"{name} in {count} resource instances" for name, count in finalizers.items())
        found[_FINALIZERS] = {
            "reason": "SomeFinalizersRemain",
            "message": f"Some content in the namespace has finalizers remaining: {', '.join(parts)}",
        }
    return found


def _parts(stored: StoredObject) -> tuple[str, str, str]:
    return stored.resource.partition(".")
