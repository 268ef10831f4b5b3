"""Kinds that set rules for others: limit ranges, quotas, runtime classes, roles and their bindings."""

from typing import Any

import pytest

from schedlab.api.object import Object
from tests.support.kinds import changed, context, create_errors, stored, strategy, update_errors

LIMITS = "limitranges"
QUOTA = "resourcequotas"
RUNTIME = "runtimeclasses.node.k8s.io"
ROLE = "roles.rbac.authorization.k8s.io"
CLUSTER_ROLE = "clusterroles.rbac.authorization.k8s.io"
BINDING = "rolebindings.rbac.authorization.k8s.io"
CLUSTER_BINDING = "clusterrolebindings.rbac.authorization.k8s.io"
ATTRIBUTES = "volumeattributesclasses.storage.k8s.io"
GROUP = "rbac.authorization.k8s.io"
GET_PODS = {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}
USER = {"kind": "User", "name": "u", "apiGroup": GROUP}


def within(**fields: Any) -> Object:
    return {"metadata": {"name": "x", "namespace": "n"}, **fields}


def limits(kind: str = "Container", **amounts: Any) -> Object:
    return within(spec={"limits": [{"type": kind, **amounts}]})


def quota(**spec: Any) -> Object:
    return within(spec=spec)


def scopes(*expressions: Object) -> Object:
    return quota(scopeSelector={"matchExpressions": list(expressions)})


def runtime(**fields: Any) -> Object:
    return {"metadata": {"name": "x"}, "handler": "h", **fields}


