"""Creates the default roles and bindings where they are missing.

Mirrors: pkg/registry/rbac/rest/storage_rbac.go (v1.36)
Differs: what was changed later is not put right again.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from schedlab.apimachinery.errors import NotFound
from schedlab.apiserver.policy.bindings import CLUSTER_ROLE_BINDINGS, ROLE_BINDINGS, ROLES
from schedlab.apiserver.policy.cluster_roles import CLUSTER_ROLES
from schedlab.apiserver.policy.controller_roles import CONTROLLER_ROLES, PREFIX
from schedlab.apiserver.policy.forms import GROUP, Binding, account
from schedlab.registry import Registry, WriteOptions

_OPTIONS: Final = WriteOptions(field_manager="kube-apiserver")


def bootstrap_access(registry: Registry) -> None:
    """Create the roles, then who has them."""
    controllers = [replace(role, name=f"{PREFIX}{role.name}") for role in CONTROLLER_ROLES]
    for role in (*CLUSTER_ROLES, *controllers):
        _ensure(registry, "clusterroles", "", role.to_wire())
    own = [Binding(f"{PREFIX}{role.name}", (account("kube-system", role.name),)) for role in CONTROLLER_ROLES]
    for binding in (*CLUSTER_ROLE_BINDINGS, *own):
        _ensure(registry, "clusterrolebindings", "", binding.to_wire())
    for namespace, roles in ROLES.items():
        for role in roles:
            _ensure(registry, "roles", namespace, role.to_wire())
    for namespace, bindings in ROLE_BINDINGS.items():
        for binding in bindings:
            _ensure(registry, "rolebindings", namespace, binding.to_wire())


def _ensure(registry: Registry, plural: str, namespace: str, wanted: dict[str, Any]) -> None:
    resource = f"{plural}.{GROUP}"
    try:
        registry.get(resource, wanted["metadata"]["name"], namespace)
    except NotFound:
        registry.create(resource, registry.decode(resource, wanted), namespace, _OPTIONS)
