"""Objects in protobuf become what Go's JSON shows, and back."""

from typing import Any

import pytest

from schedlab.apimachinery import protobuf
from schedlab.apimachinery.gvk import GroupVersionKind
from schedlab.apimachinery.protobuf import Envelope, ProtobufError
from schedlab.apimachinery.protobuf.decoding import decode
from schedlab.apimachinery.protobuf.encoding import encode
from schedlab.apimachinery.protobuf.messages import messages
from schedlab.apimachinery.protobuf.wire import write_bytes, write_number

#: What kubectl 1.37.1 sends (`kubectl create …` against a server that records the body).
FROM_KUBECTL: dict[str, tuple[str, dict[str, Any]]] = {
    "namespace x": (
        "6b3873000a0f0a02763112094e616d65737061636512190a110a017812001a0022002a0032003800420012001a020a001a002200",
        {"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": "x"}, "spec": {}, "status": {}},
    ),
    "deployment web --image=nginx --replicas=3 --port 80": (
        (
            "6b3873000a150a07617070732f7631120a4465706c6f796d656e7412b8010a1f0a0377656212001a0022002a003200380042005a0a0a03"
            "61707012037765621286010803120c0a0a0a0361707012037765621a6c0a1c0a0012001a0022002a003200380042005a0a0a0361707012"
            "03776562124c122e0a056e67696e7812056e67696e782a00320a0a001000185022002a0042006a007200800100880100900100a201001a"
            "00320042004a0052005800600068008201008a01009a0100c2010022020a00280038001a0c0800100018002000280038001a002200"
        ),
        {
            "kind": "Deployment",
            "apiVersion": "apps/v1",
            "metadata": {"name": "web", "labels": {"app": "web"}},
            "spec": {
                "replicas": 3,
                "selector": {"matchLabels": {"app": "web"}},
                "template": {
                    "metadata": {"labels": {"app": "web"}},
                    "spec": {
                        "containers": [
                            {"name": "nginx", "image": "nginx", "ports": [{"containerPort": 80}], "resources": {}}
                        ]
                    },
                },
                "strategy": {},
            },
            "status": {},
        },
    ),
    "quota q --hard=cpu=1,pods=5": (
        (
            "6b3873000a130a027631120d5265736f7572636551756f746112300a110a017112001a0022002a0032003800420012190a0a0a03637075"
            "12030a01310a0b0a04706f647312030a01351a001a002200"
        ),
        {
            "kind": "ResourceQuota",
            "apiVersion": "v1",
            "metadata": {"name": "q"},
            "spec": {"hard": {"cpu": "1", "pods": "5"}},
            "status": {},
        },
    ),
    "pdb p --selector=a=b --min-available=50%": (
        (
            "6b3873000a200a09706f6c6963792f76311213506f6444697372757074696f6e42756467657412360a110a017012001a0022002a003200"
            "3800420012150a09080110001a0335302512080a060a01611201621a0a080018002000280030001a002200"
        ),
        {
            "kind": "PodDisruptionBudget",
            "apiVersion": "policy/v1",
            "metadata": {"name": "p"},
            "spec": {"minAvailable": "50%", "selector": {"matchLabels": {"a": "b"}}},
            "status": {"disruptionsAllowed": 0, "currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0},
        },
    ),
    "token sa --duration 10m": (
        (
            "6b3873000a280a1861757468656e7469636174696f6e2e6b38732e696f2f7631120c546f6b656e52657175657374121d0a100a0012001a"
            "0022002a00320038004200120320d8041a040a0012001a002200"
        ),
        {
            "kind": "TokenRequest",
            "apiVersion": "authentication.k8s.io/v1",
            "metadata": {},
            "spec": {"expirationSeconds": 600},
            "status": {"token": ""},
        },
    ),
    "secret generic s --from-literal=a=b": (
        "6b3873000a0c0a0276311206536563726574121d0a110a017312001a0022002a0032003800420012060a01611201621a001a002200",
        {"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "s"}, "data": {"a": "Yg=="}},
    ),
    "service clusterip svc --tcp=80:8080": (
        (
            "6b3873000a0d0a02763112075365727669636512690a1f0a0373766312001a0022002a003200380042005a0a0a03617070120373766312"
            "420a1b0a0738302d38303830120354435018502207080010903f1a002800120a0a0361707012037376631a002209436c75737465724950"
            "3a00420052005a00600068001a020a001a002200"
        ),
        {
            "kind": "Service",
            "apiVersion": "v1",
            "metadata": {"name": "svc", "labels": {"app": "svc"}},
            "spec": {
                "ports": [{"name": "80-8080", "protocol": "TCP", "port": 80, "targetPort": 8080}],
                "selector": {"app": "svc"},
                "type": "ClusterIP",
            },
            "status": {"loadBalancer": {}},
        },
    ),
}


@pytest.mark.parametrize("command", FROM_KUBECTL)
def test_what_kubectl_sends_is_understood(command: str) -> None:
    data, expected = FROM_KUBECTL[command]

    assert protobuf.decode_object(bytes.fromhex(data)) == expected


ROUND_TRIPS: list[dict[str, Any]] = [
    {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {
            "name": "x",
            "labels": {"b": "c", "a": ""},
            "creationTimestamp": "2026-01-02T03:04:05Z",
            "deletionGracePeriodSeconds": 0,
            "ownerReferences": [{"apiVersion": "v1", "kind": "K", "name": "o", "uid": "u", "controller": True}],
            "managedFields": [{"manager": "m", "time": "2026-01-02T03:04:05Z", "fieldsV1": {"f:a": {".": {}}}}],
        },
        "spec": {
            "volumes": [
                {"name": "e", "emptyDir": {"sizeLimit": "1Gi"}},
                {"name": "s", "secret": {"secretName": "s", "defaultMode": 420, "optional": False}},
            ],
            "containers": [
                {
                    "name": "c",
                    "image": "é",
                    "env": [{"name": "E", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}],
                    "resources": {"limits": {"cpu": "1500m", "memory": "1Gi"}},
                    "livenessProbe": {"httpGet": {"path": "/", "port": "http"}, "periodSeconds": 5},
                    "readinessProbe": {"tcpSocket": {"port": 80}, "initialDelaySeconds": -1},
                }
            ],
            "terminationGracePeriodSeconds": 0,
            "nodeSelector": {"a": "b"},
            "securityContext": {"runAsUser": 0, "supplementalGroups": [1, -2, 9223372036854775807]},
            "tolerations": [{"key": "k", "operator": "Exists", "tolerationSeconds": 300}],
            "overhead": {"cpu": "10m"},
        },
        "status": {"startTime": "2026-01-02T03:04:05Z", "conditions": [{"type": "Ready", "status": "False"}]},
    },
    {
        "kind": "Lease",
        "apiVersion": "coordination.k8s.io/v1",
        "metadata": {"name": "n"},
        "spec": {"holderIdentity": "n", "leaseDurationSeconds": 40, "renewTime": "2026-01-02T03:04:05.678901Z"},
    },
    {
        "kind": "ControllerRevision",
        "apiVersion": "apps/v1",
        "metadata": {"name": "r"},
        "data": {"spec": {"a": [1, None, "x"]}},
        "revision": 5,
    },
    {
        "kind": "PersistentVolume",
        "apiVersion": "v1",
        "metadata": {"name": "v"},
        "spec": {
            "capacity": {"storage": "5Gi"},
            "csi": {"driver": "d", "volumeHandle": "h", "volumeAttributes": {"a": "b"}},
            "accessModes": ["ReadWriteOnce"],
        },
    },
    {
        "kind": "SubjectAccessReview",
        "apiVersion": "authorization.k8s.io/v1",
        "metadata": {},
        "spec": {"user": "u", "extra": {"a": ["b", "c"], "d": []}},
        "status": {"allowed": True},
    },
    {
        "kind": "ResourceSlice",
        "apiVersion": "resource.k8s.io/v1",
        "metadata": {"name": "s"},
        "spec": {
            "driver": "d",
            "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1},
            "devices": [
                {
                    "name": "gpu",
                    "attributes": {"a": {"int": 1}, "b": {"bool": False}, "c": {"version": "1.2.3"}},
                    "capacity": {"memory": {"value": "40Gi"}},
                }
            ],
        },
    },
    {
        "kind": "ResourceClaim",
        "apiVersion": "resource.k8s.io/v1",
        "metadata": {"name": "c"},
        "spec": {
            "devices": {
                "requests": [{"name": "r", "exactly": {"deviceClassName": "g", "count": 2}}],
                "config": [{"requests": ["r"], "opaque": {"driver": "d", "parameters": {"kind": "P", "x": 1.5}}}],
            }
        },
        "status": {},
    },
    {
        "kind": "CustomResourceDefinition",
        "apiVersion": "apiextensions.k8s.io/v1",
        "metadata": {"name": "w"},
        "spec": {
            "group": "example.com",
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": False,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "default": {"a": 1},
                            "maximum": 2.5,
                            "enum": ["a", 1, None],
                            "additionalProperties": False,
                            "items": {"type": "string"},
                            "dependencies": {"a": ["b"], "c": {"type": "string"}},
                            "x-kubernetes-int-or-string": True,
                            "properties": {
                                "p": {"additionalProperties": {"type": "string"}},
                                "l": {"items": [{"type": "string"}]},
                            },
                        }
                    },
                }
            ],
        },
    },
    {
        "kind": "PodList",
        "apiVersion": "v1",
        "metadata": {"resourceVersion": "5"},
        "items": [{"metadata": {"name": "x"}}],
    },
    {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0, "propagationPolicy": "Orphan"},
    {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 404, "details": {"name": "x"}},
]


