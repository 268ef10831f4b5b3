"""Kinds of admissionregistration.k8s.io: webhook configurations, policies and their bindings."""

from typing import Any

import pytest

from schedlab.api.object import Object
from tests.support.kinds import changed, context, create_errors, stored, strategy, update_errors

VALIDATING = "validatingwebhookconfigurations.admissionregistration.k8s.io"
MUTATING = "mutatingwebhookconfigurations.admissionregistration.k8s.io"
POLICY = "validatingadmissionpolicies.admissionregistration.k8s.io"
BINDING = "validatingadmissionpolicybindings.admissionregistration.k8s.io"
MUTATING_POLICY = "mutatingadmissionpolicies.admissionregistration.k8s.io"
RULE = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}
URL = {"url": "https://e.com/a"}


def named(**fields: Any) -> Object:
    return {"metadata": {"name": "x"}, **fields}


def webhook(**fields: Any) -> Object:
    """Return a configuration with one webhook."""
    known = {
        "name": "a.e.com",
        "clientConfig": URL,
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "rules": [RULE],
    }
    return named(webhooks=[{**known, **fields}])


def rule(**fields: Any) -> Object:
    return webhook(rules=[{**RULE, **fields}])


def policy(**spec: Any) -> Object:
    known = {"matchConstraints": {"resourceRules": [RULE]}, "validations": [{"expression": "true"}]}
    return named(spec={**known, **spec})


def checking(**validation: Any) -> Object:
    return policy(validations=[{"expression": "true", **validation}])


def binding(**spec: Any) -> Object:
    return named(spec={"policyName": "p", "validationActions": ["Deny"], **spec})


