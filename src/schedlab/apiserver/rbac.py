"""Role-based access: who has which rules, kept up to date by watching roles and bindings.

    user ─► bindings whose subjects fit ─► their roles ─► rules ─► is one about this request?

Mirrors: plugin/pkg/auth/authorizer/rbac/rbac.go, pkg/registry/rbac/validation/rule.go,
pkg/apis/rbac/v1/evaluation_helpers.go (v1.36)
Differs: nothing; the order of bindings is that of their names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from schedlab.api.object import StoredObject, WatchEvent
from schedlab.apimachinery.errors import NotFound, StatusError, new_not_found
from schedlab.apimachinery.gojson import quote
from schedlab.apimachinery.gvk import GroupResource
from schedlab.apiserver.authentication import SERVICE_ACCOUNT_PREFIX, UserInfo
from schedlab.apiserver.authorization import Rules, Verdict
from schedlab.apiserver.request_info import RequestInfo
from schedlab.registry.registry import Registry

GROUP: Final = "rbac.authorization.k8s.io"
_ALL: Final = "*"

#: A PolicyRule as the wire has it.
PolicyRule: TypeAlias = Mapping[str, Any]
#: Namespace and name; cluster-wide objects have no namespace.
_Key: TypeAlias = tuple[str, str]


@dataclass(frozen=True, slots=True)
class _Binding:
    """A binding: whom it is for and which role it gives."""

    namespace: str
    name: str
    subjects: Sequence[Mapping[str, Any]]
    role: Mapping[str, Any]

    def subject_for(self, user: UserInfo) -> Mapping[str, Any] | None:
        """Return the first subject that the user is, None when they are none."""
        return next((subject for subject in self.subjects if _is(user, subject, self.namespace)), None)

    def describe(self, subject: Mapping[str, Any]) -> str:
        """Say how somebody comes to a rule."""
        kind, name = ("RoleBinding", f"{self.name}/{self.namespace}") if self.namespace else _cluster(self.name)
        role = f"{self.role['kind']} {quote(self.role['name'])}"
        who = subject["name"]
        if subject["kind"] == "ServiceAccount":
            who = f"{who}/{subject.get('namespace') or self.namespace}"
        return f"{kind} {quote(name)} of {role} to {subject['kind']} {quote(who)}"


def _cluster(name: str) -> tuple[str, str]:
    return "ClusterRoleBinding", name


@dataclass(frozen=True, slots=True)
class Source:
    """Where a rule comes from."""

    binding: _Binding
    subject: Mapping[str, Any]

    def __str__(self) -> str:
        return self.binding.describe(self.subject)


class Access:
    """The roles and bindings of a cluster; current at any time."""

    def __init__(self, registry: Registry) -> None:
        self._roles: dict[_Key, Sequence[PolicyRule]] = {}
        #: By namespace and name.
        self._bindings: dict[str, dict[str, _Binding]] = {}
        for plural in ("clusterroles", "roles"):
            self._follow(registry, f"{plural}.{GROUP}", self._take_role)
        for plural in ("clusterrolebindings", "rolebindings"):
            self._follow(registry, f"{plural}.{GROUP}", self._take_binding)

    def _follow(self, registry: Registry, resource: str, take: Any) -> None:
        found = registry.list(resource)
        for obj in found.items:
            take(WatchEvent("ADDED", obj))
        registry.watch(resource, found.revision, take)

    def _take_role(self, event: WatchEvent) -> None:
        key = (event.object.namespace, event.object.name)
        if event.type == "DELETED":
            self._roles.pop(key, None)
        else:
            self._roles[key] = event.object.thaw().get("rules") or ()

    def _take_binding(self, event: WatchEvent) -> None:
        bindings = self._bindings.setdefault(event.object.namespace, {})
        if event.type == "DELETED":
            bindings.pop(event.object.name, None)
        else:
            bindings[event.object.name] = _read_binding(event.object)

    # --- questions ---------------------------------------------------------------------------------------------------

    def rules_of(self, user: UserInfo, namespace: str) -> Iterator[tuple[Source, PolicyRule] | StatusError]:
        """Yield the rules that a user has in a namespace, and an error for each role that does not exist."""
        for place in ("", namespace) if namespace else ("",):
            bindings = self._bindings.get(place, {})
            for name in sorted(bindings):
                binding = bindings[name]
                subject = binding.subject_for(user)
                if subject is None:
                    continue
                try:
                    rules = self.rules_by_reference(binding.role, place)
                except NotFound as error:
                    yield error
                    continue
                for rule in rules:
                    yield Source(binding, subject), rule

    def rules_by_reference(self, role: Mapping[str, Any], namespace: str) -> Sequence[PolicyRule]:
        """Return the rules of a role that a binding in a namespace names; raises NotFound."""
        of_namespace = role["kind"] == "Role"
        found = self._roles.get((namespace if of_namespace else "", role["name"]))
        if found is None:
            raise new_not_found(GroupResource(GROUP, "role" if of_namespace else "clusterrole"), role["name"])
        return found


class RBACAuthorizer:
    """Allows what a rule allows."""

    def __init__(self, access: Access) -> None:
        self._access = access

    def authorize(self, user: UserInfo, info: RequestInfo) -> Verdict:
        """Decide about one request; the reason of a refusal are roles that do not exist."""
        errors: list[str] = []
        for found in self._access.rules_of(user, info.namespace):
            if isinstance(found, StatusError):
                errors.append(found.message)
            elif allows(found[1], info):
                return Verdict(True, f"RBAC: allowed by {found[0]}")
        return Verdict(False, f"RBAC: {aggregate(errors)}" if errors else "")

    def rules(self, user: UserInfo, namespace: str) -> Rules:
        """Return what a user may do to resources in a namespace, and to other paths."""
        resources: list[dict[str, Any]] = []
        paths: list[dict[str, Any]] = []
        errors: list[str] = []
        for found in self._access.rules_of(user, namespace):
            if isinstance(found, StatusError):
                errors.append(found.message)
                continue
            rule = found[1]
            if rule.get("resources"):
                resources.append(_only(rule, "verbs", "apiGroups", "resources", "resourceNames"))
            if rule.get("nonResourceURLs"):
                paths.append(_only(rule, "verbs", "nonResourceURLs"))
        return Rules(resources, paths, error=aggregate(errors))


def allows(rule: PolicyRule, info: RequestInfo) -> bool:
    """Say whether a rule is about a request."""
    if not _matches(rule.get("verbs"), info.verb):
        return False
    if not info.is_resource:
        return any(_is_path(path, info.path) for path in rule.get("nonResourceURLs") or ())
    names = rule.get("resourceNames")
    if names and info.name not in names:
        return False
    return _matches(rule.get("apiGroups"), info.group) and _is_resource(rule.get("resources") or (), info)


def aggregate(errors: Sequence[str]) -> str:
    """Write several errors as one."""
    distinct = tuple(dict.fromkeys(errors))
    return distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]" if distinct else ""


def _matches(allowed: Sequence[str] | None, wanted: str) -> bool:
    return bool(allowed) and (_ALL in allowed or wanted in allowed)  # type: ignore[operator]


def _is_resource(resources: Sequence[str], info: RequestInfo) -> bool:
    if not info.subresource:
        return _ALL in resources or info.resource in resources
    full = f"{info.resource}/{info.subresource}"
    return _ALL in resources or full in resources or f"*/{info.subresource}" in resources


def _is_path(allowed: str, path: str) -> bool:
    return allowed in (_ALL, path) or (allowed.endswith("*") and path.startswith(allowed.rstrip("*")))


def _is(user: UserInfo, subject: Mapping[str, Any], namespace: str) -> bool:
    kind, name = subject["kind"], subject["name"]
    if kind == "User":
        return bool(user.name == name)
    if kind == "Group":
        return name in user.groups
    if kind != "ServiceAccount":
        return False
    home = subject.get("namespace") or namespace
    return bool(home) and user.name == f"{SERVICE_ACCOUNT_PREFIX}{home}:{name}"


def _read_binding(stored: StoredObject) -> _Binding:
    obj = stored.thaw()
    return _Binding(stored.namespace, stored.name, obj.get("subjects") or (), obj["roleRef"])


def _only(rule: PolicyRule, *keys: str) -> dict[str, Any]:
    return {key: rule[key] for key in keys if rule.get(key)}
