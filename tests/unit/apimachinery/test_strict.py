"""Decoding: canonical form, strict errors, wrong types."""

from collections.abc import Callable
from typing import Any, Final

import pytest

from schedlab.apimachinery import json_reader, scalars, schema, strict
from schedlab.apimachinery.patch import merge_patch
from schedlab.apimachinery.strict import DecodeError


def decode(kind: str, value: Any, group: str = "", version: str = "v1") -> strict.Decoded:
    return strict.decode(value, schema.schema_for(group, version, kind))


def decode_text(kind: str, text: str) -> strict.Decoded:
    return strict.decode_text(text.encode(), schema.schema_for("", "v1", kind))


def pod(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "x"}, "spec": spec}


# --- canonical form -------------------------------------------------------------------------------------------------


def test_what_go_always_writes_is_filled_in_and_empty_optional_values_are_left_out() -> None:
    got = decode(
        "Pod", {"metadata": {"name": "x", "labels": {}, "namespace": ""}, "spec": {"containers": [{"name": "c"}]}}
    )

    assert got.value == {
        "metadata": {"name": "x"},
        "spec": {"containers": [{"name": "c", "resources": {}}]},
        "status": {},
    }


@pytest.mark.parametrize(
    ("spec", "want"),
    [
        ({"priority": 0}, {"priority": 0}),
        ({"enableServiceLinks": False}, {"enableServiceLinks": False}),
        ({"hostNetwork": False}, {}),
        ({"hostNetwork": None}, {}),
        ({"securityContext": {}}, {"securityContext": {}}),
        ({"securityContext": None}, {}),
        ({"tolerations": []}, {}),
        ({"nodeSelector": {"a": None}}, {"nodeSelector": {"a": ""}}),
        ({"overhead": {"cpu": "1000m"}}, {"overhead": {"cpu": "1"}}),
        ({"overhead": {"cpu": 0.5}}, {"overhead": {"cpu": "500m"}}),
    ],
    ids=str,
)
def test_pointers_keep_zero_values_and_others_lose_them(spec: dict[str, Any], want: dict[str, Any]) -> None:
    got = decode("Pod", pod(containers=[], **spec)).value["spec"]
    got.pop("containers")

    assert want == got


def test_times_are_written_in_utc_with_whole_seconds() -> None:
    got = decode("Pod", {"metadata": {"creationTimestamp": "2026-01-02T03:04:05.6+01:00"}})

    assert got.value["metadata"] == {"creationTimestamp": "2026-01-02T02:04:05Z"}


def test_times_that_are_no_pointers_are_written_as_null() -> None:
    got = decode("Node", {"status": {"conditions": [{"type": "Ready", "status": "True"}]}})

    assert got.value["status"]["conditions"] == [
        {"type": "Ready", "status": "True", "lastHeartbeatTime": None, "lastTransitionTime": None}
    ]


def test_binary_data_loses_its_line_breaks() -> None:
    assert decode("Secret", {"data": {"a": "YWJj\nZGVm\n"}}).value["data"] == {"a": "YWJjZGVm"}


def test_decoding_again_changes_nothing() -> None:
    once = decode("Pod", pod(containers=[{"name": "c", "ports": [{"containerPort": 80}]}], priority=3)).value

    assert once == decode("Pod", once).value


def test_storing_makes_empty_lists_that_are_always_written_null() -> None:
    role = schema.schema_for("rbac.authorization.k8s.io", "v1", "ClusterRole")

    assert strict.as_stored(strict.decode({"rules": []}, role).value, role)["rules"] is None


