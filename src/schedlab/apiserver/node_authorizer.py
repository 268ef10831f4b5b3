"""What kubelets may do: `system:node:NAME` of the group `system:nodes` sees its own node, pods, and what these use.

    node ◄─ pod ◄─ secret, config map, service account, claim of devices, claim of a volume ◄─ volume ◄─ secret
         ◄─ volume attachment, resource slice, lease and CSINode of its name

Everything else that nodes may do, the rules of the role `system:node` say.

Mirrors: plugin/pkg/auth/authorizer/node/{node_authorizer,graph}.go (v1.36)
Differs: pods are followed from the first request of a node on, and what they use is looked up, where upstream keeps a
graph; so it is never behind. Pod certificates are not asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from schedlab.api.object import StoredObject, WatchEvent
from schedlab.apimachinery import field_selectors
from schedlab.apimachinery.errors import StatusError
from schedlab.apimachinery.gojson import quote
from schedlab.apimachinery.selectors import SelectorError
from schedlab.apiserver.authentication import UserInfo
from schedlab.apiserver.authorization import Authorizer, Rules, Verdict
from schedlab.apiserver.policy.cluster_roles import CLUSTER_ROLES
from schedlab.apiserver.rbac import allows
from schedlab.apiserver.request_info import RequestInfo
from schedlab.registry.registry import Registry

NODES: Final = "system:nodes"
_PREFIX: Final = "system:node:"
_ALLOWED: Final = Verdict(True)
_REFUSED: Final = Verdict(False)
_MIRROR: Final = "kubernetes.io/config.mirror"
_OWN: Final = ("get", "create", "update", "patch", "delete")
#: Members of a specification that name an object, wherever in it they stand.
_NAMED_BY: Final[Mapping[str, str]] = {
    **dict.fromkeys(("secretKeyRef", "secretRef", "nodePublishSecretRef", "nodeStageSecretRef"), "secrets"),
    **dict.fromkeys(("controllerPublishSecretRef", "controllerExpandSecretRef", "nodeExpandSecretRef"), "secrets"),
    **dict.fromkeys(("secret", "azureFile", "imagePullSecrets"), "secrets"),
    **dict.fromkeys(("configMapKeyRef", "configMapRef", "configMap"), "configmaps"),
}


class NodeFirst:
    """Lets nodes do what is theirs; another authorizer decides about everything else and everybody else."""

    def __init__(self, registry: Registry, others: Authorizer) -> None:
        self._others = others
        self._nodes = NodeAuthorizer(registry)

    def authorize(self, user: UserInfo, info: RequestInfo) -> Verdict:
        """Decide about one request; a refusal gives the reasons of both."""
        if NODES not in user.groups or not user.name.startswith(_PREFIX):
            return self._others.authorize(user, info)
        own = self._nodes.authorize(user, info)
        if own.allowed:
            return own
        other = self._others.authorize(user, info)
        if other.allowed:
            return other
        return Verdict(False, "\n".join(reason for reason in (own.reason, other.reason) if reason))

    def rules(self, user: UserInfo, namespace: str) -> Rules:
        """Return what roles say; what nodes may do besides cannot be written as rules."""
        found = self._others.rules(user, namespace)
        if NODES not in user.groups or not user.name.startswith(_PREFIX):
            return found
        errors = ["node authorizer does not support user rule resolution", *([found.error] if found.error else [])]
        return Rules(found.resources, found.paths, errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]")


class NodeAuthorizer:
    """Decides about requests of nodes."""

    def __init__(self, registry: Registry) -> None:
        self._related = _Related(registry)
        self._rules = next(role for role in CLUSTER_ROLES if role.name == "system:node").rules
        self._checks: Mapping[tuple[str, str], Callable[[str, RequestInfo], Verdict]] = {
            ("", "secrets"): self._read,
            ("", "configmaps"): self._read,
            ("", "persistentvolumeclaims"): self._claim,
            ("", "persistentvolumes"): self._get,
            ("resource.k8s.io", "resourceclaims"): self._get,
            ("storage.k8s.io", "volumeattachments"): self._get,
            ("", "serviceaccounts"): self._token,
            ("coordination.k8s.io", "leases"): _lease,
            ("storage.k8s.io", "csinodes"): _csi_node,
            ("resource.k8s.io", "resourceslices"): self._slice,
            ("", "nodes"): _node,
            ("", "pods"): self._pod,
        }

    def authorize(self, user: UserInfo, info: RequestInfo) -> Verdict:
        """Decide about one request."""
        node = user.name.removeprefix(_PREFIX)
        if not node:
            return Verdict(False, f"unknown node for user {quote(user.name)}")
        check = self._checks.get((info.group, info.resource)) if info.is_resource else None
        if check is not None:
            return check(node, info)
        return _ALLOWED if any(allows(rule, info) for rule in self._rules) else _REFUSED

    def _relation(self, node: str, info: RequestInfo) -> Verdict:
        if not info.name:
            return Verdict(False, "No Object name found")
        if self._related.has(node, info.resource, info.namespace, info.name):
            return _ALLOWED
        return Verdict(False, f"no relationship found between node '{node}' and this object")

    def _read(self, node: str, info: RequestInfo) -> Verdict:
        if info.verb not in ("get", "list", "watch"):
            return Verdict(False, "can only read resources of this type")
        if info.subresource:
            return Verdict(False, "cannot read subresource")
        if not info.namespace:
            return Verdict(False, "can only read namespaced object of this type")
        return self._relation(node, info)

    def _get(self, node: str, info: RequestInfo) -> Verdict:
        if info.verb != "get":
            return Verdict(False, "can only get individual resources of this type")
        if info.subresource:
            return Verdict(False, "cannot get subresource")
        return self._relation(node, info)

    def _claim(self, node: str, info: RequestInfo) -> Verdict:
        if info.subresource != "status":
            return self._get(node, info)
        if info.verb not in ("update", "patch"):
            return Verdict(False, "can only get/update/patch this type")
        return self._relation(node, info)

    def _token(self, node: str, info: RequestInfo) -> Verdict:
        if info.verb != "create" or not info.name:
            return Verdict(False, "can only create tokens for individual service accounts")
        if info.subresource != "token":
            return Verdict(False, "can only create token subresource of serviceaccount")
        return self._relation(node, info)

    def _slice(self, node: str, info: RequestInfo) -> Verdict:
        if info.subresource:
            return Verdict(False, "cannot authorize ResourceSlice subresources")
        if info.verb == "create":
            return _ALLOWED
        if info.verb in ("get", "update", "patch", "delete"):
            return self._relation(node, info)
        if info.verb in ("watch", "list", "deletecollection"):
            if _selected(info, "nodeName") == node:
                return _ALLOWED
            reason = "can only list/watch/deletecollection resourceslices with nodeName field selector"
            return Verdict(False, reason)
        return Verdict(
            False,
            "only the following verbs are allowed for a ResourceSlice: "
            "get, watch, list, create, update, patch, delete, deletecollection",
        )

    def _pod(self, node: str, info: RequestInfo) -> Verdict:
        asked = (info.subresource, info.verb)
        if asked == ("", "get"):
            return self._get(node, info)
        if asked in (("", "list"), ("", "watch")):
            if _selected(info, "spec.nodeName") == node:
                return _ALLOWED
            if info.name:
                return self._relation(node, info)
            return Verdict(False, "can only list/watch pods with spec.nodeName field selector")
        own = (("", "create"), ("", "delete"), ("status", "update"), ("status", "patch"), ("eviction", "create"))
        return _ALLOWED if asked in own else _REFUSED


def _lease(node: str, info: RequestInfo) -> Verdict:
    if info.verb not in _OWN:
        return Verdict(False, "can only get, create, update, patch, or delete a node lease")
    if info.namespace != "kube-node-lease":
        return Verdict(False, 'can only access leases in the "kube-node-lease" system namespace')
    if info.verb != "create" and info.name != node:
        return Verdict(False, "can only access node lease with the same name as the requesting node")
    return _ALLOWED


def _csi_node(node: str, info: RequestInfo) -> Verdict:
    if info.verb not in _OWN:
        return Verdict(False, "can only get, create, update, patch, or delete a CSINode")
    if info.subresource:
        return Verdict(False, "cannot authorize CSINode subresources")
    if info.verb != "create" and info.name != node:
        return Verdict(False, "can only access CSINode with the same name as the requesting node")
    return _ALLOWED


def _node(node: str, info: RequestInfo) -> Verdict:
    asked = (info.subresource, info.verb)
    if asked in (("", "get"), ("", "list"), ("", "watch")):
        if info.name == node:
            return _ALLOWED
        if not info.name:
            return Verdict(False, f"node '{node}' cannot read all nodes, only its own Node object")
        return Verdict(False, f"node '{node}' cannot read '{info.name}', only its own Node object")
    own = (("", "create"), ("", "update"), ("", "patch"), ("status", "update"), ("status", "patch"))
    return _ALLOWED if asked in own else _REFUSED


def _selected(info: RequestInfo, field: str) -> str | None:
    """Return the value that a field selector asks for."""
    try:
        return field_selectors.parse(info.field_selector).required_value(field)
    except SelectorError:
        return None


class _Related:
    """What the pods of a node use."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        #: Pods by node; followed once a node has asked for something.
        self._pods: dict[str, dict[str, StoredObject]] | None = None

    def has(self, node: str, resource: str, namespace: str, name: str) -> bool:
        """Say whether an object has to do with a node."""
        if resource == "volumeattachments":
            return self._names_node("volumeattachments.storage.k8s.io", name, node)
        if resource == "resourceslices":
            return self._names_node("resourceslices.resource.k8s.io", name, node)
        pods = self._pods_of(node)
        if resource == "pods":
            return f"{namespace}/{name}" in pods
        claims = [
            (pod.namespace, used)
            for pod in pods.values()
            for kind, used in _used(pod.raw)
            if kind == "persistentvolumeclaims"
        ]
        if resource == "persistentvolumes":
            return any(self._volume_of(*claim) == name for claim in claims)
        if any((resource, name) in _used(pod.raw) for pod in pods.values() if pod.namespace == namespace):
            return True
        return resource == "secrets" and any(
            (namespace, name) in self._volume_secrets(*claim) for claim in dict.fromkeys(claims)
        )

    def _pods_of(self, node: str) -> Mapping[str, StoredObject]:
        if self._pods is None:
            self._pods = {}
            found = self._registry.list("pods")
            for pod in found.items:
                self._take(WatchEvent("ADDED", pod))
            self._registry.watch("pods", found.revision, self._take)
        return self._pods.get(node, {})

    def _take(self, event: WatchEvent) -> None:
        assert self._pods is not None
        pod = event.object
        node = pod.view.spec.node_name
        if not node:
            return
        if event.type == "DELETED":
            self._pods.get(node, {}).pop(pod.key, None)
        else:
            self._pods.setdefault(node, {})[pod.key] = pod

    def _names_node(self, resource: str, name: str, node: str) -> bool:
        found = self._find(resource, name)
        return found is not None and found["spec"].get("nodeName") == node

    def _find(self, resource: str, name: str, namespace: str = "") -> Mapping[str, Any] | None:
        try:
            return self._registry.get(resource, name, namespace).raw
        except StatusError:
            return None

    def _volume_of(self, namespace: str, claim: str) -> str:
        """Return the volume that a claim is bound to."""
        found = self._find("persistentvolumeclaims", claim, namespace)
        volume: str = "" if found is None else found["spec"].get("volumeName", "")
        bound = self._find("persistentvolumes", volume) if volume else None
        reference = {} if bound is None else bound["spec"].get("claimRef") or {}
        return volume if (reference.get("namespace"), reference.get("name")) == (namespace, claim) else ""

    def _volume_secrets(self, namespace: str, claim: str) -> list[tuple[str, str]]:
        volume = self._volume_of(namespace, claim)
        bound = self._find("persistentvolumes", volume) if volume else None
        spec = {} if bound is None else bound["spec"]
        return [(place or namespace, name) for kind, place, name in _named(spec) if kind == "secrets"]