def mutation(**spec: Any) -> Object:
    known = {
        "matchConstraints": {"resourceRules": [RULE]},
        "reinvocationPolicy": "Never",
        "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": "[]"}}],
    }
    return named(spec={**known, **spec})


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (webhook(), []),
        (
            webhook(name="a"),
            [
                (
                    'webhooks[0].name: Invalid value: "a": should be a domain with at least three '
                    "segments separated by dots"
                )
            ],
        ),
        (
            webhook(clientConfig={}),
            ["webhooks[0].clientConfig: Required value: exactly one of url or service is required"],
        ),
        (
            webhook(clientConfig={"url": "http://e.com"}),
            [
                (
                    "webhooks[0].clientConfig.url: Invalid value: \"http\": 'https' is the only allowed "
                    "URL scheme; desired format: https://host[/path]"
                )
            ],
        ),
        (
            webhook(clientConfig={"url": "https://u:p@e.com/a?b#c"}),
            [
                'webhooks[0].clientConfig.url: Invalid value: "u:p": user information is not permitted in the URL',
                'webhooks[0].clientConfig.url: Invalid value: "c": fragments are not permitted in the URL',
                'webhooks[0].clientConfig.url: Invalid value: "b": query parameters are not permitted in the URL',
            ],
        ),
        (webhook(clientConfig={"service": {"name": "s", "namespace": "n"}}), []),
        (
            webhook(clientConfig={"service": {"name": "", "namespace": "", "port": 0, "path": "a//b"}}),
            [
                "webhooks[0].clientConfig.service.name: Required value",
                "webhooks[0].clientConfig.service.namespace: Required value",
                (
                    "webhooks[0].clientConfig.service.port: Invalid value: 0: port is not valid: must be "
                    "between 1 and 65535, inclusive"
                ),
                "webhooks[0].clientConfig.service.path: Invalid value: \"a//b\": must start with a '/'",
                'webhooks[0].clientConfig.service.path: Invalid value: "a//b": segment[0] may not be empty',
                'webhooks[0].clientConfig.service.path: Invalid value: "a//b": segment[1] may not be empty',
            ],
        ),
        (
            webhook(sideEffects="Some"),
            ['webhooks[0].sideEffects: Unsupported value: "Some": supported values: "None", "NoneOnDryRun"'],
        ),
        (
            webhook(sideEffects=None),
            ["webhooks[0].sideEffects: Required value: must specify one of None, NoneOnDryRun"],
        ),
        (
            webhook(admissionReviewVersions=[]),
            ["webhooks[0].admissionReviewVersions: Required value: must specify one of v1, v1beta1"],
        ),
        (
            webhook(admissionReviewVersions=["v2"]),
            ['webhooks[0].admissionReviewVersions: Invalid value: ["v2"]: must include at least one of v1, v1beta1'],
        ),
        (
            webhook(admissionReviewVersions=["v1", "v1"]),
            ['webhooks[0].admissionReviewVersions[1]: Invalid value: "v1": duplicate version'],
        ),
        (
            webhook(timeoutSeconds=31),
            ["webhooks[0].timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and 30 seconds"],
        ),
        (
            webhook(failurePolicy="x"),
            ['webhooks[0].failurePolicy: Unsupported value: "x": supported values: "Fail", "Ignore"'],
        ),
        (
            webhook(matchPolicy="x"),
            ['webhooks[0].matchPolicy: Unsupported value: "x": supported values: "Equivalent", "Exact"'],
        ),
        (
            webhook(namespaceSelector={"matchLabels": {"a b": "c"}}),
            [
                (
                    'webhooks[0].namespaceSelector.matchLabels: Invalid value: "a b": name part must '
                    "consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
                    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
                    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
                )
            ],
        ),
        (webhook(matchConditions=[{"name": "c", "expression": "true"}]), []),
        (
            webhook(matchConditions=[{"name": "c", "expression": ""}, {"name": "c", "expression": "1"}]),
            [
                "webhooks[0].matchConditions[0].expression: Required value",
                'webhooks[0].matchConditions[1].expression: Invalid value: "1": must evaluate to bool but got int',
                'webhooks[0].matchConditions[1].name: Duplicate value: "c"',
            ],
        ),
        (
            named(webhooks=[*webhook()["webhooks"], *webhook()["webhooks"]]),
            ['webhooks[1].name: Duplicate value: "a.e.com"'],
        ),
    ],
)
def test_webhooks(obj: Object, expected: list[str]) -> None:
    assert create_errors(VALIDATING, obj) == expected


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (rule(operations=[]), ["webhooks[0].rules[0].operations: Required value"]),
        (
            rule(operations=["x"]),
            [
                (
                    'webhooks[0].rules[0].operations[0]: Unsupported value: "x": supported values: "*", '
                    '"CONNECT", "CREATE", "DELETE", "UPDATE"'
                )
            ],
        ),
        (
            rule(operations=["*", "CREATE"]),
            [
                (
                    'webhooks[0].rules[0].operations: Invalid value: ["*","CREATE"]: if \'*\' is present, '
                    "must not specify other operations"
                )
            ],
        ),
        (
            rule(apiGroups=["*", "a"]),
            [
                (
                    'webhooks[0].rules[0].apiGroups: Invalid value: ["*","a"]: if \'*\' is present, must '
                    "not specify other API groups"
                )
            ],
        ),
        (rule(apiVersions=[""]), ["webhooks[0].rules[0].apiVersions[0]: Required value"]),
        (
            rule(resources=["*", "pods"]),
            [
                (
                    'webhooks[0].rules[0].resources: Invalid value: ["*","pods"]: if \'*\' is present, '
                    "must not specify other resources without subresources"
                )
            ],
        ),
        (
            rule(resources=["pods/*", "pods/status"]),
            [
                (
                    "webhooks[0].rules[0].resources[1]: Invalid value: \"pods/status\": if 'pods/*' is "
                    "present, must not specify pods/status"
                )
            ],
        ),
        (rule(resources=[""]), ["webhooks[0].rules[0].resources[0]: Required value"]),
        (
            rule(scope="x"),
            ['webhooks[0].rules[0].scope: Unsupported value: "x": supported values: "*", "Cluster", "Namespaced"'],
        ),
    ],
)
def test_rules_of_webhooks(obj: Object, expected: list[str]) -> None:
    assert create_errors(VALIDATING, obj) == expected


def test_webhooks_have_defaults() -> None:
    (hook,) = stored(MUTATING, webhook())["webhooks"]
    assert (hook["failurePolicy"], hook["matchPolicy"], hook["timeoutSeconds"]) == ("Fail", "Equivalent", 10)
    assert (hook["namespaceSelector"], hook["objectSelector"], hook["reinvocationPolicy"]) == ({}, {}, "Never")
    assert hook["rules"][0]["scope"] == "*"
    assert "reinvocationPolicy" not in stored(VALIDATING, webhook())["webhooks"][0]


def test_only_mutating_webhooks_are_called_again() -> None:
    assert create_errors(MUTATING, webhook(reinvocationPolicy="x")) == [
        'webhooks[0].reinvocationPolicy: Unsupported value: "x": supported values: "IfNeeded", "Never"'
    ]


