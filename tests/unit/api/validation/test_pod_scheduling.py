"""What is wrong with what a pod asks of the scheduler."""

from typing import Any

import pytest

from tests.support.kinds import context, create_errors, pod

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
VALUE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end "
    "with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)


def check(spec: dict[str, Any], expected: list[str], **gates: bool) -> None:
    assert create_errors("pods", pod(**spec), context(**gates)) == [f"spec.{text}" for text in expected]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (
            {"key": "a", "operator": "In"},
            [".values: Required value: must be specified when `operator` is 'In' or 'NotIn'"],
        ),
        (
            {"key": "a", "operator": "Exists", "values": ["b"]},
            [".values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'"],
        ),
        (
            {"key": "a", "operator": "Gt", "values": ["1", "2"]},
            [".values: Required value: must be specified single value when `operator` is 'Lt' or 'Gt'"],
        ),
        ({"key": "a", "operator": "X"}, ['.operator: Invalid value: "X": not a valid selector operator']),
        ({"key": "a", "operator": "In", "values": ["b c"]}, [f'.values[0]: Invalid value: "b c": {VALUE}']),
    ],
)
def test_required_node_affinity(expression: dict[str, Any], expected: list[str]) -> None:
    affinity = {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}}
    path = f"affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms[0].matchExpressions[0]"
    check({"affinity": affinity}, [path + text for text in expected])


