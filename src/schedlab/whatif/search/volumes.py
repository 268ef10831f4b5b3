"""A volume that could be reached from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from schedlab.api.object import Object, StoredObject
from schedlab.whatif.search.edits import Edit, Suggestion
from schedlab.whatif.trial import changed

if TYPE_CHECKING:
    from schedlab.whatif.search.case import Case

_CLAIMS: Final = "persistentvolumeclaims"
_VOLUMES: Final = "persistentvolumes"
_PLUGINS: Final = ("VolumeBinding", "VolumeZone")
_COST: Final = 80
_ZONE_LABELS: Final = (
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
)


def suggest(case: Case) -> Iterator[Suggestion]:
    """Yield each single volume without whose place the pod fits, and where that would be."""
    blocked = [plugin for plugin in _PLUGINS if plugin in case.plugins]
    if case.record.filter is not None and not any(case.blocked[case.plugins.index(name)].any() for name in blocked):
        return
    for volume in _bound_volumes(case):
        if not _has_place(volume.raw):
            continue
        moved = changed(volume, _let_everywhere)
        edit = Edit(
            "volume",
            f"make volume {volume.name} reachable from another place (now: {_place(volume.raw)})",
            _COST,
            stored=(moved,),
            details={"volume": volume.name},
        )
        node = case.land([edit])
        if node:
            yield Suggestion((edit,), node, ())


def _bound_volumes(case: Case) -> Iterator[StoredObject]:
    claims, volumes = case.trial.listers.lister(_CLAIMS), case.trial.listers.lister(_VOLUMES)
    for key in case.pod.claim_keys:
        namespace, _, name = key.partition("/")
        claim = claims.get(name, namespace)
        volume = None if claim is None else volumes.stored(claim.spec.volume_name)
        if volume is not None:
            yield volume


def _has_place(volume: Object) -> bool:
    labels = volume["metadata"].get("labels") or {}
    return bool(volume["spec"].get("nodeAffinity")) or any(label in labels for label in _ZONE_LABELS)


def _place(volume: Object) -> str:
    labels = volume["metadata"].get("labels") or {}
    texts = [f"{label}={labels[label]}" for label in _ZONE_LABELS if label in labels]
    required = (volume["spec"].get("nodeAffinity") or {}).get("required") or {}
    for term in required.get("nodeSelectorTerms") or ():
        for expression in term.get("matchExpressions") or ():
            values = "|".join(expression.get("values") or ())
            texts.append(f"{expression['key']} {expression['operator']} {values}".strip())
    return ", ".join(dict.fromkeys(texts))


def _let_everywhere(volume: Object) -> None:
    volume["spec"].pop("nodeAffinity", None)
    labels = volume["metadata"].get("labels") or {}
    for label in _ZONE_LABELS:
        labels.pop(label, None)