def test_a_generation_counts_changes_of_webhooks() -> None:
    old = stored(VALIDATING, webhook())
    new = changed(old, "webhooks.0.timeoutSeconds", 3)
    strategy(VALIDATING).update.prepare(new, old, context())
    assert new["metadata"]["generation"] == 2


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (policy(), []),
        (
            policy(validations=[]),
            [
                "spec.validations: Required value: validations or auditAnnotations must contain at least one item",
                (
                    "spec.auditAnnotations: Required value: validations or auditAnnotations must contain "
                    "at least one item"
                ),
            ],
        ),
        (policy(validations=[], auditAnnotations=[{"key": "k", "valueExpression": "'v'"}]), []),
        (policy(matchConstraints=None), ["spec.matchConstraints: Required value"]),
        (policy(matchConstraints={"resourceRules": []}), ["spec.matchConstraints.resourceRules: Required value"]),
        (policy(failurePolicy="x"), ['spec.failurePolicy: Unsupported value: "x": supported values: "Fail", "Ignore"']),
        (policy(paramKind={"kind": "A", "apiVersion": "a/v1"}), []),
        (
            policy(paramKind={"kind": "", "apiVersion": "a/b/c"}),
            [
                'spec.paramKind.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c',
                "spec.paramKind.kind: Required value",
            ],
        ),
        (
            policy(auditAnnotations=[{"key": "k", "valueExpression": "1"}]),
            [
                (
                    'spec.auditAnnotations[0].valueExpression: Invalid value: "1": must evaluate to one '
                    "of [string null_type] but got int"
                )
            ],
        ),
        (
            policy(auditAnnotations=[{"key": "k", "valueExpression": "'v'"}] * 2),
            ['spec.auditAnnotations[1].key: Duplicate value: "k"'],
        ),
        (policy(variables=[{"name": "v", "expression": "1"}], validations=[{"expression": "variables.v == 1"}]), []),
        (
            policy(variables=[{"name": "a b", "expression": "1"}]),
            ['spec.variables[0].name: Invalid value: "a b": must be a valid CEL identifier'],
        ),
        (
            policy(variables=[{"name": "v", "expression": ""}]),
            ["spec.variables[0].expression: Required value: expression is not specified"],
        ),
        (
            policy(matchConditions=[{"name": "c", "expression": "1"}]),
            ['spec.matchConditions[0].expression: Invalid value: "1": must evaluate to bool but got int'],
        ),
    ],
)
def test_policies(obj: Object, expected: list[str]) -> None:
    assert create_errors(POLICY, obj) == expected


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (checking(expression=""), ["spec.validations[0].expression: Required value: expression is not specified"]),
        (
            checking(expression="object.a +"),
            [
                (
                    'spec.validations[0].expression: Invalid value: "object.a +": compilation failed: '
                    "ERROR: <input>:1:11: Syntax error: mismatched input '<EOF>' expecting {'[', '{', "
                    "'(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, "
                    "BYTES, IDENTIFIER}\n | object.a +\n | ..........^"
                )
            ],
        ),
        (
            checking(expression="1"),
            ['spec.validations[0].expression: Invalid value: "1": must evaluate to bool but got int'],
        ),
        (checking(message=" "), ['spec.validations[0].message: Invalid value: " ": must be non-empty if specified']),
        (
            checking(message="a\nb"),
            ['spec.validations[0].message: Invalid value: "a\\nb": must not contain line breaks'],
        ),
        (checking(expression="true ||\nfalse"), []),
        (
            checking(reason="x"),
            [
                (
                    'spec.validations[0].reason: Unsupported value: "x": supported values: "Forbidden", '
                    '"Invalid", "RequestEntityTooLarge"'
                )
            ],
        ),
        (
            checking(messageExpression="1"),
            ['spec.validations[0].messageExpression: Invalid value: "1": must evaluate to string but got int'],
        ),
        (
            checking(messageExpression=" "),
            ['spec.validations[0].messageExpression: Invalid value: " ": must be non-empty if specified'],
        ),
        (
            checking(expression="params.a == 1"),
            [
                (
                    'spec.validations[0].expression: Invalid value: "params.a == 1": compilation failed: '
                    "ERROR: <input>:1:1: undeclared reference to 'params' (in container '')\n | params.a "
                    "== 1\n | ^"
                )
            ],
        ),
    ],
)
def test_validations_of_policies(obj: Object, expected: list[str]) -> None:
    assert create_errors(POLICY, obj) == expected


