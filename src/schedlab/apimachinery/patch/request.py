"""A PATCH request: from its body and the stored object to the object that it asks for.

What follows the patch is the caller's: defaults, managed fields, admission, validation, storing.

Mirrors: staging/src/k8s.io/apiserver/pkg/endpoints/handlers/patch.go (v1.36): jsonPatcher, smpPatcher
Differs: nothing.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

import orjson

from schedlab.apimachinery import body, field, gojson, json_reader, strict
from schedlab.apimachinery.errors import (
    StatusError,
    new_bad_request,
    new_generic_server_response,
    new_invalid,
    new_request_entity_too_large,
)
from schedlab.apimachinery.gvk import GroupKind, GroupVersionKind
from schedlab.apimachinery.json_reader import JSONValue
from schedlab.apimachinery.patch import json_patch, merge_patch, strategic
from schedlab.apimachinery.patch.document import PatchError, go_text, in_go_order
from schedlab.apimachinery.schema import Field, List, Scalar, Struct, Untyped

PatchType: TypeAlias = Literal["json", "merge", "strategic"]
#: What a client sent, or a document that never was a text; it stays as it is.
PatchBody: TypeAlias = "bytes | Mapping[str, JSONValue] | Sequence[JSONValue]"

OPERATIONS_MAX: Final = 10_000


@dataclass(frozen=True, slots=True)
class Patched:
    """The object that a patch asks for, not yet defaulted, and warnings for the client."""

    object: dict[str, Any]
    warnings: tuple[str, ...] = ()


def apply(
    live: Mapping[str, Any],
    patch_type: PatchType,
    patch: PatchBody,
    gvk: GroupVersionKind,
    schema: Struct,
    directive: strict.Directive = "Warn",
) -> Patched:
    """Patch a stored object, which stays as it is; raises StatusError.

    `live` is the object with kind and apiVersion, `gvk` and `schema` say what it must still be afterwards.
    """
    request = _Request(live, patch, gvk, schema, directive)
    if patch_type == "json":
        return request.json()
    if patch_type == "merge":
        return request.merge()
    assert patch_type == "strategic", f"{patch_type} is not a patch of this package"
    return request.strategic()


@dataclass(frozen=True, slots=True)
class _Request:
    live: Mapping[str, Any]
    patch: PatchBody
    gvk: GroupVersionKind
    schema: Struct
    directive: strict.Directive

    @property
    def _checks_fields(self) -> bool:
        return self.directive != "Ignore"

    @property
    def _is_text(self) -> bool:
        """Whether the patch may have repeated keys."""
        return isinstance(self.patch, bytes)

    def json(self) -> Patched:
        operations, strict_errors = self._operations()
        if len(operations) > OPERATIONS_MAX:
            raise new_request_entity_too_large(
                f"The allowed maximum operations in a JSON patch is {OPERATIONS_MAX}, got {len(operations)}"
            )
        try:
            patched = json_patch.apply(self.live, operations)
        except PatchError as error:
            raise new_generic_server_response(422, "", server_message=str(error)) from None
        return self._finish(patched, strict_errors, lambda live: json_patch.apply(live, self._operations()[0]))

    def _operations(self) -> tuple[list[Any], list[str]]:
        value = self._read(prefix="error decoding patch: " if self._checks_fields else "")
        if not self._checks_fields:
            self._must_be(value, list, "jsonpatch.Patch")
            for operation in value or ():
                self._must_be(operation, dict, "jsonpatch.Operation")
            return value or [], []
        walk = strict.decode_list(value, _OPERATIONS)
        if walk.first_error is not None:
            raise new_bad_request(f"error decoding patch: {walk.first_error}")
        return value or [], [f"json patch {problem}" for problem in walk.strict_errors]

    def merge(self) -> Patched:
        if self._checks_fields:
            patch = self._read(prefix="error decoding patch: ")
            self._must_be(patch, dict, "map[string]interface {}", prefix="error decoding patch: ")
        else:
            try:
                patch = self._document()
            except json_reader.JSONSyntaxError:
                patch = None
        if patch is None or not isinstance(patch, (dict, list)):
            raise new_bad_request("Invalid JSON Patch")
        if isinstance(patch, list):
            return self._finish(patch, (), lambda _live: merge_patch.without_nulls(patch))
        strict_errors = strict.repeated_fields(patch) if self._checks_fields and self._is_text else []
        merged = strict.joined(patch) if self._is_text and strict.has_repeated(patch) else patch
        return self._finish(
            merge_patch.merge(self.live, merged), strict_errors, lambda live: merge_patch.apply(live, merged)
        )

    def strategic(self) -> Patched:
        patch = self._read(prefix="")
        self._must_be(patch, dict, "map[string]interface {}")
        strict_errors = strict.repeated_fields(patch) if self._checks_fields else []
        patch = strict.joined(patch or {})
        merged = strategic.apply(_own_copy(self.live, patch), patch, self.schema)
        try:
            restored = strict.restore(merged, self.schema, self.live)
        except strict.DecodeError as error:
            raise self._invalid(gojson.sprint(patch), str(error)) from None
        strict_errors += restored.strict_errors
        # What a patch says of the type is not asked for in Go, either: the object is read into a type that is known.
        restored.value["kind"], restored.value["apiVersion"] = self.live["kind"], self.live["apiVersion"]
        return Patched(restored.value, self._judge(strict_errors, lambda: gojson.sprint(patch)))

    def _read(self, prefix: str) -> JSONValue:
        try:
            return self._document()
        except json_reader.JSONSyntaxError as error:
            raise new_bad_request(f"{prefix}{error}") from None

    def _document(self) -> JSONValue:
        return json_reader.read_exact(self.patch) if isinstance(self.patch, bytes) else self.patch

    def _must_be(self, value: JSONValue, kind: type, go: str, prefix: str = "") -> None:
        if value is not None and not isinstance(value, kind):
            found = strict.kind_of(value)
            raise new_bad_request(f"{prefix}json: cannot unmarshal {found} into Go value of type {go}")

    def _finish(
        self, patched: JSONValue, strict_errors: Sequence[str], again: Callable[[Mapping[str, Any]], JSONValue]
    ) -> Patched:
        """Decode a patched document; `again` patches a copy in Go's order, for a message that shows it."""

        def shown() -> str:
            ordered = in_go_order(dict(self.live), self.schema)
            return go_text(again(ordered))

        try:
            gvk = body.identify(patched, self.gvk)
            decoded = body.decode_as(patched, gvk, self.gvk, self.schema, lambda: patched, self.live)
        except strict.DecodeError as error:
            raise self._invalid(shown(), str(error)) from None
        found = [*strict_errors, *(decoded.strict_errors if self._checks_fields else ())]
        return Patched(decoded.value, self._judge(found, shown))

    def _judge(self, strict_errors: Sequence[str], shown: Callable[[], str]) -> tuple[str, ...]:
        if not strict_errors or not self._checks_fields:
            return ()
        if self.directive == "Warn":
            return tuple(strict_errors)
        raise self._invalid(shown(), strict.strict_error(strict_errors))

    def _invalid(self, shown: str, reason: str) -> StatusError:
        return new_invalid(GroupKind("", ""), "", [field.invalid("patch", shown, reason)])


def _operation_list() -> List:
    """The type that kube-apiserver decodes the operations of a JSON patch into."""
    operation = Struct("handlers.jsonPatchOp")
    text = Scalar("string", "string")
    operation.fields = {name: Field(name, text, {}) for name in ("op", "path", "from")}
    operation.fields["value"] = Field("value", Untyped("interface {}", atomic=True), {})
    return List(operation, "[]handlers.jsonPatchOp")


_OPERATIONS: Final = _operation_list()


def _own_copy(live: Mapping[str, Any], patch: Mapping[str, JSONValue]) -> dict[str, Any]:
    """Copy what a strategic merge patch may change of an object; the rest is shared with it."""
    copied = dict(live)
    for key, change in patch.items():
        # A directive such as `$setElementOrder/containers` is about the field behind its slash.
        name = key.rpartition("/")[2] if key.startswith("$") else key
        present = copied.get(name)
        if isinstance(present, dict) and isinstance(change, dict):
            copied[name] = _own_copy(present, change)
        elif isinstance(present, (dict, list)):
            copied[name] = orjson.loads(orjson.dumps(present))
    return copied