def binding(*subjects: Object, **reference: Any) -> Object:
    known = {"apiGroup": GROUP, "kind": "Role", "name": "r"}
    return within(roleRef={**known, **reference}, subjects=list(subjects))


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (limits(max={"cpu": "1"}), []),
        (
            limits(""),
            [
                'spec.limits[0].type: Invalid value: "": name part must be non-empty',
                (
                    'spec.limits[0].type: Invalid value: "": name part must consist of alphanumeric '
                    "characters, '-', '_' or '.', and must start and end with an alphanumeric character "
                    "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
                    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
                ),
            ],
        ),
        (
            limits("A b"),
            [
                (
                    'spec.limits[0].type: Invalid value: "A b": name part must consist of alphanumeric '
                    "characters, '-', '_' or '.', and must start and end with an alphanumeric character "
                    "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
                    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
                )
            ],
        ),
        (within(spec={"limits": [{"type": "Pod"}, {"type": "Pod"}]}), ['spec.limits[1].type: Duplicate value: "Pod"']),
        (
            limits("Pod", default={"cpu": "1"}, defaultRequest={"cpu": "1"}),
            [
                "spec.limits[0].default: Forbidden: may not be specified when `type` is 'Pod'",
                "spec.limits[0].defaultRequest: Forbidden: may not be specified when `type` is 'Pod'",
            ],
        ),
        (
            limits("PersistentVolumeClaim"),
            [
                (
                    "spec.limits[0].limits: Required value: either minimum or maximum storage value is "
                    "required, but neither was provided"
                )
            ],
        ),
        (limits("PersistentVolumeClaim", max={"storage": "1"}), []),
        (
            limits(min={"cpu": "2"}, max={"cpu": "1"}),
            [
                'spec.limits[0].min[cpu]: Invalid value: "2": min value 2 is greater than max value 1',
                (
                    'spec.limits[0].defaultRequest[cpu]: Invalid value: "1": min value 2 is greater than '
                    "default request value 1"
                ),
                'spec.limits[0].default[cpu]: Invalid value: "2": min value 2 is greater than default value 1',
            ],
        ),
        (
            limits(min={"cpu": "2"}, default={"cpu": "1"}, defaultRequest={"cpu": "1"}),
            [
                (
                    'spec.limits[0].defaultRequest[cpu]: Invalid value: "1": min value 2 is greater than '
                    "default request value 1"
                ),
                'spec.limits[0].default[cpu]: Invalid value: "2": min value 2 is greater than default value 1',
            ],
        ),
        (
            limits(max={"cpu": "1"}, default={"cpu": "2"}, defaultRequest={"cpu": "3"}),
            [
                (
                    'spec.limits[0].defaultRequest[cpu]: Invalid value: "3": default request value 3 is '
                    "greater than max value 1"
                ),
                (
                    'spec.limits[0].defaultRequest[cpu]: Invalid value: "3": default request value 3 is '
                    "greater than default limit value 2"
                ),
                'spec.limits[0].default[cpu]: Invalid value: "1": default value 2 is greater than max value 1',
            ],
        ),
        (
            limits(maxLimitRequestRatio={"cpu": "0"}),
            ['spec.limits[0].maxLimitRequestRatio[cpu]: Invalid value: "0": ratio 0 is less than 1'],
        ),
        (
            limits(min={"cpu": "1"}, max={"cpu": "2"}, maxLimitRequestRatio={"cpu": "3"}),
            [
                (
                    'spec.limits[0].maxLimitRequestRatio[cpu]: Invalid value: "3": ratio 3 is greater '
                    "than max/min = 2.000000"
                )
            ],
        ),
        (
            limits(max={"a b": "1"}),
            [
                (
                    'spec.limits[0].max[a b]: Invalid value: "a b": name part must consist of '
                    "alphanumeric characters, '-', '_' or '.', and must start and end with an "
                    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
                    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
                ),
                'spec.limits[0].max[a b]: Invalid value: "a b": must be a standard resource for containers',
                (
                    'spec.limits[0].default[a b]: Invalid value: "a b": name part must consist of '
                    "alphanumeric characters, '-', '_' or '.', and must start and end with an "
                    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
                    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
                ),
                'spec.limits[0].default[a b]: Invalid value: "a b": must be a standard resource for containers',
                (
                    'spec.limits[0].defaultRequest[a b]: Invalid value: "a b": name part must consist of '
                    "alphanumeric characters, '-', '_' or '.', and must start and end with an "
                    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
                    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
                ),
                'spec.limits[0].defaultRequest[a b]: Invalid value: "a b": must be a standard resource for containers',
            ],
        ),
        (
            limits(max={"example.com/a": "1"}, default={"example.com/a": "2"}),
            [
                (
                    'spec.limits[0].defaultRequest[example.com/a]: Invalid value: "2": default request '
                    "value 2 is greater than max value 1"
                ),
                (
                    'spec.limits[0].default[example.com/a]: Invalid value: "1": default value 2 is '
                    "greater than max value 1"
                ),
            ],
        ),
    ],
)
def test_limit_ranges(obj: Object, expected: list[str]) -> None:
    assert create_errors(LIMITS, obj) == expected


def test_the_defaults_of_a_limit_range_come_from_its_bounds() -> None:
    (item,) = stored(LIMITS, limits(max={"cpu": "2"}, min={"cpu": "1"}))["spec"]["limits"]
    assert (item["default"], item["defaultRequest"]) == ({"cpu": "2"}, {"cpu": "2"})


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (quota(), []),
        (quota(hard={"pods": "1", "requests.cpu": "1", "count/a.b": "1"}), []),
        (quota(hard={"pods": "-1"}), ['spec.hard[pods]: Invalid value: "-1": must be greater than or equal to 0']),
        (quota(hard={"pods": "1.5"}), ['spec.hard[pods]: Invalid value: "1500m": must be an integer']),
        (
            quota(hard={"odd": "1"}),
            [
                'spec.hard[odd]: Invalid value: "odd": must be a standard resource type or fully qualified',
                'spec.hard[odd]: Invalid value: "odd": must be a standard resource for quota',
            ],
        ),
        (
            quota(scopes=["BestEffort", "NotBestEffort"]),
            ['spec.scopes: Invalid value: ["BestEffort","NotBestEffort"]: conflicting scopes'],
        ),
        (quota(scopes=["x"]), ['spec.scopes: Invalid value: ["x"]: unsupported scope']),
        (
            quota(scopes=["BestEffort"], hard={"services": "1"}),
            ['spec.scopes: Invalid value: ["BestEffort"]: unsupported scope applied to resource'],
        ),
        (scopes({"scopeName": "PriorityClass", "operator": "In", "values": ["a"]}), []),
        (
            scopes({"scopeName": "PriorityClass", "operator": "In"}),
            [
                (
                    "spec.scopeSelector.matchExpressions.values: Required value: must be at least one "
                    "value when `operator` is 'In' or 'NotIn' for scope selector"
                )
            ],
        ),
        (
            scopes({"scopeName": "PriorityClass", "operator": "Exists", "values": ["a"]}),
            [
                (
                    'spec.scopeSelector.matchExpressions.values: Invalid value: ["a"]: must be no value '
                    "when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
                )
            ],
        ),
        (
            scopes({"scopeName": "Terminating", "operator": "In", "values": ["a"]}),
            [
                (
                    "spec.scopeSelector.matchExpressions.operator: Invalid value: \"In\": must be 'Exists' "
                    "when scope is any of ResourceQuotaScopeTerminating, "
                    "ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, "
                    "ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"
                )
            ],
        ),
        (
            scopes({"scopeName": "PriorityClass", "operator": "x"}),
            ['spec.scopeSelector.matchExpressions.operator: Invalid value: "x": not a valid selector operator'],
        ),
    ],
)
def test_quotas(obj: Object, expected: list[str]) -> None:
    assert create_errors(QUOTA, obj) == expected