# --- strict errors --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "text", "errors"),
    [
        ("ConfigMap", '{"bogus":1}', ['unknown field "bogus"']),
        ("ConfigMap", '{"Data":{}}', ['unknown field "Data"']),
        ("ConfigMap", '{"metadata":{"x":1},"y":1}', ['unknown field "metadata.x"', 'unknown field "y"']),
        (
            "Pod",
            '{"spec":{"containers":[{"name":"a"},{"ports":[{"prot":"x"}],"imagee":1}]}}',
            ['unknown field "spec.containers[1].ports[0].prot"', 'unknown field "spec.containers[1].imagee"'],
        ),
        ("ConfigMap", '{"data":{"a":"1","a":"2"}}', ['duplicate field "data.a"']),
        ("ConfigMap", '{"data":{"a":"1"},"data":{"b":"1"}}', ['duplicate field "data"']),
        ("ConfigMap", '{"bogus":1,"bogus":2}', ['unknown field "bogus"']),
        ("Pod", '{"spec":{"nodeSelector":{"a":"1","a":"2"}}}', ['duplicate field "spec.nodeSelector.a"']),
        ("ControllerRevision", '{"data":{"a":1,"a":2},"revision":1}', []),
    ],
)
def test_unknown_and_repeated_fields_are_collected(kind: str, text: str, errors: list[str]) -> None:
    group = "apps" if kind == "ControllerRevision" else ""
    got = strict.decode_text(text.encode(), schema.schema_for(group, "v1", kind))

    assert errors == got.strict_errors


def test_unknown_fields_are_dropped() -> None:
    assert decode("ConfigMap", {"bogus": 1, "data": {"a": "1"}}).value == {"metadata": {}, "data": {"a": "1"}}


def test_repeated_objects_are_merged_and_repeated_scalars_replaced() -> None:
    got = decode_text("ConfigMap", '{"data":{"a":"1","a":"2"},"data":{"b":"3"}}')

    assert got.value["data"] == {"a": "2", "b": "3"}


def test_no_more_than_a_hundred_strict_errors_are_collected() -> None:
    got = decode("ConfigMap", {f"f{number}": 1 for number in range(150)})

    assert len(got.strict_errors) == 100


def test_strict_errors_are_joined_into_one_message() -> None:
    assert strict.strict_error(['unknown field "a"', 'unknown field "b"']) == (
        'strict decoding error: unknown field "a", unknown field "b"'
    )


def test_repeated_fields_of_a_value_without_type_are_found() -> None:
    value = json_reader.read(b'{"a":[{"b":1,"b":2}]}')

    assert strict.repeated_fields(value) == ['duplicate field "a[0].b"']


# --- wrong types ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "json: cannot unmarshal array into Go value of type v1.Pod"),
        ('{"spec":"x"}', "json: cannot unmarshal string into Go struct field Pod.spec of type v1.PodSpec"),
        (
            '{"spec":{"containers":{}}}',
            "json: cannot unmarshal object into Go struct field PodSpec.spec.containers of type []v1.Container",
        ),
        (
            '{"spec":{"containers":[{"name":1}]}}',
            "json: cannot unmarshal number into Go struct field Container.spec.containers.name of type string",
        ),
        (
            '{"spec":{"ephemeralContainers":[{"image":true}]}}',
            (
                "json: cannot unmarshal bool into Go struct field "
                "EphemeralContainer.spec.ephemeralContainers.EphemeralContainerCommon.image of type string"
            ),
        ),
        (
            '{"spec":{"restartPolicy":1}}',
            "json: cannot unmarshal number into Go struct field PodSpec.spec.restartPolicy of type v1.RestartPolicy",
        ),
        (
            '{"spec":{"priority":1.5}}',
            "json: cannot unmarshal number 1.5 into Go struct field PodSpec.spec.priority of type int32",
        ),
        (
            '{"spec":{"priority":1e3}}',
            "json: cannot unmarshal number 1e3 into Go struct field PodSpec.spec.priority of type int32",
        ),
        (
            '{"spec":{"priority":3000000000}}',
            "json: cannot unmarshal number 3000000000 into Go struct field PodSpec.spec.priority of type int32",
        ),
        (
            '{"spec":{"nodeSelector":{"a":1}}}',
            "json: cannot unmarshal number into Go struct field PodSpec.spec.nodeSelector of type string",
        ),
        (
            '{"spec":{"overhead":{"cpu":"1x"}}}',
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        ),
        (
            '{"metadata":{"creationTimestamp":"yesterday"}}',
            'parsing time "yesterday" as "2006-01-02T15:04:05Z07:00": cannot parse "yesterday" as "2006"',
        ),
        (
            '{"metadata":{"creationTimestamp":1}}',
            "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.creationTimestamp of type string",
        ),
        (
            '{"spec":{"containers":[{"livenessProbe":{"httpGet":{"port":1.5}}}]}}',
            (
                "json: cannot unmarshal number 1.5 into Go struct field "
                "HTTPGetAction.spec.containers.livenessProbe.ProbeHandler.httpGet.port of type int32"
            ),
        ),
    ],
)
def test_wrong_types_are_reported_in_gos_words(text: str, message: str) -> None:
    with pytest.raises(DecodeError) as caught:
        decode_text("Pod", text)

    assert message == str(caught.value)


