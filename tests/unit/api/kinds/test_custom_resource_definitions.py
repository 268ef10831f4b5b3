"""Definitions of custom resources: defaults, names, versions, schemas, rules, conversion."""

from typing import Any

import pytest

from schedlab.api.object import Object
from tests.support.kinds import changed, context, create_errors, stored, strategy, update_errors

CRD = "customresourcedefinitions.apiextensions.k8s.io"
INSIDE = "spec.validation.openAPIV3Schema"


def version(schema: Object | None = None, **fields: Any) -> Object:
    known = {"name": "v1", "served": True, "storage": True}
    return {**known, "schema": {"openAPIV3Schema": schema or {"type": "object"}}, **fields}


def definition(*versions: Object, **spec: Any) -> Object:
    known = {"group": "e.com", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"}}
    metadata = {"name": f"widgets.{spec.get('group', 'e.com')}"}
    return {"metadata": metadata, "spec": {**known, "versions": list(versions) or [version()], **spec}}


def with_field(schema: Object) -> Object:
    """Return a definition with a field of a schema."""
    return definition(version({"type": "object", "properties": {"a": schema}}))


def test_a_definition_has_defaults_and_notes_its_storage_version() -> None:
    made = stored(CRD, definition())
    assert made["spec"]["names"] == {
        "plural": "widgets",
        "kind": "Widget",
        "singular": "widget",
        "listKind": "WidgetList",
    }
    assert made["spec"]["conversion"] == {"strategy": "None"}
    assert made["status"]["storedVersions"] == ["v1"]
    assert made["metadata"]["generation"] == 1
    assert create_errors(CRD, definition()) == []


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (
            {**definition(), "metadata": {"name": "x.e.com"}},
            ['metadata.name: Invalid value: "x.e.com": must be spec.names.plural+"."+spec.group'],
        ),
        (
            definition(group="com"),
            ['spec.group: Invalid value: "com": should be a domain with at least one dot'],
        ),
        (definition(scope="Any"), ['spec.scope: Unsupported value: "Any": supported values: "Cluster", "Namespaced"']),
        (
            definition(names={"plural": "widgets", "kind": "Widget", "listKind": "Widget"}),
            ['spec.names.listKind: Invalid value: "Widget": kind and listKind may not be the same'],
        ),
        (
            definition(preserveUnknownFields=True),
            [
                (
                    "spec.preserveUnknownFields: Invalid value: true: cannot set to true, set "
                    "x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
                )
            ],
        ),
        (
            definition(group="x.k8s.io"),
            [
                (
                    "metadata.annotations[api-approved.kubernetes.io]: Required value: protected groups must have approval "
                    'annotation "api-approved.kubernetes.io", see https://github.com/kubernetes/enhancements/pull/1111'
                )
            ],
        ),
    ],
)
def test_definitions(obj: Object, expected: list[str]) -> None:
    assert create_errors(CRD, obj) == expected


@pytest.mark.parametrize(
    ("versions", "expected"),
    [
        (
            [version(schema=None), {"name": "v2", "served": True, "schema": {}}],
            ["spec.versions[1].schema.openAPIV3Schema"],
        ),
        ([version(deprecationWarning="w")], ["spec.versions[0].deprecationWarning"]),
        ([version(storage=False)], ["spec.versions", "status.storedVersions"]),
        ([version(), version(storage=False)], ["spec.versions"]),
        (
            [version(additionalPrinterColumns=[{"name": "A", "type": "x", "jsonPath": "spec"}])],
            [
                "spec.additionalPrinterColumns[0].type",
                "spec.additionalPrinterColumns[0].JSONPath",
            ],
        ),
        (
            [version(subresources={"scale": {"specReplicasPath": ".a.b"}})],
            [
                "spec.subresources.scale.specReplicasPath",
                "spec.subresources.scale.statusReplicasPath",
            ],
        ),
        ([version(selectableFields=[{"jsonPath": ".spec.a"}])], ["spec.selectableFields[0].jsonPath"]),
        (
            [version({"type": "array", "items": {"type": "string"}}, subresources={"status": {}})],
            [f"{INSIDE}.type", f"{INSIDE}.type"],
        ),
    ],
)
def test_errors_of_versions_stand_where_all_versions_are_equal_in_the_spec(
    versions: list[Object], expected: list[str]
) -> None:
    found = create_errors(CRD, definition(*versions))
    assert [text.split(": ")[0] for text in found] == expected


