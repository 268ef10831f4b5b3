"""Request bodies in JSON, YAML or protobuf, decoded as the kind that the path expects.

Mirrors: staging/src/k8s.io/apimachinery/pkg/runtime/serializer (v1.36). Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from schedlab.apimachinery import json_reader, negotiate, protobuf, strict, yaml
from schedlab.apimachinery.body import Body, decode_body, decode_value, unrecognized
from schedlab.apimachinery.errors import new_bad_request
from schedlab.apimachinery.gvk import GroupVersionKind
from schedlab.apimachinery.negotiate import MediaType
from schedlab.apimachinery.schema import Struct
from schedlab.registry.request import WriteOptions

#: How go-yaml begins an error that lists several.
_YAML_ERRORS: Final = "yaml: unmarshal errors:\n"
_CONVERTING: Final = "error converting YAML to JSON: "


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


def read_configuration(text: bytes, options: WriteOptions) -> Mapping[str, Any]:
    """Read what a server-side apply sends, JSON or YAML; raises BadRequest, warns of repeated keys."""
    value = _plain_json(text)
    if value is not None:
        return value
    try:
        document = yaml.load_document(text)
    except yaml.YAMLError as error:
        raise new_bad_request(f"error decoding YAML: {_CONVERTING}{error}") from None
    if document.value is not None and not isinstance(document.value, dict):
        found = strict.kind_of(document.value)
        problem = f"json: cannot unmarshal {found} into Go value of type map[string]interface {{}}"
        raise new_bad_request(f"error decoding YAML: error unmarshaling JSON: while decoding JSON: {problem}")
    if document.duplicates and options.field_validation == "Strict":
        message = f"{_CONVERTING}{yaml.duplicates_message(document.duplicates)}"
        raise new_bad_request(f"error strict decoding YAML: {message}")
    if options.field_validation == "Warn":
        options.warnings.extend(document.duplicates)
    return document.value or {}


def _plain_json(text: bytes) -> dict[str, Any] | None:
    """Read an object in JSON without repeated keys, the usual case; None for everything else."""
    try:
        value = json_reader.read(text)
    except json_reader.JSONSyntaxError:
        return None
    return value if isinstance(value, dict) and not strict.repeated_fields(value) else None


def strict_warnings(errors: Sequence[str]) -> list[str]:
    """Turn strict errors into warnings: what go-yaml lists in one text becomes one warning each."""
    found: list[str] = []
    for error in errors:
        if error.startswith(_YAML_ERRORS):
            found += [line.strip() for line in error.removeprefix(_YAML_ERRORS).split("\n")]
        else:
            found.append(error)
    return found
