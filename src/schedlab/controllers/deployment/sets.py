"""The ReplicaSets of a Deployment: which is the new one, their revisions and annotations, and how large they may be.

Pure functions; sets are stored objects, a Deployment is a stored object with its view.

Mirrors: pkg/controller/deployment/util/deployment_util.go (v1.36).
Differs: templates are compared in canonical form, not by the semantics of quantities.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from schedlab.api.object import StoredObject
from schedlab.api.views.workloads import Deployment, RollingUpdate
from schedlab.controllers.framework.status import scaled_value

HASH_LABEL: Final = "pod-template-hash"
REVISION: Final = "deployment.kubernetes.io/revision"
REVISION_HISTORY: Final = "deployment.kubernetes.io/revision-history"
DESIRED_REPLICAS: Final = "deployment.kubernetes.io/desired-replicas"
MAX_REPLICAS: Final = "deployment.kubernetes.io/max-replicas"
ROLLBACK_TO: Final = "deprecated.deployment.rollback.to"
#: Annotations that are not handed on between a Deployment and its sets.
OWN_ANNOTATIONS: Final = (
    "kubectl.kubernetes.io/last-applied-configuration",
    REVISION,
    REVISION_HISTORY,
    DESIRED_REPLICAS,
    MAX_REPLICAS,
    ROLLBACK_TO,
)
_HISTORY_LENGTH_MAX: Final = 2000
_INT32_MAX: Final = 2**31 - 1
_INT64_MAX: Final = 2**63 - 1

Annotations = dict[str, str]


# --- Which is which ------------------------------------------------------------------------------------------------


def by_creation(found: StoredObject) -> tuple[str, str]:
    """Order sets from old to new."""
    return found.view.metadata.creation_timestamp or "", found.name


def find_new(deployment: StoredObject, sets: Iterable[StoredObject]) -> StoredObject | None:
    """Return the oldest set with the Deployment's template."""
    wanted = _without_hash(deployment.raw["spec"]["template"])
    same = (each for each in sorted(sets, key=by_creation) if _without_hash(each.raw["spec"]["template"]) == wanted)
    return next(same, None)


def same_template(deployment: StoredObject, found: StoredObject) -> bool:
    """Whether a set makes the pods that the Deployment wants."""
    return _without_hash(deployment.raw["spec"]["template"]) == _without_hash(found.raw["spec"]["template"])


def _without_hash(template: Mapping[str, Any]) -> tuple[Mapping[str, Any], Mapping[str, Any], Any]:
    metadata = dict(template.get("metadata") or {})
    labels = dict(metadata.pop("labels", None) or {})
    labels.pop(HASH_LABEL, None)
    return metadata, labels, template.get("spec")


def active(sets: Iterable[StoredObject | None]) -> list[StoredObject]:
    """Return the sets that should have pods."""
    return [each for each in sets if each is not None and each.view.spec.replicas > 0]


def active_or_latest(new: StoredObject | None, old: Sequence[StoredObject]) -> StoredObject | None:
    """Return the only set that should have pods, or the newest if none should; None if several should."""
    newest_first = sorted(old, key=by_creation, reverse=True)
    found = active([*newest_first, new])
    if len(found) > 1:
        return None
    if found:
        return found[0]
    return new if new is not None else next(iter(newest_first), None)


# --- Revisions and annotations ---------------------------------------------------------------------------------------


def revision(found: StoredObject) -> int | None:
    """Return the revision of a set: 0 when it has none, None when it is no number."""
    text = found.view.metadata.annotations.get(REVISION)
    return 0 if text is None else _to_int(text, _INT64_MAX)


def max_revision(sets: Iterable[StoredObject]) -> int:
    """Return the highest revision."""
    return max((number for number in map(revision, sets) if number is not None), default=0)


def last_revision(sets: Iterable[StoredObject]) -> int:
    """Return the second highest revision."""
    numbers = sorted((number for number in map(revision, sets) if number is not None), reverse=True)
    return numbers[1] if len(numbers) > 1 else 0


def by_revision(found: StoredObject) -> tuple[int, str, str]:
    """Order sets from the first revision to the last."""
    return revision(found) or 0, *by_creation(found)


def handed_on(deployment: StoredObject, have: Mapping[str, str]) -> Annotations:
    """Return a set's annotations with those of its Deployment."""
    given = {key: value for key, value in deployment.view.metadata.annotations.items() if key not in OWN_ANNOTATIONS}
    return {**have, **given}


def with_revision(have: Mapping[str, str], number: int) -> Annotations:
    """Return annotations of a set that becomes the new one; a number it had before goes into its history."""
    annotations = dict(have)
    before = annotations.get(REVISION)
    known = 0 if not before else _to_int(before, _INT64_MAX)
    if known is None or known >= number:
        return annotations
    annotations[REVISION] = str(number)
    if before is not None:
        _remember(annotations, before)
    return annotations


def _remember(annotations: Annotations, number: str) -> None:
    history = annotations.get(REVISION_HISTORY, "")
    if not history:
        annotations[REVISION_HISTORY] = number
        return
    numbers = history.split(",")
    length = len(history) + len(number) + 1
    while length > _HISTORY_LENGTH_MAX and numbers:
        length -= len(numbers.pop(0)) + 1
    if length <= _HISTORY_LENGTH_MAX:
        annotations[REVISION_HISTORY] = ",".join([*numbers, number])