def test_all_versions_are_shown_where_there_is_no_storage_version() -> None:
    assert create_errors(CRD, definition(version(storage=False)))[:1] == [
        (
            'spec.versions: Invalid value: [{"Name":"v1","Served":true,"Storage":false,"Deprecated":false,'
            '"DeprecationWarning":null,"Schema":null,"Subresources":null,"AdditionalPrinterColumns":null,'
            '"SelectableFields":null}]: must have exactly one version marked as storage version'
        )
    ]


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "string", "enum": ["a"], "default": "a"}, []),
        ({}, [".type: Required value: must not be empty for specified object fields"]),
        (
            {"type": "text"},
            [
                (
                    '.type: Unsupported value: "text": supported values: "array", "boolean", "integer", "number", "object", '
                    '"string"'
                )
            ],
        ),
        ({"type": "array"}, [".items: Required value: must be specified"]),
        ({"type": "array", "items": {}}, [".items.type: Required value: must not be empty for specified array items"]),
        (
            {"type": "object", "properties": {"b": {"type": "string"}}, "additionalProperties": False},
            [".additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive"],
        ),
        (
            {"type": "object", "anyOf": [{"type": "object"}]},
            [".anyOf[0].type: Forbidden: must be empty to be structural"],
        ),
        ({"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]}, []),
        (
            {"type": "object", "x-kubernetes-embedded-resource": True},
            [
                (
                    ".properties: Required value: must not be empty if x-kubernetes-embedded-resource is true without "
                    "x-kubernetes-preserve-unknown-fields"
                )
            ],
        ),
        (
            {"type": "string", "x-kubernetes-list-type": "set"},
            ['.type: Invalid value: "string": must be array if x-kubernetes-list-type is specified'],
        ),
        (
            {"type": "array", "items": {"type": "object"}, "x-kubernetes-list-type": "set"},
            [
                (
                    ".items.x-kubernetes-map-type: Invalid value: null: must be atomic as item of a list with "
                    "x-kubernetes-list-type=set"
                )
            ],
        ),
        (
            {
                "type": "array",
                "items": {"type": "object", "properties": {"k": {"type": "string"}}},
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["k"],
            },
            [
                (
                    ".items.properties[k].default: Required value: this property is in x-kubernetes-list-map-keys, so it must "
                    "have a default or be a required property"
                )
            ],
        ),
        (
            {"type": "string", "uniqueItems": True},
            [
                ".uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
            ],
        ),
    ],
)
def test_schemas_of_fields(schema: Object, expected: list[str]) -> None:
    assert create_errors(CRD, with_field(schema)) == [f"{INSIDE}.properties[a]{text}" for text in expected]


