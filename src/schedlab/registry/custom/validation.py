"""Values of custom resources against their schema, with the errors that kube-openapi finds.

What did not change in an update is not looked at again, so that a stricter schema does not freeze objects that were
good before.

Mirrors: k8s.io/kube-openapi/pkg/validation/validate, staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver
/validation/{validation,ratcheting}.go (v1.36)
Differs: properties are visited in the order of their names; patterns are Python's regular expressions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import orjson

from schedlab.api.validation.definitions.walking import Schema, item_schema, value_schema
from schedlab.apimachinery import field, gojson, regexp
from schedlab.apimachinery.field import ErrorList, FieldError
from schedlab.registry.custom import formats

INT_OR_STRING: Final = "x-kubernetes-int-or-string"
#: Stands for the old value where there is none to compare with.
NOTHING: Final = object()
_INTEGER_BITS: Final = {"int32": 31, "int64": 63, "": 63}
#: How Go prints the path of an error that has none.
_NO_PATH: Final = "<nil>"


def validate(value: Any, schema: Schema, base: str = "", old: Any = NOTHING) -> ErrorList:
    """Check a value that stands at `base` in an object, "" for the object itself."""
    return _Validator(base).check(value, schema, "", old).errors


class _Result:
    """Errors, and how many checks a value has passed: the alternative that fits best tells what is wrong."""

    __slots__ = ("errors", "passed")

    def __init__(self) -> None:
        self.errors: ErrorList = []
        self.passed = 0

    def add(self, other: _Result) -> None:
        self.errors += other.errors
        self.passed += other.passed


class _Validator:
    """One validation; names in messages are relative to the base, those of fields are not."""

    def __init__(self, base: str) -> None:
        self._base = base

    # --- errors ------------------------------------------------------------------------------------------------------

    def _place(self, path: str) -> str:
        name = path.removeprefix(".")
        if not name:
            return self._base or _NO_PATH
        return f"{self._base}.{name}" if self._base else name

    def _invalid(self, path: str, value: object, words: str) -> FieldError:
        return field.invalid(self._place(path), value, f"{path} in body {words}")

    def _general(self, words: str) -> FieldError:
        return field.invalid(self._base or _NO_PATH, "", words)

    # --- checks ------------------------------------------------------------------------------------------------------

    def check(self, value: Any, schema: Schema, path: str, old: Any = NOTHING) -> _Result:
        """Check a value against a schema."""
        found = _Result()
        if old is not NOTHING and _same(value, old):
            return found
        if wrong := self._type(value, schema, path):
            found.errors.append(wrong)
        else:
            found.passed += 1
        if value is not None:
            self._combinations(value, schema, path, found, old)
            if isinstance(value, str):
                found.errors += self._string(value, schema, path)
            elif _is_number(value):
                found.errors += self._number(value, schema, path)
            elif isinstance(value, list):
                self._list(value, schema, path, found, old)
        found.errors += self._enum(value, schema, path)
        if isinstance(value, dict):
            self._object(value, schema, path, found, old)
        return found

    def _type(self, value: Any, schema: Schema, path: str) -> FieldError | None:
        types = ["integer", "string"] if schema.get(INT_OR_STRING) else [schema["type"]] if schema.get("type") else []
        if not types:
            return None
        name = type_name(value)
        if value is None:
            allowed = bool(schema.get("nullable"))
        elif schema.get("format") and isinstance(value, (str, list)) and not {"number", "integer"} & set(types):
            allowed = True  # the check of the format says more
        else:
            allowed = name in types or (name == "integer" and "number" in types)
            allowed = allowed or (name == "number" and "integer" in types and float(value).is_integer())
        if allowed:
            return None
        words = f"{path} in body must be of type {','.join(types)}: {gojson.quote(name)}"
        return field.type_invalid(self._place(path), name, words)

    def _string(self, value: str, schema: Schema, path: str) -> Iterator[FieldError]:
        length = len(value)
        most, least, pattern = schema.get("maxLength"), schema.get("minLength"), schema.get("pattern")
        if most is not None and length > most:
            yield field.too_long(self._place(path), most)
        elif least is not None and length < least:
            yield self._invalid(path, value, f"should be at least {least} chars long")
        elif pattern and not regexp.compiled(pattern).search(value):
            yield self._invalid(path, value, f"should match '{pattern}'")
        form = schema.get("format")
        if form and not formats.matches(form, value):
            words = f"{path} in body must be of type {form}: {gojson.quote(value)}"
            yield field.type_invalid(self._place(path), value, words)

    def _number(self, value: float, schema: Schema, path: str) -> Iterator[FieldError]:
        kind = schema.get("type", "")
        form = schema.get("format", "") if kind == "integer" else ""
        if kind == "integer" and not _in_range(value, form):
            described = f" with format {form}" if form else " (default format)"
            yield self._general(f"Checked value must be of type integer{described} in {path}")
        factor = schema.get("multipleOf")
        if factor is not None and not _is_multiple(value, factor):
            yield self._invalid(path, value, f"should be a multiple of {_bound(value, factor)}")
        for key, words, sign in (("maximum", "less", 1), ("minimum", "greater", -1)):
            limit = schema.get(key)
            if limit is None:
                continue
            exclusive = bool(schema.get(f"exclusive{key.capitalize()}"))
            over = (value - _as_compared(value, limit)) * sign
            if over > 0 or (exclusive and over == 0):
                relation = f"{words} than" if exclusive else f"{words} than or equal to"
                yield self._invalid(path, value, f"should be {relation} {_bound(value, limit)}")

    def _enum(self, value: Any, schema: Schema, path: str) -> ErrorList:
        allowed = schema.get("enum")
        if not allowed or any(_same(value, one) for one in allowed):
            return []
        shown = [one if isinstance(one, str) else orjson.dumps(one).decode() for one in allowed]
        return [field.not_supported(self._place(path), value, shown)]

    def _list(self, value: Sequence[Any], schema: Schema, path: str, found: _Result, old: Any) -> None:
        items = item_schema(schema)
        if items is not None:
            before = _Correlated(old, schema)
            for position, item in enumerate(value):
                found.add(self.check(item, items, f"{path}[{position}]", before.of(item)))
        least, most = schema.get("minItems"), schema.get("maxItems")
        if least is not None and len(value) < least:
            found.errors.append(self._invalid(path, len(value), f"should have at least {least} items"))
        if most is not None and len(value) > most:
            found.errors.append(field.too_many(self._place(path), len(value), most))
        if schema.get("uniqueItems") and any(_same(item, other) for i, item in enumerate(value) for other in value[:i]):
            found.errors.append(self._invalid(path, "", "shouldn't contain duplicates"))
        found.passed += 1

    def _object(self, value: Mapping[str, Any], schema: Schema, path: str, found: _Result, old: Any) -> None:
        least, most = schema.get("minProperties"), schema.get("maxProperties")
        if least is not None and len(value) < least:
            found.errors.append(self._invalid(path, len(value), f"should have at least {least} properties"))
        if most is not None and len(value) > most:
            found.errors.append(field.too_many(self._place(path), len(value), most))
        known: Mapping[str, Any] = schema.get("properties") or {}
        values = value_schema(schema)
        before: Mapping[str, Any] = old if isinstance(old, dict) else {}
        for key in sorted(value):
            inner = known.get(key, values)
            if inner is not None:
                # Only a property of the root has no dot in front of it.
                place = f"{path}.{key}" if path or key not in known else key
                found.add(self.check(value[key], inner, place, before.get(key, NOTHING)))
            elif schema.get("additionalProperties") is False:
                words = f"{path}.{key} in body is a forbidden property"
                found.errors.append(field.invalid(self._place(path), key, words))
        for key in schema.get("required") or ():
            if key not in value:
                found.errors.append(field.required(self._place(f"{path}.{key}")))

    # --- alternatives ------------------------------------------------------------------------------------------------

    def _combinations(self, value: Any, schema: Schema, path: str, found: _Result, old: Any) -> None:
        shown = gojson.quote(path)
        if alternatives := schema.get("anyOf"):
            results = [self.check(value, one, path) for one in alternatives]
            if not any(not result.errors for result in results):
                found.errors.append(self._general(f"{shown} must validate at least one schema (anyOf)"))
                found.add(_best(results))
        if alternatives := schema.get("oneOf"):
            results = [self.check(value, one, path) for one in alternatives]
            good = sum(not result.errors for result in results)
            if good != 1:
                counted = f"Found {good} valid alternatives" if good else "Found none valid"
                found.errors.append(self._general(f"{shown} must validate one and only one schema (oneOf). {counted}"))
                if not good:
                    found.add(_best(results))
        if parts := schema.get("allOf"):
            results = [self.check(value, one, path, old) for one in parts]
            for result in results:
                found.add(result)
            good = sum(not result.errors for result in results)
            if good != len(parts):
                none = "" if good else ". None validated"
                found.errors.append(self._general(f"{shown} must validate all the schemas (allOf){none}"))
        if "not" in schema and not self.check(value, schema["not"], path).errors:
            found.errors.append(self._general(f"{shown} must not validate the schema (not)"))
        found.passed += 1


class _Correlated:
    """Finds the old value of an item: only lists with keys tell their items apart."""

    def __init__(self, old: Any, schema: Schema) -> None:
        self._keys = schema.get("x-kubernetes-list-map-keys") or ()
        is_map = schema.get("x-kubernetes-list-type") == "map" and isinstance(old, list)
        self._known = {self._key(item): item for item in old if isinstance(item, dict)} if is_map else {}

    def _key(self, item: Mapping[str, Any]) -> str:
        return orjson.dumps([item.get(key) for key in self._keys]).decode()

    def of(self, item: Any) -> Any:
        return self._known.get(self._key(item), NOTHING) if self._known and isinstance(item, dict) else NOTHING


def type_name(value: Any) -> str:
    """Name the JSON type of a value."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    names = {str: "string", int: "integer", float: "number", list: "array"}
    return next((name for kind, name in names.items() if isinstance(value, kind)), "object")


def _best(results: Sequence[_Result]) -> _Result:
    return max(results, key=lambda result: result.passed)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _same(first: Any, second: Any) -> bool:
    """Compare JSON values; a boolean is no number."""
    if isinstance(first, bool) or isinstance(second, bool):
        return first is second
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(_same, first, second))
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(_same(first[key], second[key]) for key in first)
    return bool(first == second)


def _in_range(value: float, form: str) -> bool:
    bits = _INTEGER_BITS.get(form, 63)
    return float(value).is_integer() and -(2**bits) <= value < 2**bits


def _as_compared(value: float, limit: float) -> float:
    """Integers are compared with the whole part of a limit."""
    return int(limit) if isinstance(value, int) else limit


def _bound(value: float, limit: float) -> str:
    return str(int(limit)) if isinstance(value, int) else gojson.format_float(float(limit))


def _is_multiple(value: float, factor: float) -> bool:
    if isinstance(value, int):
        return int(factor) != 0 and value % int(factor) == 0
    ratio = 1 / factor * value if factor < 1 else value / factor
    return abs(ratio - round(ratio)) < 1e-9