def with_sizes(have: Mapping[str, str], deployment: Deployment) -> Annotations:
    """Return annotations that tell a set how large its Deployment is, and may be."""
    desired = deployment.spec.replicas
    return {**have, DESIRED_REPLICAS: str(desired), MAX_REPLICAS: str(desired + max_surge(deployment))}


def desired_replicas(found: StoredObject) -> int | None:
    """Return how large the Deployment was when the set was last scaled."""
    return _to_int(found.view.metadata.annotations.get(DESIRED_REPLICAS, ""), _INT32_MAX)


def _to_int(text: str, highest: int) -> int | None:
    if not text.isascii() or not text.isdigit():
        return None
    number = int(text)
    return number if number <= highest else None


# --- Sizes -----------------------------------------------------------------------------------------------------------


def is_rolling(deployment: Deployment) -> bool:
    """Whether old pods give way to new ones step by step."""
    return deployment.spec.strategy.type == "RollingUpdate"


def max_surge(deployment: Deployment) -> int:
    """Return by how many pods a rolling update may exceed the wanted number."""
    return _fenceposts(deployment)[0] if is_rolling(deployment) else 0


def max_unavailable(deployment: Deployment) -> int:
    """Return how many of the wanted pods may be missing during a rolling update."""
    if not is_rolling(deployment) or not deployment.spec.replicas:
        return 0
    return min(_fenceposts(deployment)[1], deployment.spec.replicas)


def _fenceposts(deployment: Deployment) -> tuple[int, int]:
    rolling = deployment.spec.strategy.rolling_update or RollingUpdate()
    surge = scaled_value(rolling.max_surge, deployment.spec.replicas, round_up=True)
    unavailable = scaled_value(rolling.max_unavailable, deployment.spec.replicas, round_up=False)
    # Both can be rounded to zero; then nothing could move.
    return surge, unavailable or int(not surge)


def wanted(sets: Iterable[StoredObject | None]) -> int:
    """Return how many pods the sets should have together."""
    return sum(each.view.spec.replicas for each in sets if each is not None)


def count(sets: Iterable[StoredObject | None], attribute: str) -> int:
    """Return the sum of one number in the statuses of sets."""
    return sum(getattr(each.view.status, attribute) for each in sets if each is not None)


def new_size(deployment: Deployment, sets: Sequence[StoredObject | None], size: int) -> int:
    """Return to what size a new set that has `size` replicas now may grow."""
    if not is_rolling(deployment):
        return deployment.spec.replicas
    rolling = deployment.spec.strategy.rolling_update or RollingUpdate()
    surge = scaled_value(rolling.max_surge, deployment.spec.replicas, round_up=True)
    room = deployment.spec.replicas + surge - wanted(sets)
    if room <= 0:
        return size
    return size + min(room, deployment.spec.replicas - size)


def is_saturated(deployment: Deployment, found: StoredObject | None) -> bool:
    """Whether the new set has all the pods that are wanted, and they are available."""
    if found is None or desired_replicas(found) != deployment.spec.replicas:
        return False
    view = found.view
    return bool(view.spec.replicas == view.status.available_replicas == deployment.spec.replicas)


def proportional_sizes(deployment: Deployment, sets: Sequence[StoredObject]) -> list[tuple[StoredObject, int]]:
    """Spread a change of the Deployment's size over its active sets, the larger ones first, with their new sizes."""
    allowed = deployment.spec.replicas + max_surge(deployment) if deployment.spec.replicas > 0 else 0
    to_add = allowed - wanted(sets)
    ordered = _larger_first(sets, newer_first=to_add > 0) if to_add else list(sets)
    added = 0
    sizes = []
    for found in ordered:
        share = _proportion(deployment, found, to_add, added) if to_add else 0
        sizes.append(found.view.spec.replicas + share)
        added += share
    if to_add and sizes:
        sizes[0] = max(sizes[0] + to_add - added, 0)
    return list(zip(ordered, sizes, strict=True))


def _larger_first(sets: Sequence[StoredObject], *, newer_first: bool) -> list[StoredObject]:
    by_age = sorted(sets, key=by_creation, reverse=newer_first)
    return sorted(by_age, key=lambda found: -found.view.spec.replicas)


def _proportion(deployment: Deployment, found: StoredObject, to_add: int, added: int) -> int:
    if not found.view.spec.replicas or to_add == added:
        return 0
    share, room = _fraction(deployment, found), to_add - added
    return min(share, room) if to_add > 0 else max(share, room)


def _fraction(deployment: Deployment, found: StoredObject) -> int:
    """Return by how much a set grows if it keeps its part of the whole."""
    size: int = found.view.spec.replicas
    if not deployment.spec.replicas:
        return -size
    before = _to_int(found.view.metadata.annotations.get(MAX_REPLICAS, ""), _INT32_MAX) or deployment.status.replicas
    if not before:
        return 0
    grown = size * (deployment.spec.replicas + max_surge(deployment)) / before
    return int(grown + 0.5) - size
