"""Strategic merge patch: a merge patch that knows which lists merge by which key.

    $patch: replace | delete | merge     on an object, or as an element of a merging list
    $retainKeys: [field, ...]            drop all other fields of the object
    $deleteFromPrimitiveList/f: [...]    remove values from the list of scalars f
    $setElementOrder/f: [...]            order of the elements of the merging list f

Mirrors: staging/src/k8s.io/apimachinery/pkg/util/strategicpatch/patch.go, as a server uses it (v1.36)
Differs: fields of one object are merged in the order of the patch; Go's order is random, and only an error shows it.
"""

from collections.abc import Sequence
from typing import Any, Final

from schedlab.apimachinery import gojson
from schedlab.apimachinery.errors import (
    BadRequest,
    StatusError,
    new_bad_request,
    new_generic_server_response,
    new_unknown,
)
from schedlab.apimachinery.json_reader import JSONValue
from schedlab.apimachinery.schema import Field, List, Map, Struct, Type

JSONObject = dict[str, Any]

_DIRECTIVE: Final = "$patch"
_RETAIN_KEYS: Final = "$retainKeys"
_DELETE_FROM: Final = "$deleteFromPrimitiveList"
_ELEMENT_ORDER: Final = "$setElementOrder"


def apply(original: JSONObject, patch: JSONObject, schema: Struct) -> JSONObject:
    """Merge a patch into an object; both are changed, so give copies.

    Raises BadRequest for a malformed patch and a StatusError without a reason (code 500) where upstream has no better
    answer either.
    """
    return _merge_object(original, patch, schema)


def _bad(message: str) -> BadRequest:
    return new_bad_request(message)


def _failure(message: str) -> StatusError:
    return new_unknown(message)


def _merge_object(original: JSONObject, patch: JSONObject, type: Type) -> JSONObject:
    if _DIRECTIVE in patch:
        return _replaced_object(patch.pop(_DIRECTIVE), patch)
    _retain_keys(original, patch)
    _merge_ordered_lists(original, patch, type)
    for key, change in list(patch.items()):
        deletes = key.startswith(_DELETE_FROM)
        _merge_field(original, _directed_field(key, _DELETE_FROM) if deletes else key, change, type, deletes=deletes)
    return original


def _replaced_object(directive: JSONValue, patch: JSONObject) -> JSONObject:
    if directive == "replace":
        return patch
    if directive == "delete":
        return {}
    raise _unknown_directive(directive, {_DIRECTIVE: directive, **patch})


def _unknown_directive(directive: JSONValue, patch: JSONObject) -> StatusError:
    return _failure(f"unknown patch type: {gojson.sprint(directive)} in map: {gojson.sprint(patch)}")


def _merge_field(original: JSONObject, key: str, change: JSONValue, type: Type, *, deletes: bool) -> None:
    """Merge one field; `deletes` says that the change lists values to remove."""
    if change is None:
        original.pop(key, None)
        return
    present = original.get(key)
    if isinstance(present, dict) and isinstance(change, dict):
        field = _field(type, key)
        original[key] = change if "replace" in field.strategies else _merge_object(present, change, field.type)
    elif isinstance(present, list) and isinstance(change, list):
        original[key] = _merge_list(present, change, _list_field(type, key), deletes=deletes)
    elif deletes:
        return
    elif _is_directive(change):
        original.pop(key, None)
    else:
        _discard_nulls(change)
        original[key] = _without_directives(change)


def _same_kind(left: JSONValue, right: JSONValue) -> bool:
    """Whether two values have the same Go type after decoding."""
    return left.__class__ is right.__class__


def _field(type: Type, key: str) -> Field:
    """Look up the patch metadata of a field; kube-apiserver fails where the type has no fields."""
    if isinstance(type, Map):
        raise _failure("merging an object in json but data type is not struct, instead is: map")
    fields = type.fields if isinstance(type, Struct) else {}
    field = fields.get(key) or next((one for name, one in fields.items() if name.lower() == key.lower()), None)
    if field is None:
        struct = type.go.rpartition(".")[2]
        raise _failure(f"unable to find api field in struct {struct} for the json field {gojson.quote(key)}")
    return field


def _list_field(type: Type, key: str) -> Field:
    field = _field(type, key)
    if not isinstance(field.type, List):
        raise _failure("expected slice or array type, but got: struct")
    return field


def _directed_field(key: str, prefix: str) -> str:
    """Name of the field that a directive such as `$setElementOrder/containers` is about."""
    found, slash, name = key.partition("/")
    if found != prefix or not slash:
        kind = "primitive list" if prefix == _DELETE_FROM else "setElementOrder list"
        raise _bad(f"invalid patch format of {kind}")
    return name


def _retain_keys(original: JSONObject, patch: JSONObject) -> None:
    if _RETAIN_KEYS not in patch:
        return
    retained = patch.pop(_RETAIN_KEYS)
    named = isinstance(retained, list) and all(
        key in retained
        for key, change in patch.items()
        if change is not None and not key.startswith((_DELETE_FROM, _ELEMENT_ORDER))
    )
    if not named:
        raise _bad("invalid patch format of retainKeys")
    for key in [key for key in original if key not in retained]:
        del original[key]