def contains(whole: Any, part: Any) -> bool:
    """Whether everything in `part` is in `whole`, which may have zero values besides."""
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(key in whole and contains(whole[key], part[key]) for key in part)
    if isinstance(part, list):
        return len(whole) == len(part) and all(map(contains, whole, part))
    return type(whole) is type(part) and bool(whole == part)


@pytest.mark.parametrize("value", ROUND_TRIPS, ids=lambda value: str(value["kind"]))
def test_an_object_survives_the_way_there_and_back(value: dict[str, Any]) -> None:
    decoded = protobuf.decode_object(protobuf.encode_object(value))

    assert contains(decoded, value)
    assert protobuf.encode_object(decoded) == protobuf.encode_object(value)


def test_zero_values_are_shown_as_in_gos_json() -> None:
    """A pointer shows its zero; omitempty hides a plain zero but not an empty struct."""
    raw = write_bytes(
        2,
        b"".join(
            (
                write_number(4, 0),
                write_bytes(6, b""),
                write_number(11, 0),
                write_bytes(2, write_bytes(1, b"") + write_bytes(8, b"")),
            )
        ),
    )

    spec = protobuf.decode_message("v1", "Pod", raw)["spec"]

    assert spec["terminationGracePeriodSeconds"] == 0
    assert "dnsPolicy" not in spec
    assert "hostNetwork" not in spec
    assert spec["containers"] == [{"name": "", "resources": {}}]


