"""Priority levels and flow schemas: defaults, checks, and those that nobody may change."""

import copy
from typing import Any

import pytest

from schedlab.api.object import Object
from schedlab.api.rules import flow_control
from tests.support.kinds import changed, context, create_errors, stored, strategy, update_errors

LEVEL = "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io"
SCHEMA = "flowschemas.flowcontrol.apiserver.k8s.io"
RULE = {
    "subjects": [{"kind": "User", "user": {"name": "u"}}],
    "nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": ["/a"]}],
}


def level(**limited: Any) -> Object:
    known = {"limitResponse": {"type": "Queue", "queuing": {}}, **limited}
    return {"metadata": {"name": "x"}, "spec": {"type": "Limited", "limited": known}}


def schema(rule: Object, **spec: Any) -> Object:
    return {"metadata": {"name": "x"}, "spec": {"priorityLevelConfiguration": {"name": "l"}, "rules": [rule], **spec}}


def test_levels_have_all_their_defaults() -> None:
    limited = stored(LEVEL, level())["spec"]["limited"]
    assert (limited["nominalConcurrencyShares"], limited["lendablePercent"]) == (30, 0)
    assert limited["limitResponse"]["queuing"] == {"handSize": 8, "queues": 64, "queueLengthLimit": 50}


def test_schemas_have_a_precedence_by_default() -> None:
    assert stored(SCHEMA, schema(RULE))["spec"]["matchingPrecedence"] == 1000


def queue(**queuing: int) -> Object:
    return level(limitResponse={"type": "Queue", "queuing": queuing})


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (level(), []),
        (
            level(nominalConcurrencyShares=-1),
            ["spec.limited.nominalConcurrencyShares: Invalid value: -1: must be a non-negative integer"],
        ),
        (
            level(lendablePercent=101),
            ["spec.limited.lendablePercent: Invalid value: 101: must be between 0 and 100, inclusive"],
        ),
        (
            queue(queues=4),
            [
                "spec.limited.limitResponse.queuing.handSize: Invalid value: 8: should not be greater than queues (4)",
            ],
        ),
        (
            queue(queues=1024, handSize=7),
            [
                (
                    "spec.limited.limitResponse.queuing.handSize: Invalid value: 7: required entropy bits of deckSize 1024 "
                    "and handSize 7 should not be greater than 60"
                )
            ],
        ),
        (
            level(limitResponse={"type": "Reject", "queuing": {}}),
            [
                "spec.limited.limitResponse.queuing: Forbidden: must be nil if limited.limitResponse.type is not Limited",
            ],
        ),
        (
            {"metadata": {"name": "x"}, "spec": {"type": "Exempt"}},
            ["spec.type: Invalid value: \"Exempt\": must be 'Exempt' if and only if `name` is 'exempt'"],
        ),
    ],
)
def test_priority_levels(obj: Object, expected: list[str]) -> None:
    assert create_errors(LEVEL, obj) == expected


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (RULE, []),
        (
            {"subjects": RULE["subjects"]},
            ["spec.rules[0]: Required value: at least one of resourceRules and nonResourceRules has to be non-empty"],
        ),
        (
            {**RULE, "subjects": [{"kind": "User", "group": {"name": "g"}}]},
            [
                "spec.rules[0].subjects[0].user: Required value: user is required when subject kind is 'User'",
                "spec.rules[0].subjects[0].group: Forbidden: group is forbidden when subject kind is not 'Group'",
            ],
        ),
        (
            {**RULE, "nonResourceRules": [{"verbs": ["*", "get"], "nonResourceURLs": ["/a*"]}]},
            [
                (
                    'spec.rules[0].nonResourceRules[0].verbs: Invalid value: ["*","get"]: if \'*\' is present, must not '
                    "specify other verbs"
                ),
                (
                    'spec.rules[0].nonResourceRules[0].nonResourceURLs[0]: Invalid value: "/a*": wildcard can only do '
                    "suffix matching"
                ),
            ],
        ),
        (
            {**RULE, "resourceRules": [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}]},
            [
                (
                    "spec.rules[0].resourceRules[0].namespaces: Required value: resource rules that are not cluster scoped "
                    "must supply at least one namespace"
                )
            ],
        ),
    ],
)
def test_rules_of_flow_schemas(rule: Object, expected: list[str]) -> None:
    assert create_errors(SCHEMA, schema(rule)) == expected


def test_only_one_schema_may_come_first() -> None:
    assert create_errors(SCHEMA, schema(RULE, matchingPrecedence=1)) == [
        "spec.matchingPrecedence: Invalid value: 1: only the schema named 'exempt' may have matchingPrecedence 1"
    ]


@pytest.mark.parametrize(
    ("resource", "specs"),
    [
        (LEVEL, {**flow_control.MANDATORY_LEVELS, **flow_control.SUGGESTED_LEVELS}),
        (SCHEMA, {**flow_control.MANDATORY_SCHEMAS, **flow_control.SUGGESTED_SCHEMAS}),
    ],
)
def test_what_every_server_has_is_sound_and_complete(resource: str, specs: dict[str, Object]) -> None:
    for name, spec in specs.items():
        obj = {"metadata": {"name": name}, "spec": copy.deepcopy(spec)}
        assert create_errors(resource, obj) == []
        assert stored(resource, obj)["spec"] == spec


def test_mandatory_objects_cannot_change() -> None:
    old = stored(SCHEMA, {"metadata": {"name": "catch-all"}, "spec": flow_control.MANDATORY_SCHEMAS["catch-all"]})
    (error,) = update_errors(SCHEMA, old, changed(old, "spec.matchingPrecedence", 7))
    assert error.endswith("spec of 'catch-all' must equal the fixed value")
    exempt = stored(LEVEL, {"metadata": {"name": "exempt"}, "spec": flow_control.MANDATORY_LEVELS["exempt"]})
    assert update_errors(LEVEL, exempt, changed(exempt, "spec.exempt.lendablePercent", 50)) == []


def test_a_status_cannot_change_anything_else() -> None:
    old = stored(SCHEMA, schema(RULE))
    new = changed(changed(old, "metadata.labels", {"a": "b"}), "spec.matchingPrecedence", 5)
    new = changed(new, "status.conditions", [{"type": "Dangling"}, {"type": "Dangling"}])
    assert update_errors(SCHEMA, old, new, "status") == ['status.conditions[1].type: Duplicate value: "Dangling"']
    strategy(SCHEMA).subresources["status"].prepare(new, old, context())
    assert (new["metadata"], new["spec"]) == (old["metadata"], old["spec"])
