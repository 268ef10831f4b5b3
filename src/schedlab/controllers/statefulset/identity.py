"""Who a pod of a StatefulSet is: its ordinal, its name, its claims.

Mirrors: pkg/controller/statefulset/stateful_set_utils.go (v1.36).
Differs: nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from schedlab.api.object import Object, StoredObject
from schedlab.api.views.workloads import StatefulSet
from schedlab.controllers.framework import kinds
from schedlab.controllers.framework.pod_control import pod_from_template
from schedlab.controllers.framework.revisions import REVISION_HASH

POD_NAME: Final = "statefulset.kubernetes.io/pod-name"
POD_INDEX: Final = "apps.kubernetes.io/pod-index"
_POD: Final = re.compile(r"(.*)-([0-9]+)", re.ASCII)
_INT32_MAX: Final = 2**31 - 1


def parent_and_ordinal(pod_name: str) -> tuple[str, int]:
    """Return the set's name and the number in a pod's name; ("", -1) when it is no such name."""
    found = _POD.fullmatch(pod_name)
    if found is None:
        return "", -1
    number = int(found[2])
    return found[1], number if number <= _INT32_MAX else -1


def ordinal_of(pod_name: str) -> int:
    """Return the number in a pod's name, or -1."""
    return parent_and_ordinal(pod_name)[1]


def first_ordinal(view: StatefulSet) -> int:
    """Return the number of the first pod."""
    return view.spec.ordinals.start if view.spec.ordinals is not None else 0


def is_in_range(view: StatefulSet, pod_name: str) -> bool:
    """Whether a pod is one of those that are wanted."""
    first = first_ordinal(view)
    return first <= ordinal_of(pod_name) < first + view.spec.replicas


def claim_templates(found: StoredObject) -> Sequence[Mapping[str, Any]]:
    """Return the templates of a set's claims."""
    templates: Sequence[Mapping[str, Any]] = found.raw["spec"].get("volumeClaimTemplates") or ()
    return templates


def claim_name(template: Mapping[str, Any], set_name: str, ordinal: int) -> str:
    """Return the name of the claim of one pod."""
    return f"{template['metadata']['name']}-{set_name}-{ordinal}"


def claims_of(found: StoredObject, pod_name: str) -> dict[str, Object]:
    """Return the claims that a pod needs, by the names of their volumes."""
    ordinal = ordinal_of(pod_name)
    selected = found.view.spec.selector.match_labels
    claims: dict[str, Object] = {}
    for template in claim_templates(found):
        metadata = template["metadata"]
        name = claim_name(template, found.name, ordinal)
        labels = {**(metadata.get("labels") or {}), **selected}
        claims[metadata["name"]] = {
            "apiVersion": kinds.PERSISTENT_VOLUME_CLAIM.api_version,
            "kind": kinds.PERSISTENT_VOLUME_CLAIM.kind,
            "metadata": {**metadata, "name": name, "namespace": found.namespace, "labels": labels},
            "spec": template.get("spec") or {},
        }
    return claims


def new_pod(found: StoredObject, template: Mapping[str, Any], revision: str, ordinal: int) -> Object:
    """Return the pod of an ordinal, made of a revision's template."""
    name = f"{found.name}-{ordinal}"
    pod = pod_from_template(template, found, kinds.STATEFUL_SET)
    metadata = pod["metadata"]
    metadata["name"] = name
    metadata["labels"] = {**(metadata.get("labels") or {}), **identity_labels(name), REVISION_HASH: revision}
    spec = {**pod["spec"], "hostname": name, "volumes": volumes_of(found, name, pod["spec"].get("volumes") or ())}
    if found.view.spec.service_name:
        spec["subdomain"] = found.view.spec.service_name
    if not spec["volumes"]:
        del spec["volumes"]
    pod["spec"] = spec
    return pod


def identity_labels(pod_name: str) -> dict[str, str]:
    """Return the labels that say which pod it is."""
    return {POD_NAME: pod_name, POD_INDEX: str(ordinal_of(pod_name))}


def volumes_of(found: StoredObject, pod_name: str, have: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return a pod's volumes with those of its claims in front."""
    claims = claims_of(found, pod_name)
    own = [
        {"name": name, "persistentVolumeClaim": {"claimName": claim["metadata"]["name"]}}
        for name, claim in claims.items()
    ]
    return [*own, *(each for each in have if each["name"] not in claims)]


def has_identity(pod: StoredObject) -> bool:
    """Whether a pod's labels say who it is."""
    return pod.labels.get(POD_NAME) == pod.name


def has_storage(found: StoredObject, pod: StoredObject) -> bool:
    """Whether a pod uses its claims."""
    ordinal = ordinal_of(pod.name)
    volumes = {volume.name: volume for volume in pod.view.spec.volumes}
    for template in claim_templates(found):
        volume = volumes.get(template["metadata"]["name"])
        source = None if volume is None else volume.persistent_volume_claim
        if source is None or source.claim_name != claim_name(template, found.name, ordinal):
            return False
    return True


def revision_of(pod: StoredObject) -> str:
    """Return the name of a pod's revision."""
    return pod.labels.get(REVISION_HASH, "")