@pytest.mark.parametrize(
    ("path", "value", "subresource", "expected"),
    [
        ("spec.hard", {"pods": "2"}, "", []),
        ("spec.scopes", ["BestEffort"], "", ['spec.scopes: Invalid value: ["BestEffort"]: field is immutable']),
        (
            "status",
            {"hard": {"pods": "-1"}, "used": {"pods": "1.5"}},
            "status",
            [
                'status.hard[pods]: Invalid value: "-1": must be greater than or equal to 0',
                'status.used[pods]: Invalid value: "1.5": must be an integer',
            ],
        ),
    ],
)
def test_updates_of_quotas(path: str, value: Any, subresource: str, expected: list[str]) -> None:
    old = stored(QUOTA, quota(hard={"pods": "1"}))
    assert update_errors(QUOTA, old, changed(old, path, value), subresource) == expected


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (runtime(), []),
        (runtime(handler=""), ["handler: Required value"]),
        (runtime(handler="a.b"), ['handler: Invalid value: "a.b": must not contain dots']),
        (
            runtime(overhead={"podFixed": {"cpu": "-1"}}),
            ['overhead.limits[cpu]: Invalid value: "-1": must be greater than or equal to 0'],
        ),
        (
            runtime(scheduling={"nodeSelector": {"a b": "c"}}),
            [
                (
                    'scheduling.nodeSelector: Invalid value: "a b": name part must consist of '
                    "alphanumeric characters, '-', '_' or '.', and must start and end with an "
                    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
                    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
                )
            ],
        ),
        (
            runtime(
                scheduling={"tolerations": [{"key": "k", "operator": "Exists"}, {"key": "k", "operator": "Exists"}]}
            ),
            [
                (
                    "scheduling.tolerations[1]: Duplicate value: "
                    '{"Key":"k","Operator":"Exists","Value":"","Effect":"","TolerationSeconds":null}'
                )
            ],
        ),
        (
            runtime(scheduling={"tolerations": [{"operator": "x"}]}),
            [
                (
                    'scheduling.tolerations[0].operator: Invalid value: "x": operator must be Exists '
                    'when `key` is empty, which means "match all values and all keys"'
                ),
                'scheduling.tolerations[0].operator: Unsupported value: "x": supported values: "Equal", "Exists"',
            ],
        ),
    ],
)
def test_runtime_classes(obj: Object, expected: list[str]) -> None:
    assert create_errors(RUNTIME, obj) == expected


