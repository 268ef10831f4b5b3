"""The schema of a custom resource as a type: what decodes its objects and knows who owns which field.

Mirrors: staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/customresource_handler.go (schemaCoercingDecoder),
k8s.io/kube-openapi/pkg/schemaconv, pkg/controller/openapi/builder (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from typing import Any, Final

from schedlab.api.validation.definitions.walking import Schema, item_schema, value_schema
from schedlab.apimachinery import field, strict
from schedlab.apimachinery.errors import new_invalid
from schedlab.apimachinery.gojson import quote
from schedlab.apimachinery.gvk import GroupKind, GroupVersionKind
from schedlab.apimachinery.json_reader import JSONValue
from schedlab.apimachinery.schema import Field, List, Map, Scalar, Struct, Type, Untyped, builtin
from schedlab.apimachinery.strict import Decoded
from schedlab.registry.custom.pruning import EMBEDDED, PRESERVE, drop_nulls, prune, visit_embedded
from schedlab.registry.custom.validation import INT_OR_STRING

_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_SCALARS: Final = {
    "string": Scalar("string", "string"),
    "integer": Scalar("integer", "int64"),
    "number": Scalar("number", "float64"),
    "boolean": Scalar("boolean", "bool"),
}
_INT_OR_STRING: Final = Scalar("int-or-string", "intstr.IntOrString")
_ANYTHING: Final = Untyped("interface {}", atomic=False)
#: Left out when it was never set.
_OPTIONAL: Final = {"o": 1, "p": 1}


class CustomType(Struct):
    """The type of the objects of one version."""

    __slots__ = ("_decoded_metadata", "gvk", "schema")

    def __init__(self, gvk: GroupVersionKind, schema: Schema) -> None:
        super().__init__(gvk.kind, go="unstructured.Unstructured")
        self.gvk = gvk
        self.schema = schema
        self.gvks = (gvk,)
        self.decoder = self._decode
        self.open = bool(schema.get(PRESERVE))
        _add_fields(self, schema, embedded=True)
        self._decoded_metadata = Struct("metadata")
        self._decoded_metadata.fields = {"metadata": self.fields["metadata"]}

    def _decode(self, value: JSONValue) -> Decoded:
        """Take an object as it is, but for unknown fields, nulls and what has a type: metadata."""
        problems = strict.repeated_fields(value)
        if not isinstance(value, dict):
            raise strict.DecodeError(
                f"json: cannot unmarshal {strict.kind_of(value)} into Go value of type map[string]interface {{}}"
            )
        obj = strict.joined(value)
        problems += self._type_metadata(obj, "")
        # Of a kind that is not ours nothing is known; that it is the wrong one is said later.
        if obj.get("kind", self.gvk.kind) == self.gvk.kind:
            problems += [f"unknown field {quote(path)}" for path in prune(obj, self.schema)]
            drop_nulls(obj, self.schema)
            visit_embedded(obj, self.schema, lambda path, inner: problems.extend(self._type_metadata(inner, path)))
        obj.setdefault("metadata", {})
        return Decoded(obj, list(dict.fromkeys(problems)))

    def _type_metadata(self, obj: dict[str, Any], path: str) -> list[str]:
        """Decode the metadata of an object; returns its unknown fields."""
        given = obj.get("metadata")
        if given is None:
            obj.pop("metadata", None)
            return []
        place = f"{path}.metadata" if path else "metadata"
        try:
            decoded = strict.decode({"metadata": given}, self._decoded_metadata)
        except strict.DecodeError as error:
            name = given.get("name", "") if isinstance(given, dict) else ""
            wrong = field.invalid(place, given, str(error))
            shown = name if isinstance(name, str) else ""
            raise new_invalid(GroupKind(self.gvk.group, self.gvk.kind), shown, [wrong]) from None
        obj["metadata"] = decoded.value.get("metadata") or {}
        prefix = f"{path}." if path else ""
        return [problem.replace('field "', f'field "{prefix}', 1) for problem in decoded.strict_errors]


def _add_fields(struct: Struct, schema: Schema, *, embedded: bool) -> None:
    for name, inner in (schema.get("properties") or {}).items():
        struct.fields[name] = Field(name, to_type(inner), _with_default(inner))
    if embedded:
        text = _SCALARS["string"]
        struct.fields["apiVersion"] = Field("apiVersion", text, _OPTIONAL)
        struct.fields["kind"] = Field("kind", text, _OPTIONAL)
        struct.fields["metadata"] = Field("metadata", builtin().named(_META), _OPTIONAL)


def _with_default(schema: Schema) -> dict[str, Any]:
    return {**_OPTIONAL, "d": schema["default"]} if schema.get("default") is not None else _OPTIONAL


def to_type(schema: Schema) -> Type:
    """Return the type that a schema describes."""
    if schema.get(INT_OR_STRING):
        return _INT_OR_STRING
    kind = schema.get("type", "")
    if kind == "array":
        element = to_type(item_schema(schema) or {})
        keys = schema.get("x-kubernetes-list-map-keys") or ()
        return List(element, f"[]{element.go}", schema.get("x-kubernetes-list-type") or "atomic", keys)
    if kind in _SCALARS:
        return _SCALARS[kind]
    atomic = schema.get("x-kubernetes-map-type") == "atomic"
    values = value_schema(schema)
    if values is not None and not schema.get("properties"):
        element = to_type(values)
        return Map(element, f"map[string]{element.go}", atomic=atomic)
    if not schema.get("properties") and not schema.get(EMBEDDED):
        if kind == "object" and not schema.get(PRESERVE):
            return Struct("object", atomic=atomic)
        return Untyped("interface {}", atomic=True) if atomic else _ANYTHING
    struct = Struct("object", atomic=atomic)
    struct.open = bool(schema.get(PRESERVE))
    _add_fields(struct, schema, embedded=bool(schema.get(EMBEDDED)))
    return struct
