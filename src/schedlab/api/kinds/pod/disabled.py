"""Fields of pods that are dropped while their feature is off, unless the pod already has them.

Mirrors: pkg/api/pod/util.go (DropDisabledPodFields, DropDisabledTemplateFields) (v1.36)
Differs: features that cannot be turned off are left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

from schedlab.api.object import Object
from schedlab.apimachinery.features import FeatureGates

#: Names of fields from a spec or a status downwards; `*` stands for every element of a list.
_FieldPath: TypeAlias = tuple[str, ...]

_CONTAINERS: Final = ("initContainers", "containers", "ephemeralContainers")
_STATUSES: Final = ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")


def _in_each(lists: tuple[str, ...], *path: str) -> tuple[_FieldPath, ...]:
    return tuple((name, "*", *path) for name in lists)


_SPEC_FIELDS: Final[Mapping[str, tuple[_FieldPath, ...]]] = {
    "PodLevelResources": (("resources",),),
    "MatchLabelKeysInPodTopologySpread": (("topologySpreadConstraints", "*", "matchLabelKeys"),),
    "ClusterTrustBundleProjection": (("volumes", "*", "projected", "sources", "*", "clusterTrustBundle"),),
    "PodCertificateRequest": (("volumes", "*", "projected", "sources", "*", "podCertificate"),),
    "GenericWorkload": (("schedulingGroup",),),
    "HostnameOverride": (("hostnameOverride",),),
    "EnvFiles": _in_each(_CONTAINERS, "env", "*", "valueFrom", "fileKeyRef"),
    "ContainerStopSignals": _in_each(_CONTAINERS, "lifecycle", "stopSignal"),
}
_STATUS_FIELDS: Final[Mapping[str, tuple[_FieldPath, ...]]] = {
    "InPlacePodLevelResourcesVerticalScaling": (("resources",), ("allocatedResources",)),
    "DRAExtendedResource": (("extendedResourceClaimStatus",),),
    "ResourceHealthStatus": _in_each(_STATUSES, "allocatedResourcesStatus"),
    "ResourceHealthStatusMessage": _in_each(_STATUSES, "allocatedResourcesStatus", "*", "resources", "*", "message"),
    "ImageVolumeWithDigest": _in_each(_STATUSES, "volumeMounts", "*", "volumeStatus"),
    "DRANodeAllocatableResources": (("nodeAllocatableResourceClaimStatuses",),),
}


def drop_disabled(spec: Object, old: Mapping[str, Any], features: FeatureGates) -> None:
    """Drop disabled fields of a spec; `old` is what is stored, empty for a new object."""
    _drop(spec, old, _SPEC_FIELDS, features)
    if not features.enabled("ContainerStopSignals"):
        for key in _CONTAINERS:
            for container in spec.get(key) or ():
                if container.get("lifecycle") == {}:
                    del container["lifecycle"]
    if not features.enabled("ContainerRestartRules") and not _has_restart_rules(old):
        _drop_restart_rules(spec)


def drop_disabled_status(status: Object, old: Mapping[str, Any], features: FeatureGates) -> None:
    """Drop disabled fields of a status."""
    _drop(status, old, _STATUS_FIELDS, features)


def _drop(
    new: Object, old: Mapping[str, Any], fields: Mapping[str, tuple[_FieldPath, ...]], features: FeatureGates
) -> None:
    for feature, paths in fields.items():
        if features.enabled(feature):
            continue
        # Hardly any object has such a field, so the stored one is looked at last.
        found = [(holder, path[-1]) for path in paths for holder in _holders(new, path) if path[-1] in holder]
        if found and not any(path[-1] in holder for path in paths for holder in _holders(old, path)):
            for holder, name in found:
                del holder[name]


def _holders(value: Any, path: _FieldPath) -> Sequence[Any]:
    """Return every object that can have the last field of a path."""
    found = [value]
    for name in path[:-1]:
        if name == "*":
            found = [element for elements in found for element in elements]
        else:
            found = [inner for each in found if (inner := each.get(name))]
        if not found:
            break
    return found


def _has_restart_rules(spec: Mapping[str, Any]) -> bool:
    init = any(
        container.get("restartPolicy", "Always") != "Always" or container.get("restartPolicyRules")
        for container in spec.get("initContainers") or ()
    )
    return init or any("restartPolicy" in container for container in spec.get("containers") or ())


def _drop_restart_rules(spec: Object) -> None:
    for key in _CONTAINERS:
        for container in spec.get(key) or ():
            container.pop("restartPolicyRules", None)
            if key != "initContainers" or container.get("restartPolicy") != "Always":
                container.pop("restartPolicy", None)