def test_required_node_affinity_has_terms() -> None:
    path = f"affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms"
    check(
        {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": []}}}},
        [f"{path}: Required value: must have at least one node selector term"],
    )


def test_preferred_node_affinity_may_name_impossible_values_but_has_a_weight() -> None:
    term = {"weight": 0, "preference": {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b c"]}]}}
    path = f"affinity.nodeAffinity.{PREFERRED}[0].weight"
    check(
        {"affinity": {"nodeAffinity": {PREFERRED: [term]}}}, [f"{path}: Invalid value: 0: must be in the range 1-100"]
    )


def test_fields_of_nodes_are_selected_by_name_only() -> None:
    fields = [
        {"key": "metadata.name", "operator": "In", "values": ["a", "b"]},
        {"key": "metadata.uid", "operator": "Gt", "values": ["1"]},
    ]
    path = f"affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms[0].matchFields"
    check(
        {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchFields": fields}]}}}},
        [
            (
                f"{path}[0].values: Required value: must be only one value when `operator` is 'In' or 'NotIn' for node field "
                "selector"
            ),
            f'{path}[1].operator: Invalid value: "Gt": not a valid selector operator',
            f'{path}[1].key: Invalid value: "metadata.uid": not a valid field selector key',
        ],
    )


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        (
            {"topologyKey": "k", "labelSelector": {"matchLabels": {"a": "b c"}}},
            [f'.labelSelector.matchLabels: Invalid value: "b c": {VALUE}'],
        ),
        ({"topologyKey": "k", "namespaces": ["a.b"]}, ['.namespace: Invalid value: "a.b": must not contain dots']),
        (
            {"topologyKey": "k", "matchLabelKeys": ["a"]},
            [".matchLabelKeys: Forbidden: must not be specified when labelSelector is not set"],
        ),
        (
            {"topologyKey": "k", "labelSelector": {}, "matchLabelKeys": ["a"], "mismatchLabelKeys": ["a"]},
            ['.matchLabelKeys[0]: Invalid value: "a": exists in both matchLabelKeys and mismatchLabelKeys'],
        ),
    ],
)
def test_pod_affinity(term: dict[str, Any], expected: list[str]) -> None:
    for kind in ("podAffinity", "podAntiAffinity"):
        check({"affinity": {kind: {REQUIRED: [term]}}}, [f"affinity.{kind}.{REQUIRED}[0]{text}" for text in expected])
        weighted = {"weight": 1, "podAffinityTerm": term}
        path = f"affinity.{kind}.{PREFERRED}[0].podAffinityTerm"
        check({"affinity": {kind: {PREFERRED: [weighted]}}}, [path + text for text in expected])


def test_a_label_key_that_the_selector_has_too() -> None:
    term = {"topologyKey": "k", "labelSelector": {"matchLabels": {"a": "x"}}, "matchLabelKeys": ["a"]}
    made = pod({"labels": {"a": "x"}}, affinity={"podAffinity": {REQUIRED: [term]}})
    text = f'spec.affinity.podAffinity.{REQUIRED}[0][0]: Invalid value: "a": exists in both matchLabelKeys and labelSelector'
    assert create_errors("pods", made) == [text]


@pytest.mark.parametrize(
    ("toleration", "expected"),
    [
        ({"operator": "Exists"}, []),
        (
            {"operator": "Equal"},
            [
                '.operator: Invalid value: "Equal": operator must be Exists when `key` is empty, which means "match all values and all keys"'
            ],
        ),
        (
            {"key": "a", "operator": "Exists", "value": "b"},
            [".operator: Invalid value: \"b\": value must be empty when `operator` is 'Exists'"],
        ),
        ({"key": "a", "value": "b c"}, [f'.operator: Invalid value: "b c": {VALUE}']),
        ({"key": "a", "operator": "X"}, ['.operator: Unsupported value: "X": supported values: "Equal", "Exists"']),
        (
            {"key": "a", "operator": "Gt", "value": "1"},
            ['.operator: Unsupported value: "Gt": supported values: "Equal", "Exists", "Lt", "Gt"'],
        ),
        (
            {"key": "a", "effect": "X"},
            ['.effect: Unsupported value: "X": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"'],
        ),
        (
            {"key": "a", "tolerationSeconds": 1},
            [".effect: Invalid value: \"\": effect must be 'NoExecute' when `tolerationSeconds` is set"],
        ),
    ],
)
def test_tolerations(toleration: dict[str, Any], expected: list[str]) -> None:
    check({"tolerations": [toleration]}, [f"tolerations[0]{text}" for text in expected])


@pytest.mark.parametrize(
    ("value", "problem"),
    [("5", ""), ("9223372036854775808", "value out of range"), ("99999999999999999999", "value out of range")],
)
def test_tolerations_that_compare_numbers(value: str, problem: str) -> None:
    toleration = {"key": "a", "operator": "Lt", "value": value}
    text = f'tolerations[0].value: Invalid value: "{value}": strconv.ParseInt: parsing "{value}": {problem}'
    check({"tolerations": [toleration]}, [text] if problem else [], TaintTolerationComparisonOperators=True)


CONSTRAINT = {"maxSkew": 1, "topologyKey": "k", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"maxSkew": 0}, [".maxSkew: Invalid value: 0: must be greater than zero"]),
        ({"topologyKey": ""}, [".topologyKey: Required value: can not be empty"]),
        (
            {"whenUnsatisfiable": "X"},
            ['.whenUnsatisfiable: Unsupported value: "X": supported values: "DoNotSchedule", "ScheduleAnyway"'],
        ),
        ({"minDomains": 0}, [".minDomains: Invalid value: 0: must be greater than zero"]),
        (
            {"minDomains": 1, "whenUnsatisfiable": "ScheduleAnyway"},
            [
                ".minDomains: Invalid value: 1: can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway"
            ],
        ),
        ({"nodeTaintsPolicy": "X"}, ['.nodeTaintsPolicy: Unsupported value: "X": supported values: "Honor", "Ignore"']),
        (
            {"labelSelector": None, "matchLabelKeys": ["a"]},
            [".matchLabelKeys: Forbidden: must not be specified when labelSelector is not set"],
        ),
    ],
)
def test_spread_constraints(fields: dict[str, Any], expected: list[str]) -> None:
    check(
        {"topologySpreadConstraints": [{**CONSTRAINT, **fields}]},
        [f"topologySpreadConstraints[0]{text}" for text in expected],
    )


def test_spread_constraints_are_not_repeated() -> None:
    text = 'topologySpreadConstraints[0].{topologyKey, whenUnsatisfiable}: Duplicate value: "{k, DoNotSchedule}"'
    check({"topologySpreadConstraints": [CONSTRAINT, CONSTRAINT]}, [text])


def test_label_keys_of_constraints_where_they_are_not_merged() -> None:
    constraint = {**CONSTRAINT, "labelSelector": {"matchLabels": {"a": "b"}}, "matchLabelKeys": ["a"]}
    text = 'topologySpreadConstraints[0].matchLabelKeys[0]: Invalid value: "a": exists in both matchLabelKeys and labelSelector'
    check({"topologySpreadConstraints": [constraint]}, [text], MatchLabelKeysInPodTopologySpreadSelectorMerge=False)


def test_scheduling_groups_name_one() -> None:
    path = "schedulingGroup.podGroupName"
    gates = {"GenericWorkload": True}
    check({"schedulingGroup": {}}, [f"{path}: Invalid value: null: must specify one of: `podGroupName`"], **gates)
    check({"schedulingGroup": {"podGroupName": "g"}}, [], **gates)