def _used(pod: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return resource and name of everything that a pod uses in its namespace."""
    spec, metadata = pod["spec"], pod["metadata"]
    if _MIRROR in (metadata.get("annotations") or {}):
        return []
    found = [(kind, name) for kind, _, name in _named(spec)]
    found.append(("serviceaccounts", spec.get("serviceAccountName", "")))
    for volume in spec.get("volumes") or ():
        if volume.get("persistentVolumeClaim"):
            found.append(("persistentvolumeclaims", volume["persistentVolumeClaim"].get("claimName", "")))
        if volume.get("ephemeral"):
            found.append(("persistentvolumeclaims", f"{metadata['name']}-{volume['name']}"))
    made = (pod.get("status") or {}).get("resourceClaimStatuses") or ()
    claims = (*(spec.get("resourceClaims") or ()), *made)
    return [*found, *(("resourceclaims", claim.get("resourceClaimName", "")) for claim in claims)]


def _named(value: Any) -> Iterator[tuple[str, str, str]]:
    """Yield resource, namespace and name of the secrets and config maps that a specification names."""
    if isinstance(value, list):
        for item in value:
            yield from _named(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            resource = _NAMED_BY.get(key)
            if resource is None:
                yield from _named(item)
                continue
            for one in item if isinstance(item, list) else (item,):
                if isinstance(one, dict) and (name := one.get("secretName") or one.get("name")):
                    yield resource, one.get("namespace") or one.get("secretNamespace") or "", name