def _discard_nulls(value: JSONValue) -> None:
    """Drop the nulls of objects at any depth, in place."""
    if isinstance(value, dict):
        for key in [key for key, item in value.items() if item is None]:
            del value[key]
        for item in value.values():
            _discard_nulls(item)
    elif isinstance(value, list):
        for item in value:
            _discard_nulls(item)


def _without_directives(value: JSONValue) -> JSONValue:
    """Drop objects that carry a $patch directive, in place; lists are made anew."""
    if isinstance(value, dict):
        for key in [key for key, item in value.items() if _is_directive(item)]:
            del value[key]
        for key, item in value.items():
            value[key] = _without_directives(item)
        return value
    if isinstance(value, list):
        return [_without_directives(item) for item in value if not _is_directive(item)]
    return value


def _is_directive(value: JSONValue) -> bool:
    return isinstance(value, dict) and _DIRECTIVE in value


# --- lists ----------------------------------------------------------------------------------------------------------


def _merge_list(original: list[Any], patch: list[Any], field: Field, *, deletes: bool) -> list[Any]:
    if "merge" not in field.strategies and not deletes:
        return patch
    if not original and not patch:
        return original
    if not _elements_are_objects(original, patch):
        if deletes:
            return [item for item in original if item not in patch]
        merged = _deduplicated([*original, *patch])
        return _ordered(_present(merged, patch), _absent(merged, patch), patch, original, "")
    key = field.merge_key
    if not key:
        raise _failure("cannot merge lists without merge key for struct")
    assert isinstance(field.type, List)
    original, patch = _follow_directives(original, patch, key)
    merged = _merge_elements(original, patch, key, field.type.element)
    in_patch, only_live = _partition(merged, patch, key)
    return _ordered(in_patch, only_live, patch, original, key)


def _elements_are_objects(*lists: Sequence[Any]) -> bool:
    """Say of what kind the elements are, which must be one for all."""
    elements = [element for one in lists for element in one]
    if not elements:
        raise _failure("no elements in any of the given slices")
    if isinstance(elements[0], list):
        raise new_generic_server_response(422, "")
    if any(not _same_kind(element, elements[0]) for element in elements):
        shown = "[" + " ".join(gojson.sprint(list(one)) for one in lists) + "]"
        raise _failure(f"list element types are not identical: {shown}")
    return isinstance(elements[0], dict)


def _deduplicated(values: list[Any]) -> list[Any]:
    """Drop repeated scalars; as upstream, the last value moves into the gap."""
    last = len(values) - 1
    position = 0
    while position < last:
        other = position + 1
        while other <= last:
            if values[position] == values[other]:
                values[other] = values[last]
                last -= 1
            else:
                other += 1
        position += 1
    return values[: last + 1]


def _present(values: Sequence[Any], among: Sequence[Any]) -> list[Any]:
    return [value for value in values if value in among]


def _absent(values: Sequence[Any], among: Sequence[Any]) -> list[Any]:
    return [value for value in values if value not in among]


def _follow_directives(original: list[Any], patch: list[Any], key: str) -> tuple[list[Any], list[Any]]:
    """Carry out the elements that are directives: delete by key, or replace the whole list."""
    rest = []
    replace = False
    for element in patch:
        if _DIRECTIVE not in element:
            rest.append(element)
            continue
        directive = element[_DIRECTIVE]
        if directive == "delete":
            if key not in element:
                raise _no_merge_key(element, key)
            original = [item for item in original if not _has_key(item, key, element[key])]
        elif directive == "replace":
            replace = True
        elif directive == "merge":
            raise _failure("merging lists cannot yet be specified in the patch")
        else:
            raise _unknown_directive(directive, element)
    return (rest, []) if replace else (original, rest)


def _no_merge_key(element: JSONObject, key: str) -> StatusError:
    return _failure(f"map: {gojson.sprint(element)} does not contain declared merge key: {key}")


def _has_key(item: JSONValue, key: str, value: JSONValue) -> bool:
    return isinstance(item, dict) and key in item and item[key] == value and _same_kind(item[key], value)


def _find(items: Sequence[Any], key: str, value: JSONValue) -> int:
    """Position of the first object with this key, -1 when there is none."""
    for position, item in enumerate(items):
        if not isinstance(item, dict):
            raise _failure(f"value for key {position} is not a map")
        if _has_key(item, key, value):
            return position
    return -1


def _merge_elements(original: list[Any], patch: list[Any], key: str, type: Type) -> list[Any]:
    merged = list(original)
    for element in patch:
        if key not in element:
            raise _no_merge_key(element, key)
        position = _find(merged, key, element[key])
        if position < 0:
            merged.append(element)
        else:
            merged[position] = _merge_object(merged[position], element, type)
    return merged


