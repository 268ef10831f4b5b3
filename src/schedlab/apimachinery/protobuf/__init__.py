r"""Kubernetes objects in protobuf, the format of Go controllers and of some kubectl commands.

A body is the magic `k8s\0` and a runtime.Unknown, which names the kind and holds the object's bytes. Objects are
decoded into the dict that Go's JSON encoder would show for them, and encoded from such a dict. What the messages look
like comes from a table compiled of Kubernetes' own files (tools/generate_protobuf.py).

Mirrors: staging/src/k8s.io/apimachinery/pkg/runtime/serializer/protobuf and the generated.pb.go files (v1.36)
Differs: zero values are not written; to a decoder they look the same as absent ones.
"""

from schedlab.apimachinery.protobuf.envelope import MAGIC, Envelope, unwrap, wrap
from schedlab.apimachinery.protobuf.objects import (
    decode_message,
    decode_object,
    encode_message,
    encode_object,
    has_message,
)
from schedlab.apimachinery.protobuf.wire import ProtobufError

__all__ = [
    "MAGIC",
    "Envelope",
    "ProtobufError",
    "decode_message",
    "decode_object",
    "encode_message",
    "encode_object",
    "has_message",
    "unwrap",
    "wrap",
]