@pytest.mark.parametrize(
    ("path", "value", "subresource", "expected"),
    [
        ("handler", "i", "", ['handler: Invalid value: "i": field is immutable']),
        ("scheduling", {"nodeSelector": {"a": "b"}}, "", []),
    ],
)
def test_the_handler_of_a_runtime_class_stays(path: str, value: Any, subresource: str, expected: list[str]) -> None:
    old = stored(RUNTIME, runtime())
    assert update_errors(RUNTIME, old, changed(old, path, value), subresource) == expected


def test_old_labels_in_a_runtime_class_are_warned_of() -> None:
    now = context()
    made = stored(RUNTIME, runtime(scheduling={"nodeSelector": {"beta.kubernetes.io/os": "x"}}))
    assert strategy(RUNTIME).validate(made, now) == []
    assert now.warnings == ['scheduling.nodeSelector: deprecated since v1.14; use "kubernetes.io/os" instead']


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (within(rules=[GET_PODS]), []),
        (
            within(rules=[{}]),
            [
                "rules[0].verbs: Required value: verbs must contain at least one value",
                "rules[0].apiGroups: Required value: resource rules must supply at least one api group",
                "rules[0].resources: Required value: resource rules must supply at least one resource",
            ],
        ),
        (
            within(rules=[{"verbs": ["get"]}]),
            [
                "rules[0].apiGroups: Required value: resource rules must supply at least one api group",
                "rules[0].resources: Required value: resource rules must supply at least one resource",
            ],
        ),
        (
            within(rules=[{"verbs": ["get"], "apiGroups": [""]}]),
            ["rules[0].resources: Required value: resource rules must supply at least one resource"],
        ),
        (
            within(rules=[{**GET_PODS, "nonResourceURLs": ["/a"]}]),
            [
                'rules[0].nonResourceURLs: Invalid value: ["/a"]: namespaced rules cannot apply to non-resource URLs',
                (
                    'rules[0].nonResourceURLs: Invalid value: ["/a"]: rules cannot apply to both regular '
                    "resources and non-resource URLs"
                ),
            ],
        ),
    ],
)
def test_roles(obj: Object, expected: list[str]) -> None:
    assert create_errors(ROLE, obj) == expected


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        ({"metadata": {"name": "system:x"}, "rules": [{"verbs": ["get"], "nonResourceURLs": ["/a"]}]}, []),
        ({"metadata": {"name": "x/y"}}, ["metadata.name: Invalid value: \"x/y\": may not contain '/'"]),
        (
            {"metadata": {"name": "x"}, "aggregationRule": {"clusterRoleSelectors": []}},
            [
                (
                    "aggregationRule.clusterRoleSelectors: Required value: at least one "
                    "clusterRoleSelector required if aggregationRule is non-nil"
                )
            ],
        ),
        (
            {"metadata": {"name": "x"}, "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"a b": "c"}}]}},
            [
                (
                    'aggregationRule.clusterRoleSelectors[0].matchLabels: Invalid value: "a b": name '
                    "part must consist of alphanumeric characters, '-', '_' or '.', and must start and "
                    "end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', "
                    "regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
                ),
                "aggregationRule.clusterRoleSelectors[0]: Invalid value: null: invalid label selector.",
            ],
        ),
        (
            {"metadata": {"name": "x"}, "rules": [{**GET_PODS, "nonResourceURLs": ["/a"]}]},
            [
                (
                    'rules[0].nonResourceURLs: Invalid value: ["/a"]: rules cannot apply to both regular '
                    "resources and non-resource URLs"
                )
            ],
        ),
    ],
)
def test_cluster_roles(obj: Object, expected: list[str]) -> None:
    assert create_errors(CLUSTER_ROLE, obj) == expected


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (binding(USER), []),
        (binding(kind="x"), ['roleRef.kind: Unsupported value: "x": supported values: "Role", "ClusterRole"']),
        (
            binding(apiGroup="x"),
            ['roleRef.apiGroup: Unsupported value: "x": supported values: "rbac.authorization.k8s.io"'],
        ),
        (binding(name=""), ["roleRef.name: Required value"]),
        (binding(kind="ClusterRole", name="a/b"), ["roleRef.name: Invalid value: \"a/b\": may not contain '/'"]),
        (binding({"kind": "ServiceAccount", "name": "s"}), []),
        (
            binding({"kind": "ServiceAccount", "name": "A", "namespace": "n", "apiGroup": "x"}),
            [
                (
                    'subjects[0].name: Invalid value: "A": a lowercase RFC 1123 subdomain must consist '
                    "of lower case alphanumeric characters, '-' or '.', and must start and end with an "
                    "alphanumeric character (e.g. 'example.com', regex used for validation is "
                    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
                ),
                'subjects[0].apiGroup: Unsupported value: "x": supported values: ""',
            ],
        ),
        (
            binding({"kind": "Group", "name": "", "apiGroup": "x"}),
            [
                "subjects[0].name: Required value",
                'subjects[0].apiGroup: Unsupported value: "x": supported values: "rbac.authorization.k8s.io"',
            ],
        ),
        (
            binding({"kind": "x"}),
            [
                "subjects[0].name: Required value",
                'subjects[0].kind: Unsupported value: "x": supported values: "ServiceAccount", "User", "Group"',
            ],
        ),
    ],
)
def test_role_bindings(obj: Object, expected: list[str]) -> None:
    assert create_errors(BINDING, obj) == expected


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (
            {"metadata": {"name": "x"}, "roleRef": {"apiGroup": GROUP, "kind": "Role", "name": "r"}},
            ['roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole"'],
        ),
        (
            {
                "metadata": {"name": "x"},
                "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": "r"},
                "subjects": [{"kind": "ServiceAccount", "name": "s"}],
            },
            ["subjects[0].namespace: Required value"],
        ),
    ],
)
def test_cluster_role_bindings(obj: Object, expected: list[str]) -> None:
    assert create_errors(CLUSTER_BINDING, obj) == expected