def _partition(values: Sequence[Any], by: Sequence[Any], key: str) -> tuple[list[Any], list[Any]]:
    """Split objects into those whose key is in the other list and the rest."""
    inside: list[Any] = []
    outside: list[Any] = []
    for value in values:
        if not isinstance(value, dict):
            raise _failure(_argument_type("map[string]interface {}", value))
        if key not in value:
            raise _no_merge_key(value, key)
        (outside if _find(by, key, value[key]) < 0 else inside).append(value)
    return inside, outside


def _argument_type(expected: str, actual: JSONValue) -> str:
    names = {str: "string", bool: "bool", int: "int64", float: "float64", list: "[]interface {}"}
    found = "map[string]interface {}" if isinstance(actual, dict) else names.get(actual.__class__, "%!s(<nil>)")
    return f"expected a {expected}, but received a {found}"


def _ordered(
    in_patch: list[Any], only_live: list[Any], patch_order: Sequence[Any], live_order: Sequence[Any], key: str
) -> list[Any]:
    """Order elements: those of the patch as the patch says, between them the others where they were."""
    in_patch = _sorted_by(in_patch, patch_order, key)
    out: list[Any] = []
    for live in _sorted_by(only_live, live_order, key):
        while in_patch and not _precedes(live, in_patch[0], live_order, key):
            out.append(in_patch.pop(0))
        out.append(live)
    return out + in_patch


def _sorted_by(values: list[Any], order: Sequence[Any], key: str) -> list[Any]:
    if not key:
        return sorted(values, key=lambda value: _position(order, value, key))
    for one in (*values, *order):
        if not isinstance(one, dict):
            raise _failure(_argument_type("map[string]interface {}", one))
        if key not in one:
            raise _no_merge_key(one, key)
    kept = [value for value in values if value.get(_DIRECTIVE) != "delete"]
    deleted = [value for value in values if value.get(_DIRECTIVE) == "delete"]
    return sorted(kept, key=lambda value: _position(order, value, key)) + deleted


def _position(order: Sequence[Any], value: JSONValue, key: str) -> int:
    """Place of a value in an order, by its key or by itself; -1 when it is not there."""
    wanted = value.get(key) if key else value
    for position, item in enumerate(order):
        found = item.get(key) if key else item
        if found == wanted and _same_kind(found, wanted):
            return position
    return -1


def _precedes(left: JSONValue, right: JSONValue, order: Sequence[Any], key: str) -> bool:
    """Whether both were there before, `left` in front of `right`."""
    return 0 <= _position(order, left, key) < _position(order, right, key)


# --- $setElementOrder -----------------------------------------------------------------------------------------------


def _merge_ordered_lists(original: JSONObject, patch: JSONObject, type: Type) -> None:
    """Merge the lists that come with a $setElementOrder and take them out of the patch."""
    for directive in [key for key in patch if key.startswith(_ELEMENT_ORDER)]:
        order = patch.pop(directive)
        if not isinstance(order, list):
            raise _failure(_argument_type("[]interface {}", order))
        name = _directed_field(directive, _ELEMENT_ORDER)
        live = _list_or_fail(original, name)
        change = _list_or_fail(patch, name)
        field = _list_field(type, name)
        _check_order(change or [], order, field.merge_key)
        if live is None and change is None:
            continue
        if live is not None and change is not None:
            merged = _merge_list(live, change, field, deletes=False)
        else:
            merged = live if live is not None else _without_directives(change)
        key = field.merge_key
        in_patch, only_live = (
            _partition(merged, order, key) if key else (_present(merged, order), _absent(merged, order))
        )
        _elements_are_objects(live or [], change or [])
        original[name] = _ordered(in_patch, only_live, order, live or [], key)
        patch.pop(name, None)


def _list_or_fail(owner: JSONObject, name: str) -> list[Any] | None:
    value = owner.get(name)
    if name in owner and not isinstance(value, list):
        raise _failure(_argument_type("[]interface {}", value))
    return value if isinstance(value, list) else None


def _check_order(patch: list[Any], order: list[Any], key: str) -> None:
    """Refuse a patch whose elements are not all in the order list, in the same relative order."""
    if not order or not patch:
        return
    waiting = [element for element in patch if not _is_directive(element)]
    if key:
        for element in patch:
            if not isinstance(element, dict):
                raise _failure(_argument_type("map[string]interface {}", element))
    position = 0
    for place in order:
        if position == len(waiting):
            return
        if _keys_equal(waiting[position], place, key):
            position += 1
    if position < len(waiting):
        shown = f"{gojson.sprint(patch)}\n doesn't match {_ELEMENT_ORDER} list:\n{gojson.sprint(order)}\n"
        raise _failure(f"The order in patch list:\n{shown}")


def _keys_equal(left: JSONValue, right: JSONValue, key: str) -> bool:
    if not key:
        return bool(left == right) and _same_kind(left, right)
    for side in (left, right):
        if not isinstance(side, dict):
            raise _failure(_argument_type("map[string]interface {}", side))
        if key not in side:
            raise _no_merge_key(side, key)
    return _has_key(left, key, right[key])
