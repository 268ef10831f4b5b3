"""The OpenAPI v2 document in protobuf: the only form in which Go clients ask for it.

kubectl needs it for kinds that it does not find in version 3. Definitions and the head of the document are written;
paths, which nothing reads, are left out.

Mirrors: github.com/google/gnostic-models/openapiv2/OpenAPIv2.proto, k8s.io/kube-openapi/pkg/handler (v1.36)
Differs: no paths.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import orjson

from schedlab.apimachinery.protobuf.wire import write_bytes
from schedlab.apimachinery.yaml import to_yaml

MEDIA_TYPE: Final = b"application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
#: What an Accept header that asks for this form has in it; clients write the version in two ways.
ACCEPT: Final = "proto-openapi.spec.v2"

# Field numbers of the messages, as far as they are needed.
_DOCUMENT: Final = {"swagger": 1, "info": 2, "paths": 8, "definitions": 9}
_INFO: Final = {"title": 1, "version": 2}
_SCHEMA_TEXTS: Final = {"$ref": 1, "format": 2, "title": 3, "description": 4}
_REQUIRED: Final = 19
_ENUM: Final = 20
_ADDITIONAL_PROPERTIES: Final = 21
_TYPE: Final = 22
_ITEMS: Final = 23
_PROPERTIES: Final = 25
_VENDOR_EXTENSION: Final = 31
_ANY_YAML: Final = 2


def encode_document(document: bytes) -> bytes:
    """Encode the JSON document as a message."""
    source: dict[str, Any] = orjson.loads(document)
    info = b"".join(_text(number, source["info"].get(name, "")) for name, number in _INFO.items())
    definitions = b"".join(
        write_bytes(1, _named_schema(name, schema)) for name, schema in source["definitions"].items()
    )
    return b"".join(
        (
            _text(_DOCUMENT["swagger"], source["swagger"]),
            write_bytes(_DOCUMENT["info"], info),
            write_bytes(_DOCUMENT["paths"], b""),
            write_bytes(_DOCUMENT["definitions"], definitions),
        )
    )


def _text(number: int, text: str) -> bytes:
    return write_bytes(number, text.encode()) if text else b""


def _named_schema(name: str, schema: Mapping[str, Any]) -> bytes:
    return _text(1, name) + write_bytes(2, _schema(schema))


def _schema(schema: Mapping[str, Any]) -> bytes:
    parts = [_text(number, schema.get(key, "")) for key, number in _SCHEMA_TEXTS.items()]
    parts += [_text(_REQUIRED, name) for name in schema.get("required", ())]
    parts += [write_bytes(_ENUM, _any(value)) for value in schema.get("enum", ())]
    if isinstance(schema.get("additionalProperties"), dict):
        parts.append(write_bytes(_ADDITIONAL_PROPERTIES, write_bytes(1, _schema(schema["additionalProperties"]))))
    if "type" in schema:
        parts.append(write_bytes(_TYPE, _text(1, schema["type"])))
    if "items" in schema:
        parts.append(write_bytes(_ITEMS, write_bytes(1, _schema(schema["items"]))))
    if "properties" in schema:
        named = (write_bytes(1, _named_schema(name, one)) for name, one in schema["properties"].items())
        parts.append(write_bytes(_PROPERTIES, b"".join(named)))
    parts += [
        write_bytes(_VENDOR_EXTENSION, _text(1, key) + write_bytes(2, _any(value)))
        for key, value in schema.items()
        if key.startswith("x-")
    ]
    return b"".join(parts)


def _any(value: object) -> bytes:
    return write_bytes(_ANY_YAML, to_yaml(value))
