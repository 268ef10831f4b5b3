"""Request bodies: which kind they are, and how a wrong one is refused."""

import pytest

from schedlab.apimachinery import body, schema
from schedlab.apimachinery.errors import BadRequest
from schedlab.apimachinery.gvk import GroupVersion, GroupVersionKind

CONFIG_MAP = GroupVersionKind("", "v1", "ConfigMap")
EVENT = GroupVersionKind("events.k8s.io", "v1", "Event")


def decode(text: str, expected: GroupVersionKind = CONFIG_MAP) -> body.Body:
    return body.decode_body(text.encode(), expected, schema.schema_for(*expected))


@pytest.mark.parametrize("text", ['{"metadata":{"name":"a"}}', '{"apiVersion":"v1","metadata":{"name":"a"}}'])
def test_kind_and_api_version_are_taken_from_the_path_when_missing(text: str) -> None:
    assert decode(text).object == {"metadata": {"name": "a"}, "kind": "ConfigMap", "apiVersion": "v1"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '{"kind":"Secret","apiVersion":"v1"}',
            (
                'Secret in version "v1" cannot be handled as a ConfigMap: '
                "converting (v1.Secret) to (core.ConfigMap): unknown conversion"
            ),
        ),
        (
            '{"kind":"Nonsense","apiVersion":"v1"}',
            (
                'Nonsense in version "v1" cannot be handled as a ConfigMap: no kind "Nonsense" is registered for version '
                '"v1" in scheme "pkg/api/legacyscheme/scheme.go:30"'
            ),
        ),
        (
            '{"data":{"a":1}}',
            (
                'ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal number into Go struct '
                "field ConfigMap.data of type string"
            ),
        ),
        (
            "nonsense",
            (
                "the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse "
                "error: invalid character 'o' in literal null (expecting 'u') (6e6f6e73656e7365)"
            ),
        ),
        (
            "",
            (
                "the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse "
                "error: unexpected end of JSON input (<empty>)"
            ),
        ),
        (
            '{"kind":5,"some":"thing that is long"}',
            (
                "the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse "
                "error: json: cannot unmarshal number into Go struct field .kind of type string "
                '({"kind":5,"some":"thing that i ...)'
            ),
        ),
        (
            '{"apiVersion":"a/b/c"}',
            (
                "the object provided is unrecognized (must be of type ConfigMap): unexpected GroupVersion string: a/b/c "
                '({"apiVersion":"a/b/c"})'
            ),
        ),
    ],
)
def test_bodies_that_do_not_fit_are_refused_in_the_servers_words(text: str, message: str) -> None:
    with pytest.raises(BadRequest) as caught:
        decode(text)

    assert message == caught.value.message


def test_a_message_shows_the_literal_of_a_number() -> None:
    pod = GroupVersionKind("", "v1", "Pod")

    with pytest.raises(BadRequest, match=r"number 1\.50 into"):
        decode('{"spec":{"priority":1.50}}', pod)


def test_an_event_of_either_group_can_be_written_through_the_other() -> None:
    got = decode('{"kind":"Event","apiVersion":"v1","metadata":{"name":"e"}}', EVENT)

    assert got.gvk == GroupVersionKind("", "v1", "Event")


def test_another_version_than_that_of_the_path_is_refused() -> None:
    got = decode('{"kind":"Event","apiVersion":"v1"}', EVENT)

    with pytest.raises(BadRequest) as caught:
        body.check_version(got, EVENT.group_version)
    assert caught.value.message == (
        "the API version in the data (v1) does not match the expected API version (events.k8s.io/v1)"
    )


def test_the_version_of_the_path_is_accepted() -> None:
    body.check_version(decode("{}"), GroupVersion("", "v1"))


def test_strict_refuses_unknown_fields() -> None:
    with pytest.raises(BadRequest) as caught:
        body.check_strict(decode('{"bogus":1,"more":2}'), "Strict", "ConfigMap")

    assert caught.value.message == (
        'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: '
        'unknown field "bogus", unknown field "more"'
    )


def test_warn_returns_unknown_fields_and_ignore_does_not() -> None:
    got = decode('{"bogus":1}')

    assert body.check_strict(got, "Warn", "ConfigMap") == ('unknown field "bogus"',)
    assert body.check_strict(got, "Ignore", "ConfigMap") == ()


def test_errors_of_the_reader_come_before_those_of_the_decoder() -> None:
    value = {"bogus": 1}
    got = body.decode_value(value, b"bogus: 1", CONFIG_MAP, schema.schema_for(*CONFIG_MAP), ["yaml: twice"])

    assert got.strict_errors == ("yaml: twice", 'unknown field "bogus"')
