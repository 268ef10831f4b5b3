"""Whole objects in protobuf.

Mirrors: staging/src/k8s.io/apimachinery/pkg/runtime/serializer/protobuf/protobuf.go (v1.36)
Differs: nothing.
"""

from collections.abc import Mapping
from typing import Any

from schedlab.apimachinery.gvk import GroupVersionKind
from schedlab.apimachinery.protobuf.decoding import decode
from schedlab.apimachinery.protobuf.encoding import encode
from schedlab.apimachinery.protobuf.envelope import Envelope, unwrap, wrap
from schedlab.apimachinery.protobuf.messages import messages
from schedlab.apimachinery.protobuf.wire import ProtobufError


def has_message(api_version: str, kind: str) -> bool:
    """Whether objects of this kind have a protobuf form; Tables and custom resources have none."""
    return messages().find(api_version, kind) is not None


def decode_message(api_version: str, kind: str, raw: bytes) -> dict[str, Any]:
    """Decode the bytes inside of an envelope, without kind and apiVersion."""
    decoded = decode(messages().get(api_version, kind), raw)
    if not isinstance(decoded, dict):
        raise ProtobufError(f'"{kind}" is no kind of object')
    return decoded


def decode_object(data: bytes, default: GroupVersionKind | None = None) -> dict[str, Any]:
    """Decode a body into an object; `default` supplies what the envelope does not say about its type."""
    envelope = unwrap(data)
    api_version, kind = envelope.api_version, envelope.kind
    if default is not None:
        api_version, kind = api_version or default.api_version, kind or default.kind
    if not kind or not api_version:
        missing = "apiVersion" if kind else "Kind"
        type_meta = f'runtime.TypeMeta{{APIVersion:"{api_version}", Kind:"{kind}"}}'
        raise ProtobufError(f"Object '{missing}' is missing in '{type_meta}'")
    return {"kind": kind, "apiVersion": api_version, **decode_message(api_version, kind, envelope.raw)}


def encode_message(api_version: str, kind: str, value: Mapping[str, Any]) -> bytes:
    """Encode the bytes inside of an envelope."""
    return encode(messages().get(api_version, kind), value)


def encode_object(value: Mapping[str, Any]) -> bytes:
    """Encode an object with its envelope; its kind and apiVersion choose the message."""
    api_version, kind = str(value.get("apiVersion", "")), str(value.get("kind", ""))
    return wrap(Envelope(api_version, kind, encode_message(api_version, kind, value)))