def test_empty_times_and_schema_less_values_are_left_out() -> None:
    metadata = write_bytes(8, b"") + write_bytes(9, b"")
    managed = write_bytes(17, write_bytes(1, b"m") + write_bytes(4, b"") + write_bytes(7, b""))

    assert protobuf.decode_message("v1", "Pod", write_bytes(1, metadata + managed)) == {
        "metadata": {"managedFields": [{"manager": "m"}]}
    }


def test_unknown_fields_are_skipped_and_split_messages_joined() -> None:
    raw = write_number(99, 1) + write_bytes(1, write_bytes(1, b"a")) + write_bytes(1, write_bytes(3, b"b"))

    assert protobuf.decode_message("v1", "ConfigMap", raw) == {"metadata": {"name": "a", "namespace": "b"}}


def test_packed_repeated_numbers_are_read() -> None:
    groups = write_bytes(4, b"\x01\x02")

    spec = protobuf.decode_message("v1", "Pod", write_bytes(2, write_bytes(14, groups)))["spec"]

    assert spec["securityContext"]["supplementalGroups"] == [1, 2]


def test_a_map_entry_may_lack_its_key_or_value() -> None:
    assert protobuf.decode_message("v1", "ConfigMap", write_bytes(2, b"") + write_bytes(2, write_bytes(1, b"k"))) == {
        "data": {"": "", "k": ""}
    }


def test_an_embedded_object_may_be_protobuf_itself() -> None:
    pod = protobuf.encode_object({"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "x"}})
    event = write_bytes(1, b"ADDED") + write_bytes(2, write_bytes(1, pod))

    assert protobuf.decode_message("v1", "WatchEvent", event) == {
        "type": "ADDED",
        "object": {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "x"}},
    }


def test_the_path_can_supply_the_type() -> None:
    body = protobuf.wrap(Envelope("", "", write_bytes(1, write_bytes(1, b"x"))))

    decoded = protobuf.decode_object(body, GroupVersionKind("", "v1", "ConfigMap"))

    assert decoded == {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "x"}}
    with pytest.raises(ProtobufError, match=r"^Object 'Kind' is missing in 'runtime\.TypeMeta"):
        protobuf.decode_object(body)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "empty data"),
        (b"k8s\x00", "empty body"),
        (b"{}", "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"),
        (b"k8s\x00\x0a\x05", "unexpected EOF"),
        (protobuf.wrap(Envelope("v9", "Nope", b"")), 'no kind "Nope" is registered for version "v9"'),
        (protobuf.wrap(Envelope("v1", "Pod", b"\x08\x01")), "proto: wrong wireType = 0 for field Metadata"),
        (protobuf.wrap(Envelope("v1", "Pod", b"\x0a\x01")), "unexpected EOF"),
        (protobuf.wrap(Envelope("v1", "Time", b"\x08\x01")), '"Time" is no kind of object'),
        (b"k8s\x00\x08\x01", "proto: wrong wireType = 0 for field 1"),
    ],
)
def test_a_body_that_is_no_object_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(ProtobufError) as raised:
        protobuf.decode_object(data)

    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("message", "raw", "text"),
    [
        (
            "ResourceQuota",
            write_bytes(2, write_bytes(1, write_bytes(2, write_bytes(1, b"1x")))),
            "quantities must match",
        ),
        ("Pod", write_bytes(1, write_bytes(8, write_number(1, 10**15))), "time: the year is outside of the range"),
        (
            "Pod",
            write_bytes(1, write_bytes(17, write_bytes(7, write_bytes(1, b"{")))),
            "invalid JSON inside of a message",
        ),
        ("Pod", write_bytes(1, write_bytes(8, write_bytes(1, b"x"))), "proto: wrong wireType = 2 for field"),
    ],
)
def test_a_bad_value_inside_of_a_message_is_refused(message: str, raw: bytes, text: str) -> None:
    with pytest.raises(ProtobufError, match=f"^{text}"):
        protobuf.decode_message("v1", message, raw)