def test_the_first_wrong_type_is_reported_unless_a_type_with_its_own_decoder_fails() -> None:
    with pytest.raises(DecodeError, match=r"Go struct field PodSpec\.spec\.nodeName"):
        decode_text("Pod", '{"spec":{"nodeName":1,"hostname":2}}')
    with pytest.raises(DecodeError, match="quantities must match"):
        decode_text("Pod", '{"spec":{"nodeName":1,"overhead":{"cpu":"x"}}}')


@pytest.mark.parametrize(
    ("text", "position"),
    [("***", 0), ("ab*d", 2), ("abc", 0), ("abcde", 4), ("ab=d", 2), ("a===", 1), ("ab==x", 4), ("abc=\n=", 5)],
)
def test_bad_base64_is_reported_with_its_position(text: str, position: int) -> None:
    assert position == scalars.base64_error(text)


@pytest.mark.parametrize("text", ["", "YQ==", "YWI=", "YWJj", "YW\nJj\r\n", "YQ=\n="])
def test_good_base64_is_accepted(text: str) -> None:
    assert scalars.base64_error(text) is None


# --- restoring patched objects --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"spec": "x"}, "cannot restore struct from: string"),
        ({"spec": {"containers": "x"}}, "cannot restore slice from string"),
        ({"spec": {"nodeSelector": [1]}}, "cannot restore map from slice"),
        ({"spec": {"nodeName": 1}}, "cannot convert int64 to string"),
        ({"spec": {"restartPolicy": 1}}, "cannot convert int64 to v1.RestartPolicy"),
        ({"spec": {"nodeName": 1.5}}, "unrecognized type: string"),
        ({"spec": {"hostNetwork": "yes"}}, "unrecognized type: bool"),
        ({"spec": {"priority": "1"}}, "unrecognized type: int32"),
        ({"spec": {"priority": 1.5}}, "cannot convert float64 to int32"),
        ({"metadata": {"creationTimestamp": 1}}, "json: cannot unmarshal number into Go value of type string"),
    ],
)
def test_patched_objects_are_refused_in_other_words(value: dict[str, Any], message: str) -> None:
    with pytest.raises(DecodeError) as caught:
        strict.restore(value, schema.schema_for("", "v1", "Pod"))

    assert message == str(caught.value)


def test_unknown_fields_of_patched_objects_come_sorted() -> None:
    got = strict.restore({"z": 1, "a": 1}, schema.schema_for("", "v1", "ConfigMap"))

    assert got.strict_errors == ['unknown field "a"', 'unknown field "z"']


def test_whole_floats_are_integers_in_patched_objects() -> None:
    got = strict.restore({"spec": {"priority": 2.0}}, schema.schema_for("", "v1", "Pod"))

    assert got.value["spec"]["priority"] == 2


