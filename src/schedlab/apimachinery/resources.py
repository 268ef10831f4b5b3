"""Which resources exist: names, kinds, scope, verbs, short names, categories, subresources.

The list of all resources of Kubernetes 1.36 comes from the compiled table; what no published package says (short
names, categories, subresources without a typed body, in which version an object is stored) is the overlay below. A
`Resources` object is the set that a server really serves; discovery, OpenAPI and routing read nothing else.

Mirrors: k8s.io/kubernetes/pkg/registry/*/storage (ShortNames, Categories, NamespaceScoped),
k8s.io/apiserver/pkg/endpoints/discovery (v1.36)
Differs: nothing.
"""

import base64
import functools
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from schedlab.apimachinery.gvk import (
    GroupResource,
    GroupVersion,
    GroupVersionKind,
    GroupVersionResource,
)
from schedlab.apimachinery.schema import read_data

ALL_VERBS: Final = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
_READ_WRITE: Final = ("get", "patch", "update")
_PROXY: Final = ("create", "delete", "get", "patch", "update")
_VERBS: Final = {"post": "create", "put": "update"}

#: Groups in the order in which a server lists them.
GROUP_ORDER: Final = (
    "",
    "apiregistration.k8s.io",
    "apps",
    "events.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "autoscaling",
    "batch",
    "certificates.k8s.io",
    "networking.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "storage.k8s.io",
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "scheduling.k8s.io",
    "coordination.k8s.io",
    "node.k8s.io",
    "discovery.k8s.io",
    "resource.k8s.io",
    "flowcontrol.apiserver.k8s.io",
)

_SHORT_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "certificatesigningrequests.certificates.k8s.io": ("csr",),
    "componentstatuses": ("cs",),
    "configmaps": ("cm",),
    "cronjobs.batch": ("cj",),
    "customresourcedefinitions.apiextensions.k8s.io": ("crd", "crds"),
    "daemonsets.apps": ("ds",),
    "deployments.apps": ("deploy",),
    "endpoints": ("ep",),
    "events": ("ev",),
    "events.events.k8s.io": ("ev",),
    "horizontalpodautoscalers.autoscaling": ("hpa",),
    "ingresses.networking.k8s.io": ("ing",),
    "ipaddresses.networking.k8s.io": ("ip",),
    "limitranges": ("limits",),
    "namespaces": ("ns",),
    "networkpolicies.networking.k8s.io": ("netpol",),
    "nodes": ("no",),
    "persistentvolumeclaims": ("pvc",),
    "persistentvolumes": ("pv",),
    "poddisruptionbudgets.policy": ("pdb",),
    "pods": ("po",),
    "priorityclasses.scheduling.k8s.io": ("pc",),
    "replicasets.apps": ("rs",),
    "replicationcontrollers": ("rc",),
    "resourcequotas": ("quota",),
    "serviceaccounts": ("sa",),
    "services": ("svc",),
    "statefulsets.apps": ("sts",),
    "storageclasses.storage.k8s.io": ("sc",),
    "volumeattributesclasses.storage.k8s.io": ("vac",),
}

_CATEGORIES: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(
        (
            "cronjobs.batch",
            "daemonsets.apps",
            "deployments.apps",
            "horizontalpodautoscalers.autoscaling",
            "jobs.batch",
            "pods",
            "replicasets.apps",
            "replicationcontrollers",
            "services",
            "statefulsets.apps",
        ),
        ("all",),
    ),
    **dict.fromkeys(
        (
            "apiservices.apiregistration.k8s.io",
            "customresourcedefinitions.apiextensions.k8s.io",
            "mutatingadmissionpolicies.admissionregistration.k8s.io",
            "mutatingadmissionpolicybindings.admissionregistration.k8s.io",
            "mutatingwebhookconfigurations.admissionregistration.k8s.io",
            "validatingadmissionpolicies.admissionregistration.k8s.io",
            "validatingadmissionpolicybindings.admissionregistration.k8s.io",
            "validatingwebhookconfigurations.admissionregistration.k8s.io",
        ),
        ("api-extensions",),
    ),
}

#: Subresources that the typed clients do not have: (kind, verbs).
_SUBRESOURCES: Final[Mapping[str, Mapping[str, tuple[str, tuple[str, ...]]]]] = {
    "namespaces": {"finalize": ("Namespace", ("update",))},
    "nodes": {"proxy": ("NodeProxyOptions", _PROXY)},
    "pods": {
        "attach": ("PodAttachOptions", ("create", "get")),
        "exec": ("PodExecOptions", ("create", "get")),
        "portforward": ("PodPortForwardOptions", ("create", "get")),
        "proxy": ("PodProxyOptions", _PROXY),
    },
    "services": {"proxy": ("ServiceProxyOptions", _PROXY)},
}

