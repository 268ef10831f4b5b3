"""Nobody gives away by a role or a binding what they may not do themselves.

A user who has all the rights in question, or the verb `escalate` on the role, or `bind` on the role of a binding, may
write it. Requests of the system's own parts, which have no user, are not looked at.

Mirrors: pkg/registry/rbac/{escalation_check,helpers}.go, pkg/registry/rbac/*/policybased/storage.go,
pkg/registry/rbac/validation, component-helpers/auth/rbac/validation/policy_comparator.go (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from schedlab.apimachinery.errors import StatusError, new_forbidden
from schedlab.apimachinery.gojson import quote, quote_list
from schedlab.apiserver.authentication import MASTERS, UserInfo
from schedlab.apiserver.authorization import Authorizer
from schedlab.apiserver.rbac import GROUP, Access, PolicyRule, aggregate
from schedlab.apiserver.request_info import RequestInfo
from schedlab.registry.admission.chain import Admission, Attributes
from schedlab.registry.core import Core

_ALL: Final = "*"
_ROLES: Final = ("clusterroles", "roles")
_BINDINGS: Final = ("clusterrolebindings", "rolebindings")
_EVERYTHING: Final[Sequence[PolicyRule]] = (
    {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]},
    {"verbs": ["*"], "nonResourceURLs": ["*"]},
)
#: What the garbage collector changes of an object.
_GARBAGE_FIELDS: Final = ("ownerReferences", "finalizers", "selfLink", "managedFields")


class EscalationCheck:
    """Looks at writes of roles and bindings."""

    def __init__(self, access: Access, authorizer: Authorizer) -> None:
        self._access = access
        self._authorizer = authorizer

    def plugin(self) -> Admission:
        """Return the check as the last one that may refuse a write before it is validated."""
        resources = tuple(f"{plural}.{GROUP}" for plural in (*_ROLES, *_BINDINGS))
        return Admission("RBACEscalation", mutate=self._check, resources=resources, subresources=("",))

    def _check(self, attributes: Attributes, _core: Core) -> None:
        resource = attributes.resource.type
        if attributes.obj is None:
            return
        asking = attributes.user
        if not asking.name or MASTERS in asking.groups or _only_garbage_fields(attributes):
            return
        user = UserInfo(asking.name, asking.uid, asking.groups)
        if resource.resource in _ROLES:
            self._check_role(attributes, user)
        elif resource.resource in _BINDINGS:
            self._check_binding(attributes, user)

    def _check_role(self, attributes: Attributes, user: UserInfo) -> None:
        resource, obj = attributes.resource, attributes.obj
        assert obj is not None, "deletions are not looked at"
        # The name of the request, which a creation does not have.
        name = attributes.name if attributes.operation == "UPDATE" else ""
        if self._may(user, "escalate", resource.type.resource, attributes.namespace, name):
            return
        self._confirm(attributes, user, obj.get("rules") or ())
        if not any(_is_aggregated(role) for role in (obj, attributes.old or {})):
            return
        if self._missing(user, attributes.namespace, _EVERYTHING)[0]:
            cause = "must have cluster-admin privileges to use the aggregationRule"
            raise new_forbidden(resource.group_resource, obj["metadata"].get("name", ""), cause)

    def _check_binding(self, attributes: Attributes, user: UserInfo) -> None:
        assert attributes.obj is not None, "deletions are not looked at"
        reference = attributes.obj["roleRef"]
        plural = {"ClusterRole": "clusterroles", "Role": "roles"}.get(reference.get("kind", ""))
        if plural is None:
            return  # which validation says more of
        namespace = attributes.namespace
        if self._may(user, "bind", plural, namespace, reference.get("name", "")):
            return
        self._confirm(attributes, user, self._access.rules_by_reference(reference, namespace))

    def _may(self, user: UserInfo, verb: str, resource: str, namespace: str, name: str) -> bool:
        wanted = RequestInfo("", verb, True, GROUP, _ALL, namespace, resource, "", name)
        return self._authorizer.authorize(user, wanted).allowed

    def _confirm(self, attributes: Attributes, user: UserInfo, rules: Sequence[PolicyRule]) -> None:
        """Refuse to give rules away that the user does not have."""
        missing, errors = self._missing(user, attributes.namespace, rules)
        if not missing:
            return
        assert attributes.obj is not None, "deletions are not looked at"
        lines = "\n".join(sorted(dict.fromkeys(map(_describe, _compact(missing)))))
        cause = (
            f"user {quote(user.name)} (groups={quote_list(user.groups)}) is attempting to grant RBAC permissions "
            f"not currently held:\n{lines}"
        )
        if errors:
            cause += f"; resolution errors: [{aggregate(errors)}]"
        raise new_forbidden(attributes.resource.group_resource, attributes.obj["metadata"].get("name", ""), cause)

    def _missing(
        self, user: UserInfo, namespace: str, wanted: Sequence[PolicyRule]
    ) -> tuple[list[PolicyRule], list[str]]:
        own: list[PolicyRule] = []
        errors: list[str] = []
        for found in self._access.rules_of(user, namespace):
            if isinstance(found, StatusError):
                errors.append(found.message)
            else:
                own.append(found[1])
        pieces = (piece for rule in wanted for piece in _pieces(rule))
        return [piece for piece in pieces if not any(_covers(rule, piece) for rule in own)], errors


def _only_garbage_fields(attributes: Attributes) -> bool:
    old, new = attributes.old, attributes.obj
    if old is None or new is None:
        return False
    same_body = all(old.get(key) == new.get(key) for key in {**old, **new} if key != "metadata")
    before, after = old["metadata"], new["metadata"]
    return same_body and all(
        before.get(key) == after.get(key) for key in {**before, **after} if key not in _GARBAGE_FIELDS
    )


def _is_aggregated(role: dict[str, Any]) -> bool:
    return bool((role.get("aggregationRule") or {}).get("clusterRoleSelectors"))


def _pieces(rule: PolicyRule) -> Iterator[PolicyRule]:
    """Break a rule down to rules of one verb on one resource with at most one name, or on one path."""
    verbs = rule.get("verbs") or ()
    for group in rule.get("apiGroups") or ():
        for resource in rule.get("resources") or ():
            for verb in verbs:
                piece = {"apiGroups": [group], "resources": [resource], "verbs": [verb]}
                names = rule.get("resourceNames")
                if names:
                    yield from ({**piece, "resourceNames": [name]} for name in names)
                else:
                    yield piece
    for path in rule.get("nonResourceURLs") or ():
        yield from ({"nonResourceURLs": [path], "verbs": [verb]} for verb in verbs)


def _covers(owned: PolicyRule, piece: PolicyRule) -> bool:
    """Say whether a rule allows all that a piece of a rule allows."""
    names, wanted_names = owned.get("resourceNames"), piece.get("resourceNames")
    if names and not (wanted_names and set(wanted_names) <= set(names)):
        return False
    return (
        _covers_words(owned, piece, "verbs")
        and _covers_words(owned, piece, "apiGroups")
        and all(_covers_resource(owned.get("resources") or (), resource) for resource in piece.get("resources", ()))
        and all(
            any(_covers_path(own, path) for own in owned.get("nonResourceURLs") or ())
            for path in piece.get("nonResourceURLs", ())
        )
    )


def _covers_words(owned: PolicyRule, piece: PolicyRule, key: str) -> bool:
    own = owned.get(key) or ()
    return _ALL in own or all(word in own for word in piece.get(key, ()))


def _covers_resource(owned: Sequence[str], resource: str) -> bool:
    if _ALL in owned or resource in owned:
        return True
    _, slash, subresource = resource.partition("/")
    return bool(slash) and f"*/{subresource}" in owned


def _covers_path(owned: str, path: str) -> bool:
    return owned == path or (owned.endswith("*") and path.startswith(owned.rstrip("*")))


def _compact(pieces: Sequence[PolicyRule]) -> list[PolicyRule]:
    """Put pieces together again that differ in their verbs only."""
    paths: list[PolicyRule] = []
    joined: dict[tuple[str, str, str | None], dict[str, Any]] = {}
    for piece in pieces:
        if "nonResourceURLs" in piece:
            paths.append(piece)
            continue
        key = (piece["apiGroups"][0], piece["resources"][0], piece.get("resourceNames", [None])[0])
        found = joined.setdefault(key, {**piece, "verbs": []})
        found["verbs"] = [*found["verbs"], *piece["verbs"]]
    return [*paths, *joined.values()]


def _describe(rule: PolicyRule) -> str:
    names = ("APIGroups", "Resources", "NonResourceURLs", "ResourceNames", "Verbs")
    keys = ("apiGroups", "resources", "nonResourceURLs", "resourceNames", "verbs")
    shown = [f"{name}:{quote_list(rule[key])}" for name, key in zip(names, keys, strict=True) if rule.get(key)]
    return "{" + ", ".join(shown) + "}"
