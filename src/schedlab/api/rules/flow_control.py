"""The priority levels and flow schemas that every API server has: mandatory ones and suggested ones.

Mirrors: staging/src/k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap/default.go (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

Spec: TypeAlias = dict[str, Any]

_EVERYBODY: Final = ("system:unauthenticated", "system:authenticated")
_BY_USER: Final = "ByUser"
_BY_NAMESPACE: Final = "ByNamespace"


def _level(shares: int, lendable: int, queues: int = 0, hand_size: int = 0) -> Spec:
    """Return a limited level; without queues it rejects what is too much."""
    response: Spec = {"type": "Reject"}
    if queues:
        response = {"type": "Queue", "queuing": {"queues": queues, "handSize": hand_size, "queueLengthLimit": 50}}
    limited = {"nominalConcurrencyShares": shares, "lendablePercent": lendable, "limitResponse": response}
    return {"type": "Limited", "limited": limited}


def _groups(*names: str) -> list[Spec]:
    return [{"kind": "Group", "group": {"name": name}} for name in names]


def _users(*names: str) -> list[Spec]:
    return [{"kind": "User", "user": {"name": name}} for name in names]


def _system_service_accounts() -> list[Spec]:
    return [{"kind": "ServiceAccount", "serviceAccount": {"name": "*", "namespace": "kube-system"}}]


def _resources(verbs: Sequence[str], group: str, resources: Sequence[str], *, cluster_scope: bool) -> Spec:
    rule: Spec = {"verbs": list(verbs), "apiGroups": [group], "resources": list(resources), "namespaces": ["*"]}
    return {**rule, "clusterScope": True} if cluster_scope else rule


def _everything() -> Spec:
    return {
        "resourceRules": [_resources(("*",), "*", ("*",), cluster_scope=True)],
        "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
    }


def _schema(level: str, precedence: int, method: str, subjects: list[Spec], rule: Spec) -> Spec:
    spec: Spec = {"priorityLevelConfiguration": {"name": level}, "matchingPrecedence": precedence}
    if method:
        spec["distinguisherMethod"] = {"type": method}
    return {**spec, "rules": [{"subjects": subjects, **rule}]}


def _probes() -> Spec:
    return {"nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": ["/healthz", "/readyz", "/livez"]}]}


def _leases(*verbs: str) -> Spec:
    return _resources(verbs, "coordination.k8s.io", ("leases",), cluster_scope=False)


def _leader_election() -> list[Spec]:
    return _users("system:kube-controller-manager", "system:kube-scheduler") + _system_service_accounts()


def _node_heartbeats() -> Spec:
    return {"resourceRules": [_resources(("*",), "", ("nodes", "nodes/status"), cluster_scope=True), _leases("*")]}


#: Specs that the objects of these names cannot differ from, in the order in which a server makes them sure.
MANDATORY_LEVELS: Final[Mapping[str, Spec]] = {
    "catch-all": _level(5, 0),
    "exempt": {"type": "Exempt", "exempt": {"nominalConcurrencyShares": 0, "lendablePercent": 0}},
}
MANDATORY_SCHEMAS: Final[Mapping[str, Spec]] = {
    "exempt": _schema("exempt", 1, "", _groups("system:masters"), _everything()),
    "catch-all": _schema("catch-all", 10000, _BY_USER, _groups(*_EVERYBODY), _everything()),
}
#: Specs that a server begins with and that may be changed.
SUGGESTED_LEVELS: Final[Mapping[str, Spec]] = {
    "system": _level(30, 33, 64, 6),
    "node-high": _level(40, 25, 64, 6),
    "leader-election": _level(10, 0, 16, 4),
    "workload-high": _level(40, 50, 128, 6),
    "workload-low": _level(100, 90, 128, 6),
    "global-default": _level(20, 50, 128, 6),
}
SUGGESTED_SCHEMAS: Final[Mapping[str, Spec]] = {
    "system-nodes": _schema("system", 500, _BY_USER, _groups("system:nodes"), _everything()),
    "system-node-high": _schema("node-high", 400, _BY_USER, _groups("system:nodes"), _node_heartbeats()),
    "probes": _schema("exempt", 2, "", _groups(*_EVERYBODY), _probes()),
    "system-leader-election": _schema(
        "leader-election", 100, _BY_USER, _leader_election(), {"resourceRules": [_leases("get", "create", "update")]}
    ),
    "kube-controller-manager": _schema(
        "workload-high", 800, _BY_NAMESPACE, _users("system:kube-controller-manager"), _everything()
    ),
    "kube-scheduler": _schema("workload-high", 800, _BY_NAMESPACE, _users("system:kube-scheduler"), _everything()),
    "kube-system-service-accounts": _schema(
        "workload-high", 900, _BY_NAMESPACE, _system_service_accounts(), _everything()
    ),
    "service-accounts": _schema("workload-low", 9000, _BY_USER, _groups("system:serviceaccounts"), _everything()),
    "global-default": _schema("global-default", 9900, _BY_USER, _groups(*_EVERYBODY), _everything()),
}