#: Verbs where the typed clients claim more than a server offers.
_VERB_LIMITS: Final[Mapping[str, tuple[str, ...]]] = {
    "componentstatuses": ("get", "list"),
    "namespaces": ("create", "delete", "get", "list", "patch", "update", "watch"),
}

#: Kinds stored as another version or group than the newest stable one.
_STORED_AS: Final[Mapping[str, GroupVersion]] = {
    "customresourcedefinitions.apiextensions.k8s.io": GroupVersion("apiextensions.k8s.io", "v1beta1"),
    "events.events.k8s.io": GroupVersion("", "v1"),
    "horizontalpodautoscalers.autoscaling": GroupVersion("autoscaling", "v2"),
    "mutatingadmissionpolicies.admissionregistration.k8s.io": GroupVersion("admissionregistration.k8s.io", "v1beta1"),
    "mutatingadmissionpolicybindings.admissionregistration.k8s.io": GroupVersion(
        "admissionregistration.k8s.io", "v1beta1"
    ),
}


@dataclass(frozen=True, slots=True)
class Subresource:
    """A path below an object: `pods/status`, `deployments/scale`."""

    name: str
    gvk: GroupVersionKind
    verbs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ResourceType:
    """One resource in one version."""

    group: str
    version: str
    resource: str
    singular: str
    kind: str
    namespaced: bool
    verbs: tuple[str, ...]
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: tuple[Subresource, ...] = ()
    #: Group and version of the stored form, where it is not this one; `storage_version_hash` tells of it.
    storage_group_version: GroupVersion | None = None
    #: Kind of a list, where it is not named after the kind.
    list_name: str = ""

    @property
    def list_kind(self) -> str:
        return self.list_name or f"{self.kind}List"

    @property
    def group_version(self) -> GroupVersion:
        return GroupVersion(self.group, self.version)

    @property
    def api_version(self) -> str:
        return str(self.group_version)

    @property
    def gvk(self) -> GroupVersionKind:
        return GroupVersionKind(self.group, self.version, self.kind)

    @property
    def gvr(self) -> GroupVersionResource:
        return GroupVersionResource(self.group, self.version, self.resource)

    @property
    def group_resource(self) -> GroupResource:
        return GroupResource(self.group, self.resource)

    @property
    def full_name(self) -> str:
        """Name as kubectl prints it: `pods`, `deployments.apps`."""
        return str(self.group_resource)

    @property
    def path(self) -> str:
        """Path of the group version: `/api/v1`, `/apis/apps/v1`."""
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"

    @property
    def is_stored(self) -> bool:
        """Whether objects are kept; a review is answered and forgotten."""
        return "get" in self.verbs and "create" in self.verbs

    @property
    def storage_version_hash(self) -> str:
        """The opaque text that discovery shows for stored resources."""
        stored = self.storage_group_version or self.group_version
        digest = hashlib.sha256(f"{stored.group}/{stored.version}/{self.kind}".encode()).digest()
        return base64.b64encode(digest[:8]).decode()

    def subresource(self, name: str) -> Subresource | None:
        for sub in self.subresources:  # asked about every binding: no generator
            if sub.name == name:
                return sub
        return None


