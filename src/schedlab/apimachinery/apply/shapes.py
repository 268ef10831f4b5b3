"""What structured-merge-diff asks of a type: the type of a field, whether there is one owner, the name of an element.

Mirrors: sigs.k8s.io/structured-merge-diff/v6/typed/helpers.go, schema/elements.go (v1.36)
Differs: nothing.
"""

from collections.abc import Sequence
from typing import Final

from schedlab.apimachinery import gojson
from schedlab.apimachinery.apply import fieldset
from schedlab.apimachinery.json_reader import JSONValue
from schedlab.apimachinery.schema import List, Map, Struct, Type, Untyped

ANYTHING: Final = Untyped("interface {}", atomic=False)
ANYTHING_ATOMIC: Final = Untyped("interface {}", atomic=True)


class TypedError(ValueError):
    """Values that do not fit their type; the message lists them as structured-merge-diff does."""

    def __init__(self, errors: Sequence[str]) -> None:
        super().__init__(errors[0] if len(errors) == 1 else "\n".join(["errors:", *(f"  {one}" for one in errors)]))


class ElementError(ValueError):
    """A list element that cannot be told from the others."""


def field_type(type: Type, name: str) -> Type | None:
    """Type of a field of an object; None when the type does not know the field."""
    if isinstance(type, Struct):
        field = type.fields.get(name)
        if field is not None:
            return field.type
        return ANYTHING if type.open else None
    if isinstance(type, Map):
        return type.element
    assert isinstance(type, Untyped)
    return type


def is_declared(type: Type, name: str) -> bool:
    return isinstance(type, Struct) and name in type.fields


def is_atomic(type: Type) -> bool:
    """Whether an object or list of this type has one owner as a whole."""
    return type.list_type == "atomic" if isinstance(type, List) else bool(getattr(type, "atomic", False))


def element_of(type: List, item: JSONValue) -> str:
    """Path element of a list element; raises ElementError."""
    if type.list_type == "map":
        return _keyed_element(type, item)
    if isinstance(item, dict):
        raise ElementError("associative list without keys has an element that's a map type")
    if isinstance(item, list):
        raise ElementError("not supported: associative list with lists as elements")
    if item is None:
        raise ElementError("associative list without keys has an element that's an explicit null")
    return fieldset.value_element(item)


def _keyed_element(type: List, item: JSONValue) -> str:
    if not isinstance(item, dict):
        kind = "a null element" if item is None else "non-map elements"
        raise ElementError(f"associative list with keys may not have {kind}")
    keys = type.keys
    if len(keys) == 1 and keys[0] in item:
        return fieldset.key_element(keys, (item[keys[0]],))
    found = {name: item.get(name, default) for name, default in type.key_defaults}
    present = tuple(name for name in keys if found[name] is not None or name in item)
    if not present:
        raise ElementError(
            f"associative list with keys has an element that omits all key fields {gojson.quote_list(keys)} "
            "(and doesn't have default values for any key fields)"
        )
    return fieldset.key_element(present, tuple(found[name] for name in present))


def grouped(items: Sequence[JSONValue], type: List) -> dict[str, list[JSONValue]]:
    """List elements by path element, in order of appearance; raises TypedError."""
    groups: dict[str, list[JSONValue]] = {}
    errors = []
    for position, item in enumerate(items):
        try:
            groups.setdefault(element_of(type, item), []).append(item)
        except ElementError as error:
            errors.append(f"element {position}: {error}")
    if errors:
        raise TypedError(errors)
    return groups