_LIVE_POD: Final[dict[str, Any]] = {
    "kind": "Pod",
    "apiVersion": "v1",
    "metadata": {"name": "p", "labels": {"a": "1"}, "creationTimestamp": None},
    "spec": {"containers": [{"name": "c", "image": "i", "resources": {}}], "nodeSelector": {"x": "y"}},
    "status": {"phase": "Pending"},
}


@pytest.mark.parametrize(
    "patch",
    [
        {},
        {"metadata": {"labels": {"a": "2", "b": None}}},
        {"metadata": {"labels": None, "bogus": 1}, "bogus": 2, "spec": {"nodeName": "n", "other": 3}},
        {"spec": {"containers": [{"name": "d", "image": 7}]}},
        {"spec": None, "status": None},
        {"spec": [], "metadata": 1},
        {"status": {"phase": "", "conditions": []}},
        {"status": {"phase": None}},
        {"spec": {"activeDeadlineSeconds": 1.5, "nodeSelector": {"x": None}}},
    ],
)
def test_parts_taken_over_from_the_stored_object_come_out_as_if_decoded(patch: dict[str, Any]) -> None:
    pod = schema.schema_for("", "v1", "Pod")
    live = strict.decode(_LIVE_POD, pod).value
    patched = merge_patch.apply(live, patch)

    assert _outcome(lambda: strict.decode(patched, pod)) == _outcome(lambda: strict.decode(patched, pod, live))


def _outcome(decode: Callable[[], strict.Decoded]) -> object:
    try:
        decoded = decode()
    except strict.DecodeError as error:
        return str(error)
    return list(decoded.value.items()), decoded.strict_errors


def test_changing_a_decoded_object_leaves_the_spec_of_the_stored_one_alone() -> None:
    pod = schema.schema_for("", "v1", "Pod")
    live = strict.decode(_LIVE_POD, pod).value
    made = strict.decode(merge_patch.apply(live, {"status": {"phase": "Running"}}), pod, live).value
    made["spec"]["nodeName"] = "n"

    assert "nodeName" not in live["spec"]
    assert made["spec"]["containers"] is live["spec"]["containers"]


def schema_of(parts: str) -> strict.Decoded:
    return strict.decode_text(f'{{"type":"array",{parts}}}'.encode(), schema.schema_properties())


@pytest.mark.parametrize(
    ("parts", "want"),
    [
        ('"items":{"type":"string","nonsense":1}', {"items": {"type": "string"}}),
        ('"items":[{"type":"string"},{}]', {"items": [{"type": "string"}, {}]}),
        ('"additionalProperties":false', {"additionalProperties": False}),
        ('"additionalProperties":{"items":{"id":""}}', {"additionalProperties": {"items": {}}}),
        ('"dependencies":{"a":["b"],"c":{"type":"object"}}', {"dependencies": {"a": ["b"], "c": {"type": "object"}}}),
    ],
)
def test_schemas_in_schemas_are_decoded(parts: str, want: dict[str, Any]) -> None:
    """Whichever of the two forms they have; unknown fields in them are dropped and minded by nobody."""
    decoded = schema_of(parts)

    assert decoded.value == {"type": "array", **want}
    assert decoded.strict_errors == []


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (
            '"items":{"type":1}',
            "json: cannot unmarshal number into Go struct field JSONSchemaProps.type of type string",
        ),
        ('"items":["x"]', "json: cannot unmarshal string into Go value of type v1.JSONSchemaProps"),
        ('"additionalProperties":"x"', "boolean or JSON schema expected"),
        ('"dependencies":{"a":[1]}', "json: cannot unmarshal number into Go value of type string"),
    ],
)
def test_wrong_types_in_schemas_in_schemas(parts: str, message: str) -> None:
    """They are told without the path to them, as Go's methods for them do."""
    with pytest.raises(DecodeError) as caught:
        schema_of(parts)

    assert str(caught.value) == message