@pytest.mark.parametrize(
    ("path", "value", "subresource", "expected"),
    [
        (
            "roleRef.name",
            "s",
            "",
            [
                (
                    "roleRef: Invalid value: "
                    '{"APIGroup":"rbac.authorization.k8s.io","Kind":"Role","Name":"s"}: cannot change '
                    "roleRef"
                )
            ],
        ),
        ("subjects", [], "", []),
    ],
)
def test_the_role_of_a_binding_stays(path: str, value: Any, subresource: str, expected: list[str]) -> None:
    old = stored(BINDING, binding(USER))
    assert update_errors(BINDING, old, changed(old, path, value), subresource) == expected


def test_subjects_and_roles_of_bindings_have_groups_by_default() -> None:
    made = stored(BINDING, {**binding({"kind": "User", "name": "u"}), "roleRef": {"kind": "Role", "name": "r"}})
    assert (made["roleRef"]["apiGroup"], made["subjects"]) == (GROUP, [USER])
    account = {"kind": "ServiceAccount", "name": "s", "namespace": "n"}
    assert stored(BINDING, binding(account))["subjects"] == [account]


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        ({"metadata": {"name": "x"}, "driverName": "d", "parameters": {"a": "b"}}, []),
        (
            {"metadata": {"name": "x"}},
            ["driverName: Required value", "parameters: Required value: must contain at least one key/value pair"],
        ),
        (
            {"metadata": {"name": "x"}, "driverName": "d", "parameters": {"": "b"}},
            ['parameters: Invalid value: "": field can not be empty.'],
        ),
    ],
)
def test_volume_attributes_classes(obj: Object, expected: list[str]) -> None:
    assert create_errors(ATTRIBUTES, obj) == expected


@pytest.mark.parametrize(
    ("path", "value", "subresource", "expected"),
    [
        ("driverName", "e", "", ["driverName: Forbidden: updates to driverName are forbidden."]),
        ("parameters", {"a": "c"}, "", ["parameters: Forbidden: updates to parameters are forbidden."]),
    ],
)
def test_volume_attributes_classes_stay(path: str, value: Any, subresource: str, expected: list[str]) -> None:
    old = stored(ATTRIBUTES, {"metadata": {"name": "x"}, "driverName": "d", "parameters": {"a": "b"}})
    assert update_errors(ATTRIBUTES, old, changed(old, path, value), subresource) == expected