class Resources:
    """The resources that a server serves; immutable."""

    def __init__(self, types: Iterable[ResourceType]) -> None:
        self._types = tuple(sorted(types, key=_discovery_order))
        self._by_gvr = {entry.gvr: entry for entry in self._types}
        self._by_gvk = {entry.gvk: entry for entry in self._types}
        assert len(self._by_gvr) == len(self._types), "a resource was given twice"

    def __iter__(self) -> Iterator[ResourceType]:
        return iter(self._types)

    def __len__(self) -> int:
        return len(self._types)

    def find(self, group: str, version: str, resource: str) -> ResourceType | None:
        """Return the resource at a path, None when it is not served."""
        return self._by_gvr.get(GroupVersionResource(group, version, resource))

    def find_gvk(self, gvk: GroupVersionKind) -> ResourceType | None:
        return self._by_gvk.get(gvk)

    def find_kind(self, group: str, kind: str) -> ResourceType | None:
        """Return the resource of a kind in its preferred version, None when it is not served."""
        return next((entry for entry in self._types if entry.group == group and entry.kind == kind), None)

    def named(self, name: str) -> ResourceType:
        """Return a resource by its name with group (`pods`, `deployments.apps`); raises KeyError.

        The name may also say which version is meant, as kubectl takes it: `horizontalpodautoscalers.v1.autoscaling`.
        """
        resource, _, group = name.partition(".")
        version, _, rest = group.partition(".")
        for entry in self._types:
            if entry.resource == resource and (entry.group == group or (entry.version, entry.group) == (version, rest)):
                return entry
        raise KeyError(name)

    def search(self, word: str) -> ResourceType | None:
        """Find what a user means: plural, singular, short name or kind, with or without a group."""
        resource, _, group = word.lower().partition(".")
        for entry in self._types:
            names = (entry.resource, entry.singular, entry.kind.lower(), *entry.short_names)
            if resource in names and (not group or entry.group == group):
                return entry
        return None

    def groups(self) -> tuple[str, ...]:
        """Groups in the order of discovery."""
        return tuple(dict.fromkeys(entry.group for entry in self._types))

    def group_versions(self, group: str | None = None) -> tuple[GroupVersion, ...]:
        """Served group versions, preferred ones first within a group."""
        found = (entry.group_version for entry in self._types if group is None or entry.group == group)
        return tuple(dict.fromkeys(found))

    def of(self, group_version: GroupVersion) -> tuple[ResourceType, ...]:
        """Resources of a group version, by name."""
        return tuple(entry for entry in self._types if entry.group_version == group_version)

    def restrict(self, names: Iterable[str]) -> "Resources":
        """Keep the resources named: `pods` with all its subresources, or `pods`, `pods/status` for just that one.

        A name without version keeps the stable versions. Raises KeyError for a name that does not exist.
        """
        wanted: dict[str, list[str]] = {}
        for name in names:
            resource, _, subresource = name.partition("/")
            wanted.setdefault(resource, []).append(subresource)
        kept: list[ResourceType] = []
        for full_name, subresources in wanted.items():
            found = [entry for entry in self._types if entry.full_name == full_name and _is_stable(entry.version)]
            if not found:
                raise KeyError(full_name)
            kept.extend(_with_subresources(entry, [name for name in subresources if name]) for entry in found)
        return Resources(kept)

    def extended(self, types: Iterable[ResourceType]) -> "Resources":
        """Return a set that also serves these."""
        return Resources((*self._types, *types))


def _with_subresources(entry: ResourceType, names: list[str]) -> ResourceType:
    if not names:
        return entry
    missing = [name for name in names if entry.subresource(name) is None]
    if missing:
        raise KeyError(f"{entry.full_name}/{missing[0]}")
    return replace(entry, subresources=tuple(sub for sub in entry.subresources if sub.name in names))


def _discovery_order(entry: ResourceType) -> tuple[int, str, tuple[int, int, int], str]:
    rank = GROUP_ORDER.index(entry.group) if entry.group in GROUP_ORDER else len(GROUP_ORDER)
    return rank, entry.group, _version_rank(entry.version), entry.resource


def _version_rank(version: str) -> tuple[int, int, int]:
    """Order versions as Kubernetes prefers them: stable before beta before alpha, high numbers first."""
    found = re.fullmatch(r"v(\d+)(?:(alpha|beta)(\d+))?", version)
    if found is None:
        return 3, 0, 0
    stage = {None: 0, "beta": 1, "alpha": 2}[found[2]]
    return stage, -int(found[1]), -int(found[3] or 0)


def _is_stable(version: str) -> bool:
    return _version_rank(version)[0] == 0


@functools.cache
def known_resources() -> Resources:
    """Return every resource of Kubernetes 1.36, alpha and beta versions included."""
    return Resources(map(_known, read_data("resources.json.gz")))


@functools.cache
def stable_resources() -> Resources:
    """Return what a kube-apiserver with default settings serves."""
    return Resources(entry for entry in known_resources() if _is_stable(entry.version))


def _known(source: Mapping[str, Any]) -> ResourceType:
    group, version, kind = source["gvk"]
    resource: str = source["plural"]
    full_name = str(GroupResource(group, resource))
    return ResourceType(
        group=group,
        version=version,
        resource=resource,
        singular=kind.lower(),
        kind=kind,
        namespaced=source["namespaced"],
        verbs=_VERB_LIMITS.get(full_name, _to_verbs(source["verbs"])),
        short_names=_SHORT_NAMES.get(full_name, ()),
        categories=_CATEGORIES.get(full_name, ()),
        subresources=tuple(_subresources(full_name, GroupVersion(group, version), source["subresources"])),
        storage_group_version=_STORED_AS.get(full_name),
    )


def _subresources(full_name: str, owner: GroupVersion, source: Mapping[str, Any]) -> Iterator[Subresource]:
    found = {name: Subresource(name, GroupVersionKind(*gvk), _to_verbs(verbs)) for name, (gvk, verbs) in source.items()}
    for name, (kind, verbs) in _SUBRESOURCES.get(full_name, {}).items():
        found[name] = Subresource(name, owner.with_kind(kind), verbs)
    for name in sorted(found):
        yield found[name]


def _to_verbs(methods: Iterable[str]) -> tuple[str, ...]:
    verbs = {_VERBS.get(method, method) for method in methods if not method.startswith("global_")}
    return tuple(sorted(verbs))
