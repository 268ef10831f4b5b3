"""How default roles are written down: short forms of the objects of rbac.authorization.k8s.io.

Mirrors: pkg/apis/rbac/v1/helpers.go (v1.36). Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

GROUP: Final = "rbac.authorization.k8s.io"
LABELS: Final = {"kubernetes.io/bootstrapping": "rbac-defaults"}
ANNOTATIONS: Final = {"rbac.authorization.kubernetes.io/autoupdate": "true"}
_AGGREGATE: Final = f"{GROUP}/aggregate-to-"
#: How the group without a name is written in a rule.
_CORE: Final = "core"

Rule: TypeAlias = Mapping[str, Any]
Subject: TypeAlias = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Role:
    """A role with its rules; `part_of` and `sum_of` name the role that it is added to, or that it adds up."""

    name: str
    rules: Sequence[Rule] = ()
    part_of: str = ""
    sum_of: str = ""

    def to_wire(self) -> dict[str, Any]:
        """Return the object, without kind and namespace."""
        labels = {**LABELS, **({f"{_AGGREGATE}{self.part_of}": "true"} if self.part_of else {})}
        found: dict[str, Any] = {"metadata": {"name": self.name, "labels": labels, "annotations": dict(ANNOTATIONS)}}
        if self.sum_of:
            selector = {"matchLabels": {f"{_AGGREGATE}{self.sum_of}": "true"}}
            found["aggregationRule"] = {"clusterRoleSelectors": [selector]}
        else:
            found["rules"] = [dict(one) for one in self.rules]
        return found


@dataclass(frozen=True, slots=True)
class Binding:
    """Who has a role; without a name of its own it is called like the role."""

    role: str
    subjects: Sequence[Subject]
    role_kind: str = "ClusterRole"
    name: str = ""

    def to_wire(self) -> dict[str, Any]:
        """Return the object, without kind and namespace."""
        metadata = {"name": self.name or self.role, "labels": dict(LABELS), "annotations": dict(ANNOTATIONS)}
        reference = {"apiGroup": GROUP, "kind": self.role_kind, "name": self.role}
        return {"metadata": metadata, "roleRef": reference, "subjects": [dict(subject) for subject in self.subjects]}


def rule(verbs: str, groups: str, resources: str, names: str = "") -> Rule:
    """Allow verbs on resources, all of them lists of words."""
    found = {
        "verbs": verbs.split(),
        "apiGroups": ["" if group == _CORE else group for group in groups.split()],
        "resources": resources.split(),
    }
    return {**found, "resourceNames": names.split()} if names else found


def path_rule(verbs: str, paths: str) -> Rule:
    """Allow verbs on paths outside the resources."""
    return {"verbs": verbs.split(), "nonResourceURLs": paths.split()}


def user(name: str) -> Subject:
    return {"apiGroup": GROUP, "kind": "User", "name": name}


def group(name: str) -> Subject:
    return {"apiGroup": GROUP, "kind": "Group", "name": name}


def account(namespace: str, name: str) -> Subject:
    return {"kind": "ServiceAccount", "name": name, "namespace": namespace}