def test_nesting_is_limited() -> None:
    schema = b""
    for _ in range(200):
        schema = write_bytes(28, schema)  # `not` holds a schema
    raw = write_bytes(2, write_bytes(7, write_bytes(4, write_bytes(1, schema))))
    value: dict[str, Any] = {}
    for _ in range(200):
        value = {"not": value}

    with pytest.raises(ProtobufError, match="nested more than 100 levels"):
        protobuf.decode_message("apiextensions.k8s.io/v1", "CustomResourceDefinition", raw)
    with pytest.raises(ProtobufError, match="nested more than 100 levels"):
        protobuf.encode_message("apiextensions.k8s.io/v1", "JSONSchemaProps", value)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"metadata": []}, "k8s.io.apimachinery.pkg.apis.meta.v1.ObjectMeta: expected an object, found []"),
        ({"metadata": {"name": 5}}, "name: expected a string, found 5"),
        ({"metadata": {"labels": []}}, "labels: expected an object, found []"),
        ({"metadata": {"finalizers": {}}}, "finalizers: expected a list, found {}"),
        ({"metadata": {"creationTimestamp": "now"}}, "parsing time"),
        ({"spec": {"hostNetwork": 1}}, "hostNetwork: expected true or false, found 1"),
        ({"spec": {"priority": 2**31}}, "priority: 2147483648 does not fit an int32"),
        ({"spec": {"activeDeadlineSeconds": True}}, "activeDeadlineSeconds: expected an integer, found True"),
        ({"spec": {"overhead": {"cpu": "x"}}}, "quantities must match"),
        ({"spec": {"nodeName": ["x" * 90]}}, "nodeName: expected a string, found ['xxx"),
    ],
)
def test_a_value_that_does_not_fit_its_field_is_refused(value: dict[str, Any], message: str) -> None:
    with pytest.raises(ProtobufError) as raised:
        protobuf.encode_object({"kind": "Pod", "apiVersion": "v1", **value})

    assert str(raised.value).startswith(message)


@pytest.mark.parametrize(
    ("api_version", "kind", "value", "message"),
    [
        ("v1", "Secret", {"data": {"a": "%"}}, "data: expected base64 text"),
        ("v1", "Secret", {"data": {"a": 5}}, "data: expected base64 text, found 5"),
        (
            "policy/v1",
            "PodDisruptionBudget",
            {"spec": {"minAvailable": 1.5}},
            "expected a number or a string, found 1.5",
        ),
        ("v1", "Nope", {}, 'no kind "Nope" is registered'),
    ],
)
def test_special_values_are_checked_too(api_version: str, kind: str, value: dict[str, Any], message: str) -> None:
    with pytest.raises(ProtobufError, match=f"^{message}"):
        protobuf.encode_message(api_version, kind, value)


def test_durations_are_texts() -> None:
    raw = write_number(1, 1_500_000_000)
    duration = messages().named("k8s.io.apimachinery.pkg.apis.meta.v1.Duration")
    assert decode(duration, raw) == "1.5s"
    assert encode(duration, "1.5s") == raw
    with pytest.raises(ProtobufError, match="invalid duration"):
        encode(duration, "long")


def test_tables_and_custom_resources_have_no_message() -> None:
    assert protobuf.has_message("v1", "Pod")
    assert protobuf.has_message("apps/v1", "DeleteOptions")
    assert not protobuf.has_message("meta.k8s.io/v1", "Table")
    assert not protobuf.has_message("example.com/v1", "Widget")
