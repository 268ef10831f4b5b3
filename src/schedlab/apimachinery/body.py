"""Request bodies: from bytes to the object that a path expects, or the BadRequest that kube-apiserver answers with.

A body may leave out its kind and apiVersion; the path says them. A body of another kind is refused, with the words of
Go's conversion.

Mirrors: staging/src/k8s.io/apimachinery/pkg/runtime/serializer/{json,versioning},
staging/src/k8s.io/apiserver/pkg/endpoints/handlers/{rest,create,update}.go (v1.36)
Differs: nothing.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from schedlab.apimachinery import gojson, json_reader, strict
from schedlab.apimachinery.errors import BadRequest, new_bad_request
from schedlab.apimachinery.gvk import GroupVersion, GroupVersionKind, parse_group_version
from schedlab.apimachinery.json_reader import JSONValue
from schedlab.apimachinery.schema import Struct, builtin

_SCHEME: Final = "pkg/api/legacyscheme/scheme.go:30"
_KIND_STRUCT: Final = (
    'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
)
_SUMMARY_MAX: Final = 30
#: Go packages of the internal types, where they are not called as the first part of the group.
_INTERNAL_PACKAGES: Final = {"": "core", "events.k8s.io": "core", "rbac.authorization.k8s.io": "rbac"}


@dataclass(frozen=True, slots=True)
class Body:
    """A decoded request body; `object` names its kind and apiVersion."""

    object: dict[str, Any]
    gvk: GroupVersionKind
    strict_errors: tuple[str, ...] = ()


def decode_body(text: bytes, expected: GroupVersionKind, schema: Struct) -> Body:
    """Decode a JSON body; raises BadRequest."""
    try:
        value = json_reader.read(text)
    except json_reader.JSONSyntaxError as error:
        raise unrecognized(text, expected.kind, f"couldn't get version/kind; json parse error: {error}") from None
    return decode_value(value, text, expected, schema)


def decode_value(
    value: JSONValue, text: bytes, expected: GroupVersionKind, schema: Struct, strict_errors: Sequence[str] = ()
) -> Body:
    """Decode a body that was read already, from JSON or YAML; `strict_errors` are what its reader found.

    Raises BadRequest.
    """
    try:
        gvk = identify(value, expected)
        if schema.decoder is not None:
            _must_name_kind(value, text)
    except strict.DecodeError as error:
        raise unrecognized(text, expected.kind, str(error)) from None
    try:
        decoded = decode_as(value, gvk, expected, schema, lambda: json_reader.read_exact(text))
    except strict.DecodeError as error:
        raise not_handled(gvk, expected.kind, str(error)) from None
    return Body(decoded.value, gvk, (*strict_errors, *decoded.strict_errors))


def decode_as(
    value: JSONValue,
    gvk: GroupVersionKind,
    expected: GroupVersionKind,
    schema: Struct,
    read_exact: Callable[[], JSONValue],
    known: Mapping[str, Any] | None = None,
) -> strict.Decoded:
    """Decode a value as the kind it says to be and check that this is the kind that is wanted.

    `read_exact` reads the value once more, for a message that shows the literal of a number. `known` is the stored
    object that a patched one shares parts with. Raises DecodeError.
    """
    if schema.decoder is not None:
        # Whether it is of the right kind is a matter of validation there.
        free = strict.decode(value, schema)
        free.value["kind"], free.value["apiVersion"] = gvk.kind, gvk.api_version
        return free
    registered = builtin().find(gvk) or (schema if gvk == expected else None)
    if registered is None:
        group_version = gojson.quote(str(gvk.group_version))
        reason = f"no kind {gojson.quote(gvk.kind)} is registered for version {group_version} in scheme"
        raise strict.DecodeError(f"{reason} {gojson.quote(_SCHEME)}")
    try:
        decoded = strict.decode(value, registered, known if gvk == expected else None)
    except strict.DecodeError:
        try:
            again = read_exact()
        except json_reader.JSONSyntaxError:  # YAML: there are no literals to show
            again = value
        decoded = strict.decode(again, registered)
    if not _converts(gvk, expected):
        target = f"{_INTERNAL_PACKAGES.get(expected.group, expected.group.partition('.')[0])}.{expected.kind}"
        raise strict.DecodeError(f"converting ({registered.go}) to ({target}): unknown conversion")
    if "metadata" in registered.fields:
        decoded.value.setdefault("metadata", {})  # one kind leaves it out when it is empty
    decoded.value["kind"] = gvk.kind
    decoded.value["apiVersion"] = gvk.api_version
    return decoded


def _converts(gvk: GroupVersionKind, expected: GroupVersionKind) -> bool:
    """Whether both are versions of one kind; the two groups of events share their internal type."""
    if gvk.kind != expected.kind:
        return False
    package = _INTERNAL_PACKAGES
    return package.get(gvk.group, gvk.group) == package.get(expected.group, expected.group)


def identify(value: JSONValue, expected: GroupVersionKind) -> GroupVersionKind:
    """Read kind and apiVersion, what is missing taken from the path; raises DecodeError."""
    if not isinstance(value, dict):
        problem = (
            "" if value is None else f"cannot unmarshal {strict.kind_of(value)} into Go value of type {_KIND_STRUCT}"
        )
    else:
        wrong = [key for key in ("apiVersion", "kind") if not isinstance(value.get(key, ""), (str, type(None)))]
        problem = "".join(
            f"cannot unmarshal {strict.kind_of(value[key])} into Go struct field .{key} of type string"
            for key in wrong[:1]
        )
    if problem:
        raise strict.DecodeError(f"couldn't get version/kind; json parse error: json: {problem}")
    fields: dict[str, Any] = value or {}
    try:
        group, version = parse_group_version(fields.get("apiVersion") or "")
    except ValueError as error:
        raise strict.DecodeError(str(error)) from None
    if not version and group in ("", expected.group):
        group, version = expected.group, expected.version
    return GroupVersionKind(group, version, fields.get("kind") or expected.kind)


def _must_name_kind(value: JSONValue, text: bytes) -> None:
    """Refuse a body that leaves out what only built-in kinds may leave out; raises DecodeError."""
    shown = text.decode("utf-8", "replace")
    for key, name in (("kind", "Kind"), ("apiVersion", "apiVersion")):
        if not (isinstance(value, dict) and value.get(key)):
            raise strict.DecodeError(f"Object '{name}' is missing in '{shown}'")


def unrecognized(text: bytes, kind: str, reason: str) -> BadRequest:
    """The answer to a body whose kind cannot even be read."""
    return new_bad_request(f"the object provided is unrecognized (must be of type {kind}): {reason} ({_summary(text)})")


def not_handled(gvk: GroupVersionKind, kind: str, reason: str) -> BadRequest:
    """The answer to a body that cannot be decoded or is of another kind."""
    return new_bad_request(f"{gvk.kind} in version {gojson.quote(gvk.version)} cannot be handled as a {kind}: {reason}")


def _summary(text: bytes) -> str:
    if not text:
        return "<empty>"
    start = text[:_SUMMARY_MAX]
    shown = start.decode("utf-8", "replace") if text.startswith(b"{") else start.hex()
    return shown if len(text) <= _SUMMARY_MAX else f"{shown} ..."


def check_strict(body: Body, directive: strict.Directive, kind: str) -> tuple[str, ...]:
    """Do what fieldValidation asks for: refuse the body (Strict), return warnings (Warn), or nothing (Ignore)."""
    if not body.strict_errors or directive == "Ignore":
        return ()
    if directive == "Strict":
        raise not_handled(body.gvk, kind, strict.strict_error(body.strict_errors))
    return body.strict_errors


def check_version(body: Body, served: GroupVersion) -> None:
    """Refuse a body of another version or group than its path; raises BadRequest."""
    if body.gvk.group_version != served:
        found = body.gvk.group_version
        raise new_bad_request(
            f"the API version in the data ({found}) does not match the expected API version ({served})"
        )