def test_policies_have_defaults() -> None:
    spec = stored(POLICY, policy())["spec"]
    constraints = spec["matchConstraints"]
    assert spec["failurePolicy"] == "Fail"
    assert (constraints["matchPolicy"], constraints["namespaceSelector"], constraints["objectSelector"]) == (
        "Equivalent",
        {},
        {},
    )
    assert constraints["resourceRules"][0]["scope"] == "*"


@pytest.mark.parametrize(
    ("path", "value", "subresource", "expected"),
    [
        ("status", {"observedGeneration": 1}, "status", []),
        (
            "status",
            {"conditions": [{"type": "a b"}]},
            "status",
            [
                (
                    'status.conditions[0].type: Invalid value: "a b": name part must consist of '
                    "alphanumeric characters, '-', '_' or '.', and must start and end with an "
                    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
                    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
                ),
                'status.conditions[0].status: Unsupported value: "": supported values: "False", "True", "Unknown"',
                "status.conditions[0].lastTransitionTime: Required value",
                "status.conditions[0].reason: Required value",
            ],
        ),
    ],
)
def test_statuses_of_policies(path: str, value: Any, subresource: str, expected: list[str]) -> None:
    old = stored(POLICY, policy())
    assert update_errors(POLICY, old, changed(old, path, value), subresource) == expected


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (binding(), []),
        (binding(policyName=""), ["spec.policyName: Required value"]),
        (
            binding(policyName="A"),
            [
                (
                    'spec.policyName: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of '
                    "lower case alphanumeric characters, '-' or '.', and must start and end with an "
                    "alphanumeric character (e.g. 'example.com', regex used for validation is "
                    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
                )
            ],
        ),
        (
            binding(validationActions=[]),
            ["spec.validationActions: Required value: at least one validation action is required"],
        ),
        (
            binding(validationActions=["Deny", "Warn"]),
            [
                (
                    'spec.validationActions: Invalid value: ["Deny","Warn"]: must not contain both Deny '
                    "and Warn (repeating the same validation failure information in the API response and "
                    "headers serves no purpose)"
                )
            ],
        ),
        (
            binding(validationActions=["x"]),
            ['spec.validationActions[0]: Unsupported value: "x": supported values: "Audit", "Deny", "Warn"'],
        ),
        (binding(validationActions=["Warn", "Warn"]), ['spec.validationActions[1]: Duplicate value: "Warn"']),
        (binding(paramRef={"name": "p", "parameterNotFoundAction": "Allow"}), []),
        (
            binding(paramRef={"parameterNotFoundAction": "Allow"}),
            ["spec.paramRef: Required value: one of name or selector must be specified"],
        ),
        (
            binding(paramRef={"name": "p", "selector": {}, "parameterNotFoundAction": "x"}),
            [
                "spec.paramRef.name: Forbidden: name and selector are mutually exclusive",
                "spec.paramRef.selector: Forbidden: name and selector are mutually exclusive",
                'spec.paramRef.parameterNotFoundAction: Unsupported value: "x": supported values: "Deny", "Allow"',
            ],
        ),
        (
            binding(matchResources={"resourceRules": [{**RULE, "operations": []}]}),
            ["spec.matchResources.resourceRules[0].operations: Required value"],
        ),
    ],
)
def test_bindings(obj: Object, expected: list[str]) -> None:
    assert create_errors(BINDING, obj) == expected


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (mutation(), []),
        (mutation(mutations=[]), ["spec.mutations: Required value: mutations must contain at least one item"]),
        (
            mutation(mutations=[{"patchType": "x"}]),
            [
                (
                    'spec.mutations[0].patchType: Unsupported value: "x": supported values: '
                    '"ApplyConfiguration", "JSONPatch"'
                )
            ],
        ),
        (
            mutation(mutations=[{"patchType": "JSONPatch"}]),
            ["spec.mutations[0].jsonPatch: Required value: must be specified when patchType is JSONPatch"],
        ),
        (
            mutation(mutations=[{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": ""}}]),
            ["spec.mutations[0].applyConfiguration.expression: Required value"],
        ),
        (
            mutation(reinvocationPolicy="x"),
            ['spec.reinvocationPolicy: Unsupported value: "x": supported values: "IfNeeded", "Never"'],
        ),
    ],
)
def test_mutating_policies(obj: Object, expected: list[str]) -> None:
    assert create_errors(MUTATING_POLICY, obj) == expected
