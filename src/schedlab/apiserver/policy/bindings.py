"""Who has the default roles, and the roles of two namespaces.

Mirrors: plugin/pkg/auth/authorizer/rbac/bootstrappolicy/{policy,namespace_policy}.go (v1.36). Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from schedlab.apiserver.policy.forms import Binding, Role, account, group, rule, user

_MANAGER: Final = user("system:kube-controller-manager")
_SCHEDULER: Final = user("system:kube-scheduler")
_EVERYBODY: Final = (group("system:authenticated"), group("system:unauthenticated"))
_LEADERS: Final = (
    rule("create get list update watch", "coordination.k8s.io", "leases"),
    rule("create get list update watch", "coordination.k8s.io", "leasecandidates"),
)
_WRITE_EVENTS: Final = rule("create patch update", "core events.k8s.io", "events")

CLUSTER_ROLE_BINDINGS: Final = (
    Binding("cluster-admin", (group("system:masters"),)),
    Binding("system:monitoring", (group("system:monitoring"),)),
    Binding("system:discovery", (group("system:authenticated"),)),
    Binding("system:basic-user", (group("system:authenticated"),)),
    Binding("system:public-info-viewer", _EVERYBODY),
    Binding("system:node-proxier", (user("system:kube-proxy"),)),
    Binding("system:kube-controller-manager", (_MANAGER,)),
    Binding("system:kube-dns", (account("kube-system", "kube-dns"),)),
    Binding("system:kube-scheduler", (_SCHEDULER,)),
    Binding("system:volume-scheduler", (_SCHEDULER,)),
    # Nodes are let in by name; the binding is kept empty.
    Binding("system:node", ()),
    Binding("system:service-account-issuer-discovery", (group("system:serviceaccounts"),)),
)

#: By namespace.
ROLES: Final[Mapping[str, Sequence[Role]]] = {
    "kube-public": (
        Role(
            "system:controller:bootstrap-signer",
            (
                rule("get list watch", "core", "configmaps"),
                rule("update", "core", "configmaps", names="cluster-info"),
                _WRITE_EVENTS,
            ),
        ),
    ),
    "kube-system": (
        Role(
            "extension-apiserver-authentication-reader",
            (rule("get list watch", "core", "configmaps", names="extension-apiserver-authentication"),),
        ),
        Role("system:controller:bootstrap-signer", (rule("get list watch", "core", "secrets"),)),
        Role("system:controller:cloud-provider", (rule("create get list watch", "core", "configmaps"),)),
        Role(
            "system:controller:token-cleaner",
            (rule("delete get list watch", "core", "secrets"), _WRITE_EVENTS),
        ),
        Role("system::leader-locking-kube-controller-manager", _LEADERS),
        Role("system::leader-locking-kube-scheduler", _LEADERS),
    ),
}


def _own(name: str, *subjects: Mapping[str, str]) -> Binding:
    return Binding(name, subjects, "Role")


#: By namespace.
ROLE_BINDINGS: Final[Mapping[str, Sequence[Binding]]] = {
    "kube-public": (_own("system:controller:bootstrap-signer", account("kube-system", "bootstrap-signer")),),
    "kube-system": (
        _own(
            "system::leader-locking-kube-controller-manager",
            _MANAGER,
            account("kube-system", "kube-controller-manager"),
            account("kube-system", "leader-election-controller"),
        ),
        _own("system::leader-locking-kube-scheduler", _SCHEDULER, account("kube-system", "kube-scheduler")),
        _own("system:controller:bootstrap-signer", account("kube-system", "bootstrap-signer")),
        _own("system:controller:cloud-provider", account("kube-system", "cloud-provider")),
        _own("system:controller:token-cleaner", account("kube-system", "token-cleaner")),
        Binding(
            "extension-apiserver-authentication-reader",
            (_MANAGER, _SCHEDULER),
            "Role",
            name="system::extension-apiserver-authentication-reader",
        ),
    ),
}
