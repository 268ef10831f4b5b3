"""What is around the message of an object: the magic and a runtime.Unknown that names the kind.

Mirrors: staging/src/k8s.io/apimachinery/pkg/runtime/serializer/protobuf/protobuf.go (v1.36)
Differs: nothing.
"""

from dataclasses import dataclass
from typing import Final

from schedlab.apimachinery.protobuf import wire
from schedlab.apimachinery.protobuf.special import last_bytes, last_text
from schedlab.apimachinery.protobuf.wire import ProtobufError, WireValue

MAGIC: Final = b"k8s\x00"


@dataclass(frozen=True, slots=True)
class Envelope:
    """A runtime.Unknown: what the body says it holds, and the bytes it holds."""

    api_version: str
    kind: str
    raw: bytes
    content_type: str = ""


def unwrap(data: bytes) -> Envelope:
    """Open a body; raise ProtobufError with upstream's text when it is none."""
    if not data:
        raise ProtobufError("empty data")
    if not data.startswith(MAGIC):
        prefix = " ".join(map(str, MAGIC))
        raise ProtobufError(f"provided data does not appear to be a protobuf message, expected prefix [{prefix}]")
    if len(data) == len(MAGIC):
        raise ProtobufError("empty body")
    fields = _gather(data[len(MAGIC) :])
    type_meta = _gather(last_bytes(fields, 1))
    return Envelope(last_text(type_meta, 1), last_text(type_meta, 2), last_bytes(fields, 2), last_text(fields, 4))


def _gather(data: bytes) -> dict[int, list[WireValue]]:
    fields: dict[int, list[WireValue]] = {}
    for number, _, value in wire.read_fields(data):
        fields.setdefault(number, []).append(value)
    return fields


def wrap(envelope: Envelope) -> bytes:
    type_meta = wire.write_bytes(1, envelope.api_version.encode()) + wire.write_bytes(2, envelope.kind.encode())
    return b"".join(
        (
            MAGIC,
            wire.write_bytes(1, type_meta),
            wire.write_bytes(2, envelope.raw),
            wire.write_bytes(3, b""),
            wire.write_bytes(4, envelope.content_type.encode()),
        )
    )