def test_a_schema_that_is_not_structural_says_so_last() -> None:
    schema = {"type": "object", "properties": {"metadata": {"type": "object", "properties": {"x": {"type": "string"}}}}}
    assert create_errors(CRD, definition(version(schema))) == [
        (
            f"{INSIDE}.properties[metadata]: Forbidden: must not specify anything other than name and generateName, but "
            "metadata is implicitly specified"
        )
    ]
    conditions = {"type": "object", "anyOf": [{"properties": {"b": {"minimum": 1}}}]}
    assert create_errors(CRD, definition(version(conditions))) == [
        f"{INSIDE}.properties[b]: Required value: because it is defined in {INSIDE}.anyOf[0].properties[b]"
    ]


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ({"rule": "self.size() > 1"}, []),
        ({"rule": " "}, [".rule: Required value: rule is not specified"]),
        ({"rule": "self == oldSelf", "optionalOldSelf": True}, []),
        (
            {"rule": "true", "optionalOldSelf": True},
            [".optionalOldSelf: Invalid value: true: may not be set if oldSelf is not used in rule"],
        ),
        (
            {"rule": "true\n||false"},
            [".message: Required value: message must be specified if rule contains line breaks"],
        ),
        (
            {"rule": "'a'"},
            [
                (
                    '.rule: Invalid value: {"Rule":"\'a\'","Message":"","MessageExpression":"","Reason":null,"FieldPath":"",'
                    '"OptionalOldSelf":null}: cel expression must evaluate to a bool'
                )
            ],
        ),
        ({"rule": "true", "fieldPath": ".b"}, ['.fieldPath: Invalid value: ".b": must be a valid path']),
    ],
)
def test_rules(rule: Object, expected: list[str]) -> None:
    own = f"{INSIDE}.properties[a].x-kubernetes-validations[0]"
    found = create_errors(CRD, with_field({"type": "string", "x-kubernetes-validations": [rule]}))
    assert found == [f"{own}{text}" for text in expected]


def test_rules_that_do_not_compile_are_refused() -> None:
    (found,) = create_errors(CRD, with_field({"type": "string", "x-kubernetes-validations": [{"rule": "self +"}]}))
    assert "compilation failed: " in found


def test_old_values_of_items_of_lists_are_unknown() -> None:
    rules = [{"rule": "self == oldSelf"}]
    schema = {"type": "array", "items": {"type": "string", "x-kubernetes-validations": rules}}
    assert create_errors(CRD, with_field(schema)) == [
        (
            f'{INSIDE}.properties[a].items.x-kubernetes-validations[0].rule: Invalid value: "self == oldSelf": oldSelf '
            f"cannot be used on the uncorrelatable portion of the schema within {INSIDE}.properties[a]"
        )
    ]


@pytest.mark.parametrize(
    ("conversion", "expected"),
    [
        (
            {"strategy": "Webhook"},
            [
                "spec.conversion.webhookClientConfig: Required value: required when strategy is set to Webhook",
                "spec.conversion.conversionReviewVersions: Required value",
            ],
        ),
        (
            {
                "strategy": "Webhook",
                "webhook": {"clientConfig": {"url": "https://a"}, "conversionReviewVersions": ["v2"]},
            },
            [
                'spec.conversion.conversionReviewVersions: Invalid value: ["v2"]: must include at least one of v1, v1beta1',
            ],
        ),
        (
            {"strategy": "None", "webhook": {"conversionReviewVersions": ["v1"]}},
            [
                "spec.conversion.conversionReviewVersions: Forbidden: should not be set when strategy is not set to Webhook",
            ],
        ),
    ],
)
def test_conversions(conversion: Object, expected: list[str]) -> None:
    assert create_errors(CRD, definition(conversion=conversion)) == expected


def test_unknown_formats_are_warned_of() -> None:
    within = context()
    strategy(CRD).validate(stored(CRD, with_field({"type": "string", "format": "odd"}), within), within)
    assert within.warnings == ['unrecognized format "odd"']


def test_an_established_resource_keeps_kind_and_scope() -> None:
    old = stored(CRD, definition())
    assert update_errors(CRD, old, changed(old, "spec.scope", "Cluster")) == []
    established = changed(old, "status.conditions", [{"type": "Established", "status": "True"}])
    assert update_errors(CRD, established, changed(established, "spec.scope", "Cluster")) == [
        'spec.scope: Invalid value: "Cluster": field is immutable'
    ]


def test_versions_that_objects_are_stored_in_stay() -> None:
    old = stored(CRD, definition())
    new = changed(old, "spec.versions.0.name", "v2")
    (found,) = update_errors(CRD, old, new)
    assert found.startswith('status.storedVersions[0]: Invalid value: "v1": missing from spec.versions')
    strategy(CRD).update.prepare(new, old, context())
    assert (new["status"]["storedVersions"], new["metadata"]["generation"]) == (["v1", "v2"], 2)
