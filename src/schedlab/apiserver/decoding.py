"""Request bodies in JSON, YAML or protobuf, decoded as the kind that the path expects.

Mirrors: staging/src/k8s.io/apimachinery/pkg/runtime/serializer (v1.36). Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from schedlab.apimachinery import negotiate, protobuf, yaml
from schedlab.apimachinery.body import Body, decode_body, decode_value, unrecognized
from schedlab.apimachinery.gvk import GroupVersionKind
from schedlab.apimachinery.negotiate import MediaType
from schedlab.apimachinery.schema import Struct

#: How go-yaml begins an error that lists several.
_YAML_ERRORS: Final = "yaml: unmarshal errors:\n"


def decode_request_body(text: bytes, media_type: MediaType, expected: GroupVersionKind, schema: Struct) -> Body:
    """Decode a body; raises BadRequest."""
    if media_type == negotiate.YAML:
        try:
            document = yaml.load_document(text)
        except yaml.YAMLError as error:
            raise unrecognized(text, expected.kind, str(error)) from None
        repeated = (yaml.duplicates_message(document.duplicates),) if document.duplicates else ()
        return decode_value(document.value, text, expected, schema, repeated)
    if media_type == negotiate.PROTOBUF:
        try:
            value = protobuf.decode_object(text, expected)
        except protobuf.ProtobufError as error:
            raise unrecognized(text, expected.kind, str(error)) from None
        return decode_value(value, text, expected, schema)
    return decode_body(text, expected, schema)


def strict_warnings(errors: Sequence[str]) -> list[str]:
    """Turn strict errors into warnings: what go-yaml lists in one text becomes one warning each."""
    found: list[str] = []
    for error in errors:
        if error.startswith(_YAML_ERRORS):
            found += [line.strip() for line in error.removeprefix(_YAML_ERRORS).split("\n")]
        else:
            found.append(error)
    return found
