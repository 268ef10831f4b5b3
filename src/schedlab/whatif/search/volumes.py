"""A volume that could be reached from elsewhere, or one for a claim that has none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

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
    """Yield volumes for claims that have none; else each single volume without whose place the pod fits."""
    blocked = [plugin for plugin in _PLUGINS if plugin in case.plugins]
    if case.record.filter is not None and not any(case.blocked[case.plugins.index(name)].any() for name in blocked):
        return
    unbound = [_volume_for(case, key) for key in case.pod.claim_keys if not _is_bound(case, key)]
    if unbound:
        node = case.land(unbound)
        if node:
            yield Suggestion(tuple(unbound), node)
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
            yield Suggestion((edit,), node)


def _is_bound(case: Case, key: str) -> bool:
    namespace, _, name = key.partition("/")
    claim = case.trial.listers.lister(_CLAIMS).get(name, namespace)
    return claim is not None and bool(claim.spec.volume_name)


def _volume_for(case: Case, key: str) -> Edit:
    """Return the edit that makes a volume for a claim, and the claim if there is none."""
    namespace, _, name = key.partition("/")
    stored = case.trial.listers.lister(_CLAIMS).stored(name, namespace)
    volume_name = f"for-{namespace}-{name}"
    claim = _new_claim(namespace, name) if stored is None else stored.thaw()
    spec = claim["spec"]
    size = (spec.get("resources") or {}).get("requests") or {"storage": "1Gi"}
    reference = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": namespace, "name": name}
    volume: Object = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": volume_name},
        "spec": {
            "capacity": size,
            "accessModes": spec.get("accessModes") or ["ReadWriteOnce"],
            "claimRef": reference,
            "storageClassName": spec.get("storageClassName") or "",
            "volumeMode": spec.get("volumeMode") or "Filesystem",
            "hostPath": {"path": f"/var/volumes/{volume_name}"},
        },
    }
    manifests: list[Any] = [volume]
    if stored is None:
        fresh = _new_claim(namespace, name)
        del fresh["metadata"]["uid"]
        manifests.append(fresh)
    # As the volume controller will have it once it has bound the two.
    claim["spec"] = {**spec, "volumeName": volume_name}
    claim["metadata"].setdefault("annotations", {})["pv.kubernetes.io/bind-completed"] = "yes"
    claim["status"] = {"phase": "Bound", "accessModes": volume["spec"]["accessModes"], "capacity": size}
    bound = {**volume, "metadata": {"name": volume_name, "uid": volume_name}, "status": {"phase": "Bound"}}
    bound["spec"] = {**volume["spec"], "claimRef": {**reference, "uid": claim["metadata"].get("uid", name)}}
    revision = case.stored.revision
    new = "" if stored is not None else " and the claim itself"
    return Edit(
        "volume",
        f"make a volume of {size['storage']} for claim {name}{new}",
        _COST,
        stored=(
            StoredObject.encode(_CLAIMS, claim, revision),
            StoredObject.encode(_VOLUMES, bound, revision),
        ),
        changes=tuple({"apply": each} for each in manifests),
        details={"claim": key, "manifests": manifests},
    )


def _new_claim(namespace: str, name: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": namespace, "uid": name},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "",
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }


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
