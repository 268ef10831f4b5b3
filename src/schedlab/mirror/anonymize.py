"""Taking names out of objects so that they can be shown to others and still decide the same.

Every text gets a pseudonym, the same one wherever it stands, so selectors, owners, claims and topology still fit. Kept
are only words of Kubernetes itself: enumerations, quantities, times, and well-known label keys and resources. Values
of the environment, arguments, commands, annotations, messages, reasons, addresses, and what secrets and config maps
hold, are dropped; of annotations stay those that decisions depend on.
Pseudonyms depend on a key: with the same key the same ones come out, without it nobody can tell which text they are of.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from schedlab.api.rules.volumes import BIND_COMPLETED
from schedlab.apimachinery.gvk import GroupVersionKind
from schedlab.apimachinery.resources import known_resources
from schedlab.scheduler.plugins.registry import IN_TREE

#: Fields whose texts are words of Kubernetes.
_KEPT: Final = frozenset(
    [
        "apiVersion",
        "accessModes",
        "action",
        "allowPrivilegeEscalation",
        "bindingMode",
        "conditions",
        "containerRuntimeVersion",
        "creationTimestamp",
        "deletionTimestamp",
        "dnsPolicy",
        "effect",
        "finishedAt",
        "imagePullPolicy",
        "kind",
        "kubeletVersion",
        "cachingMode",
        "declaredFeatures",
        "defaultingType",
        "divisor",
        "bindingTimeout",
        "filterTimeout",
        "fsType",
        "lastHeartbeatTime",
        "lastPhaseTransitionTime",
        "medium",
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
    (
        *("requests", "limits", "capacity", "allocatable", "overhead", "podFixed", "hard", "used"),
        *("allocatedResources", "allocatedResourceStatuses"),
    )
)
#: Maps from labels to their values.
_LABELS: Final = frozenset(("labels", "matchLabels", "nodeSelector", "selector", "allowedTopologies"))
_LABEL_KEYS: Final = frozenset(
    ("key", "provisioner", "topologyKey", "matchLabelKeys", "mismatchLabelKeys", "topologyKeys")
)
_DROPPED: Final = frozenset(
    [
        "addresses",
        "args",
        "binaryData",
        "clusterIP",
        "clusterIPs",
        "command",
        "containerStatuses",
        "data",
        "dataSource",
        "dataSourceRef",
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
        "options",
        "parameters",
        "podCIDR",
        "podCIDRs",
        "podIP",
        "podIPs",
        "providerID",
        "readinessProbe",
        "reason",
        "runtimeClassName",
        "secrets",
        "securityContext",
        "selfLink",
        "startupProbe",
        "stringData",
        "terminationMessagePath",
        "volumeAttributes",
        "workingDir",
    ]
)
#: Annotations that decisions depend on.
_ANNOTATIONS: Final = frozenset(
    (
        BIND_COMPLETED,
        "pv.kubernetes.io/bound-by-controller",
        "volume.kubernetes.io/selected-node",
        "storageclass.kubernetes.io/is-default-class",
        "storageclass.beta.kubernetes.io/is-default-class",
    )
)
#: Types of conditions that Kubernetes sets itself; any other one was thought of by a user.
_CONDITIONS: Final = frozenset(
    (
        *("Ready", "MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable"),
        *("PodScheduled", "Initialized", "ContainersReady", "PodReadyToStartContainers", "DisruptionTarget"),
        *("PodResizePending", "PodResizeInProgress", "AllContainersRestarting"),
        *("Resizing", "FileSystemResizePending", "ControllerResizeError", "NodeResizeError"),
        *("ModifyingVolume", "ModifyVolumeError"),
    )
)
#: Prefixes of labels whose keys Kubernetes gives. Below others, like node-restriction.kubernetes.io, users give them.
_KUBERNETES: Final = re.compile(
    r"((beta|app|apps|batch|node|node\.alpha|node\.cloudprovider|topology|failure-domain\.beta|storage|storageclass"
    r"|storageclass\.beta|pv|volume|volume\.beta|statefulset|service|endpointslice|resource|scheduling)\.)?"
    r"(kubernetes|k8s)\.io"
)
_ROLE: Final = "node-role.kubernetes.io"
_ROLES: Final = ("control-plane", "master", "worker")
#: Names that every cluster has, and words that stand where names do.
_SYSTEM_NAMES: Final = re.compile(
    r"default|default-scheduler|kube-(system|public|node-lease|root-ca\.crt)|system-(node|cluster)-critical"
    r"|linux|windows|amd64|arm64|true|false|metadata\.name"
)
_RESOURCE: Final = re.compile(r"cpu|memory|pods|ephemeral-storage|storage|hugepages-[0-9]+[KMG]i?")
_OF_QUOTA: Final = re.compile(r"(requests|limits)\.(.+)")
#: The key in a path such as metadata.labels['app'].
_FIELD_KEY: Final = re.compile(r"(?<=\[')[^']*(?='\])")
_WILDCARDS: Final = ("0.0.0.0", "::", "127.0.0.1", "::1")  # noqa: S104 - compared, not bound
#: Numbers up to here keep their order, and fit into 64 bits when they are changed.
_NUMBER_MAX: Final = 10**15
_UUID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Anonymizer:
    """Pseudonyms under one key; fields of `kept` stay as they are. `replaced` and `dropped` count what was done, by field."""

    def __init__(self, key: bytes, kept: Sequence[str] = ()) -> None:
        self._key, self._kept = key, kept
        seed = int(self._digest("numbers")[:8], 16)
        self._factor, self._offset = 2 + seed % 997, 1 + seed // 997
        self.replaced: Counter[str] = Counter()
        self.dropped: Counter[str] = Counter()

    def anonymous(self, obj: Mapping[str, Any], within: str = "") -> dict[str, Any]:
        """Return an object, which stands in the field `within`, without names."""
        return {key: self._value(key, value) for key, value in obj.items() if not self._drops(key, value, within)}

    def scheduler_configuration(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """Return a KubeSchedulerConfiguration without names: plugins of Kubernetes with their arguments, no extenders."""
        kept = {
            key: value
            for key, value in config.items()
            if key in ("apiVersion", "kind") or not isinstance(value, str | list | Mapping)
        }
        self.dropped.update(key for key, value in config.items() if value and key not in kept and key != "profiles")
        if config.get("profiles"):
            kept["profiles"] = [self._profile(profile) for profile in config["profiles"]]
        return kept

    def name(self, text: str) -> str:
        """Return the pseudonym of a name, which is a valid name of every kind. Numbers become numbers in the same order."""
        if not text or _SYSTEM_NAMES.fullmatch(text):
            return text
        if "__" in text:
            # A volume that several zones reach has them all in one label.
            return "__".join(self.name(part) for part in text.split("__"))
        if text.isascii() and text.isdigit() and text == str(number := int(text)) and number <= _NUMBER_MAX:
            return str(number * self._factor + self._offset)
        digest = self._digest(text)
        if _UUID.fullmatch(text):
            return f"{digest[:8]}-{digest[8:12]}-4{digest[13:16]}-8{digest[17:20]}-{digest[20:32]}"
        return f"x{digest[:10]}"

    def label_key(self, key: str) -> str:
        """Return the pseudonym of a label's key; those of Kubernetes itself stay."""
        prefix, slash, rest = key.rpartition("/")
        if slash and _KUBERNETES.fullmatch(prefix):
            return key
        if prefix == _ROLE:
            return key if rest in _ROLES else f"{_ROLE}/{self.name(rest)}"
        return self.name(key)

    def _digest(self, text: str) -> str:
        return hmac.new(self._key, text.encode(), hashlib.sha256).hexdigest()

    def _drops(self, key: str, value: object, within: str) -> bool:
        if key == "annotations" and isinstance(value, Mapping):
            kept = not _ANNOTATIONS.isdisjoint(value)
            self.dropped[key] += not _ANNOTATIONS.issuperset(value)
            return not kept
        # An address at a port says which pods can be neighbours.
        if key not in _DROPPED or key in self._kept or (key == "hostIP" and within == "ports"):
            return False
        if value:
            self.dropped[key] += 1
        return True

    def _profile(self, profile: Mapping[str, Any]) -> dict[str, Any]:
        anonymous: dict[str, Any] = {
            key: value for key, value in profile.items() if not isinstance(value, str | list | Mapping)
        }
        if "schedulerName" in profile:
            anonymous["schedulerName"] = self.name(profile["schedulerName"])
        if profile.get("plugins"):
            anonymous["plugins"] = {
                point: {
                    change: [plugin for plugin in plugins or () if self._is_in_tree(plugin)]
                    for change, plugins in changes.items()
                }
                for point, changes in profile["plugins"].items()
            }
        if profile.get("pluginConfig"):
            anonymous["pluginConfig"] = [
                {"name": each["name"], "args": self._arguments(each.get("args") or {})}
                for each in profile["pluginConfig"]
                if self._is_in_tree(each)
            ]
        return anonymous

    def _is_in_tree(self, plugin: Mapping[str, Any]) -> bool:
        known = plugin.get("name") == "*" or plugin.get("name") in IN_TREE
        self.dropped["plugins"] += not known
        return known

    def _arguments(self, args: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of a plugin of Kubernetes, in which resources are called by `name`."""
        anonymous = self.anonymous(args)
        for found, made in ((args, anonymous), (args.get("scoringStrategy") or {}, anonymous.get("scoringStrategy"))):
            if found.get("resources") and made is not None:
                made["resources"] = [{**each, "name": self._resource(each["name"])} for each in found["resources"]]
        if args.get("ignoredResources"):
            anonymous["ignoredResources"] = [self._resource(name) for name in args["ignoredResources"]]
        if args.get("ignoredResourceGroups"):
            anonymous["ignoredResourceGroups"] = [self._domain(group) for group in args["ignoredResourceGroups"]]
        return anonymous

    def _value(self, key: str, value: Any) -> Any:
        if key in self._kept:
            return value
        if key == "ownerReferences" and isinstance(value, list):
            # The kind of a custom resource is a name, too.
            value = [owner for owner in value if _is_known(owner)]
        if key == "conditions" and isinstance(value, list):
            return [{**self.anonymous(each), "type": self._condition(each.get("type", ""))} for each in value]
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
        if key == "annotations":
            return {
                name: text if text == "yes" else self.name(text) for name, text in value.items() if name in _ANNOTATIONS
            }
        return self.anonymous(value, key)

    def _condition(self, kind: str) -> str:
        return kind if kind in _CONDITIONS else self.label_key(kind)

    def _domain(self, domain: str) -> str:
        return f"{self.name(domain)}.example"

    def _resource(self, name: str) -> str:
        if _RESOURCE.fullmatch(name):
            return name
        if of_quota := _OF_QUOTA.fullmatch(name):
            return f"{of_quota[1]}.{self._resource(of_quota[2])}"
        domain, slash, rest = name.partition("/")
        # Extended resources need a domain; the part behind it is what tells what it is.
        return f"{self._domain(domain)}/{self.name(rest)}" if slash else self.name(name)

    def _text(self, key: str, text: str) -> str:
        if key in _KEPT or not text:
            return text
        if key in _LABEL_KEYS:
            return self.label_key(text)
        if key in ("resourceName", "resource"):
            return self._resource(text)
        if key == "conditionType":
            return self._condition(text)
        if key == "fieldPath":
            return _FIELD_KEY.sub(lambda found: self.label_key(found[0]), text)
        self.replaced[key] += 1
        return self._formed(key, text)

    def _formed(self, key: str, text: str) -> str:
        """Return the pseudonym of a text in the form that its field asks for."""
        if key in ("image", "names", "reference"):
            # Nodes and pods call an image by its tag, which is `latest` where a pod has none.
            whole = text if ":" in text.rpartition("/")[2] else f"{text}:latest"
            return f"{self.name(whole)}:latest"
        if key == "hostIP":
            if text in _WILDCARDS:
                return text
            parts = bytes.fromhex(self._digest(text)[:6])
            return ".".join(("10", *map(str, parts)))
        if key == "iqn":
            return f"iqn.2000-01.example:{self.name(text)}"
        return f"/{self.name(text)}" if text.startswith("/") else self.name(text)


def _is_known(owner: Mapping[str, Any]) -> bool:
    group, _, version = str(owner.get("apiVersion", "")).rpartition("/")
    kind = GroupVersionKind(group, version, str(owner.get("kind", "")))
    return known_resources().find_gvk(kind) is not None
