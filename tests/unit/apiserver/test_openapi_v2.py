"""The OpenAPI v2 document has a protobuf form, which Go clients ask for."""

import orjson

from schedlab.apimachinery.protobuf.wire import read_fields
from schedlab.apiserver.openapi_v2 import encode_document

DOCUMENT = {
    "swagger": "2.0",
    "info": {"title": "Kubernetes", "version": "v1.36.2"},
    "paths": {"/api/": {}},
    "definitions": {
        "Pod": {
            "description": "A pod.",
            "type": "object",
            "required": ["spec"],
            "properties": {"spec": {"$ref": "#/definitions/Spec"}},
            "x-kubernetes-group-version-kind": [{"group": "", "kind": "Pod", "version": "v1"}],
        },
    },
}


def fields(message: bytes) -> dict[int, list[bytes]]:
    found: dict[int, list[bytes]] = {}
    for number, _wire_type, value in read_fields(message):
        assert isinstance(value, bytes)
        found.setdefault(number, []).append(value)
    return found


def test_definitions_are_encoded_by_name() -> None:
    """Each definition has its name, its properties, and its extensions as YAML."""
    document = fields(encode_document(orjson.dumps(DOCUMENT)))

    assert document[1] == [b"2.0"]
    assert fields(document[2][0]) == {1: [b"Kubernetes"], 2: [b"v1.36.2"]}
    [definition] = fields(document[9][0])[1]
    assert fields(definition)[1] == [b"Pod"]
    schema = fields(fields(definition)[2][0])
    assert schema[4] == [b"A pod."]
    assert schema[19] == [b"spec"]
    assert fields(schema[22][0]) == {1: [b"object"]}
    [property_] = fields(schema[25][0])[1]
    assert fields(fields(property_)[2][0]) == {1: [b"#/definitions/Spec"]}
    extension = fields(schema[31][0])
    assert extension[1] == [b"x-kubernetes-group-version-kind"]
    assert fields(extension[2][0])[2] == [b"- group: ''\n  kind: Pod\n  version: v1\n"]
