"""Taking names out of objects so that they can be shown to others and still decide the same.

Every text gets a pseudonym, the same one wherever it stands, so selectors, owners, claims and topology still fit. Kept
are only words of Kubernetes itself: enumerations, quantities, times, and well-known label keys and resources. Values
of the environment, arguments, commands, annotations, messages, addresses, and what secrets and config maps hold, are
dropped.
Pseudonyms depend on a key: with the same key the same ones come out, without it nobody can tell which text they are of.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from schedlab.apimachinery.gvk import GroupVersionKind
from schedlab.apimachinery.resources import known_resources

#: Fields whose texts are words of Kubernetes.
_KEPT: Final = frozenset(
    [
        "apiVersion",
        "accessModes",
        "action",
        "allowPrivilegeEscalation",
        "bindingMode",
        "conditionType",
        "conditions",
        "containerRuntimeVersion",
        "creationTimestamp",
        "deletionTimestamp",
        "dnsPolicy",
        "fieldPath",
        "schedulerName",
        "effect",
        "finishedAt",
        "imagePullPolicy",
        "kind",
        "kubeletVersion",
        "lastHeartbeatTime",
        "lastProbeTime",
        "lastTransitionTime",
        "managementPolicy",
        "maxSkew",
        "nodeAffinityPolicy",
        "nodeTaintsPolicy",
        "observedGeneration",
        "operator",
        "phase",
        "preemptionPolicy",
        "preferredDuringSchedulingIgnoredDuringExecution",
        "protocol",
        "qosClass",
        "reason",
        "reclaimPolicy",
        "persistentVolumeReclaimPolicy",
        "resourceVersion",
        "restartPolicy",
        "startTime",
        "startedAt",
        "status",
        "terminationMessagePolicy",
        "timeAdded",
        "type",
        "unhealthyPodEvictionPolicy",
        "volumeBindingMode",
        "volumeMode",
        "whenUnsatisfiable",
        "allocationMode",
        "scope",
        "sizeLimit",
        "storage",
        "resizePolicy",
        "operatingSystem",
        "architecture",
        "osImage",
        "concurrencyPolicy",
        "completionMode",
        "podReplacementPolicy",
    ]
)
#: Maps from names of resources to quantities.
_QUANTITIES: Final = frozenset(
    ("requests", "limits", "capacity", "allocatable", "overhead", "podFixed", "hard", "used")
)
#: Maps from labels to their values.
_LABELS: Final = frozenset(("labels", "matchLabels", "nodeSelector", "selector", "allowedTopologies"))
_LABEL_KEYS: Final = frozenset(
    ("key", "provisioner", "topologyKey", "matchLabelKeys", "mismatchLabelKeys", "topologyKeys")
)
_DROPPED: Final = frozenset(
    [
        "addresses",
        "annotations",
        "args",
        "binaryData",
        "clusterIP",
        "clusterIPs",
        "command",
        "containerStatuses",
        "data",
        "dnsConfig",
        "env",
        "envFrom",
        "ephemeralContainerStatuses",
        "externalIPs",
        "finalizers",
        "generateName",
        "hostAliases",
        "hostIP",
        "hostIPs",
        "imagePullSecrets",
        "initContainerStatuses",
        "lifecycle",
        "livenessProbe",
        "managedFields",
        "message",
        "nodeInfo",
        "note",
        "parameters",
        "podCIDR",
        "podCIDRs",
        "podIP",
        "podIPs",
        "providerID",
        "readinessProbe",
        "runtimeClassName",
        "secrets",
        "securityContext",
        "selfLink",
        "startupProbe",
        "stringData",
        "terminationMessagePath",
        "workingDir",
    ]
)
_KUBERNETES: Final = re.compile(r"(^|\.)(kubernetes\.io|k8s\.io)(/|$)")
_SYSTEM_NAMES: Final = re.compile(r"(default|kube-.*|system[:-].*|system)")
_RESOURCE: Final = re.compile(r"(cpu|memory|pods|ephemeral-storage|storage|hugepages-.*|(requests|limits|count)[./].*)")
_UUID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Anonymizer:
    """Pseudonyms under one key; fields of `kept` stay as they are. `replaced` and `dropped` count what was done, by field."""

    def __init__(self, key: bytes, kept: Sequence[str] = ()) -> None:
        self._key, self._kept = key, kept
        self.replaced: Counter[str] = Counter()
        self.dropped: Counter[str] = Counter()

    def anonymous(self, obj: Mapping[str, Any]) -> dict[str, Any]:
        """Return an object without names."""
        return {key: self._value(key, value) for key, value in obj.items() if not self._drops(key, value)}

    def name(self, text: str) -> str:
        """Return the pseudonym of a name, which is a valid name of every kind."""
        if _SYSTEM_NAMES.fullmatch(text):
            return text
        digest = hmac.new(self._key, text.encode(), hashlib.sha256).hexdigest()
        if _UUID.fullmatch(text):
            return f"{digest[:8]}-{digest[8:12]}-4{digest[13:16]}-8{digest[17:20]}-{digest[20:32]}"
        return f"x{digest[:10]}"

    def label_key(self, key: str) -> str:
        """Return the pseudonym of a label's key; those of Kubernetes itself stay."""
        prefix = key.partition("/")[0] if "/" in key else ""
        return key if _KUBERNETES.search(prefix) else self.name(key)

    def _drops(self, key: str, value: object) -> bool:
        if key not in _DROPPED or key in self._kept:
            return False
        if value:
            self.dropped[key] += 1
        return True

    def _value(self, key: str, value: Any) -> Any:
        if key in self._kept:
            return value
        if key == "ownerReferences" and isinstance(value, list):
            # The kind of a custom resource is a name, too.
            value = [owner for owner in value if _is_known(owner)]
        if isinstance(value, Mapping):
            return self._map(key, value)
        if isinstance(value, Sequence) and not isinstance(value, str):
            return [self._value(key, one) for one in value]
        if isinstance(value, str):
            return self._text(key, value)
        return value

    def _map(self, key: str, value: Mapping[str, Any]) -> dict[str, Any]:
        if key in _QUANTITIES and not any(isinstance(one, Mapping) for one in value.values()):
            return {self._resource(name): amount for name, amount in value.items()}
        if key in _LABELS and all(isinstance(one, str) for one in value.values()):
            return {self.label_key(name): self._text("label", text) for name, text in value.items()}
        return self.anonymous(value)

    def _resource(self, name: str) -> str:
        if _RESOURCE.fullmatch(name):
            return name
        domain, slash, rest = name.partition("/")
        # Extended resources need a domain; the part behind it is what tells what it is.
        return f"{self.name(domain)}.example/{self.name(rest)}" if slash else self.name(name)

    def _text(self, key: str, text: str) -> str:
        if key in _KEPT or not text:
            return text
        if key in _LABEL_KEYS:
            return self.label_key(text)
        if key in ("resourceName", "resource"):
            return self._resource(text)
        self.replaced[key] += 1
        return self.name(text)


def _is_known(owner: Mapping[str, Any]) -> bool:
    group, _, version = str(owner.get("apiVersion", "")).rpartition("/")
    kind = GroupVersionKind(group, version, str(owner.get("kind", "")))
    return known_resources().find_gvk(kind) is not None
