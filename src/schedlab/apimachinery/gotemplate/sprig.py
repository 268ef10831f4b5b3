"""Functions for texts, lists, maps and numbers that templates of manifests are used to.

Mirrors: a part of github.com/Masterminds/sprig/v3: strings, lists, dictionaries, defaults, arithmetic, encodings.
Differs: no functions for cryptography, the file system, the environment, the network, reflection and formats of dates.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from typing import Any, Final

import orjson

from schedlab.apimachinery import gojson, regexp
from schedlab.apimachinery.gotemplate.values import (
    MISSING,
    Number,
    TemplateError,
    from_json,
    go_text,
    kind_of,
    to_json,
    truth,
)

_COUNT_MAX: Final = 100_000


# --- numbers -----------------------------------------------------------------------------------------------------------


def to_int(value: Any) -> int:
    """Return a value as an integer, 0 for what is none."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int):
        return value
    try:
        return int(float(value)) if isinstance(value, float) or "." in value else int(value, 0)
    except (TypeError, ValueError, OverflowError):
        return 0


def _to_float(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return 0.0


def _divide(first: Any, second: Any) -> int:
    """Divide as Go does, towards zero."""
    dividend, divisor = to_int(first), to_int(second)
    if divisor == 0:
        raise TemplateError("integer divide by zero")
    quotient = abs(dividend) // abs(divisor)
    return quotient if (dividend < 0) is (divisor < 0) else -quotient


def _remainder(first: Any, second: Any) -> int:
    return to_int(first) - _divide(first, second) * to_int(second)


def _count(number: Any) -> int:
    count = to_int(number)
    if abs(count) > _COUNT_MAX:
        raise TemplateError(f"{count} is more than the {_COUNT_MAX} that are possible")
    return count


def _until(count: Any) -> list[int]:
    number = _count(count)
    return list(range(0, number, 1 if number >= 0 else -1))


def _until_step(start: Any, stop: Any, step: Any) -> list[int]:
    first, last, by = to_int(start), to_int(stop), to_int(step)
    if by == 0:
        return []
    _count((last - first) // by)
    return list(range(first, last, by))


# --- texts -------------------------------------------------------------------------------------------------------------


def to_text(value: Any) -> str:
    """Return a value as sprig's string functions see it."""
    return "" if value is None or value is MISSING else go_text(value)


def _indented(spaces: Any, text: str) -> str:
    pad = " " * _count(spaces)
    return pad + text.replace("\n", f"\n{pad}")


def _substring(start: Any, end: Any, text: str) -> str:
    first, last = to_int(start), to_int(end)
    if first < 0:
        return text[: max(last, 0)]
    return text[first:] if last < 0 or last > len(text) else text[first:last]


def _truncated(length: Any, text: str) -> str:
    count = to_int(length)
    if count < 0 and len(text) + count > 0:
        return text[len(text) + count :]
    return text[:count] if 0 <= count < len(text) else text


def _repeated(count: Any, text: str) -> str:
    _count(to_int(count) * max(len(text), 1))
    return text * max(to_int(count), 0)


def _replaced(old: str, new: str, text: str) -> str:
    return text.replace(old, new)


def _split_map(separator: str, text: str) -> dict[str, str]:
    return {f"_{at}": part for at, part in enumerate(text.split(separator))}


def _pattern(text: str) -> re.Pattern[str]:
    try:
        return regexp.compiled(text)
    except regexp.RegexpError as error:
        raise TemplateError(str(error)) from None


def _substituted(pattern: str, text: str, by: str) -> str:
    by = re.sub(r"\$\{?(\w+)\}?", r"\\g<\1>", by.replace("\\", "\\\\"))
    return _pattern(pattern).sub(by, text)


def _fail(message: str) -> Any:
    raise TemplateError(message)


# --- lists and maps ----------------------------------------------------------------------------------------------------


def _list(value: Any) -> list[Any]:
    if isinstance(value, list | tuple):
        return list(value)
    raise TemplateError(f"{go_text(value)} is no list")


def _dict(*pairs: Any) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for at in range(0, len(pairs), 2):
        made[to_text(pairs[at])] = pairs[at + 1] if at + 1 < len(pairs) else ""
    return made


def _set(target: dict[str, Any], key: str, value: Any) -> dict[str, Any]:
    target[key] = value
    return target


def _unset(target: dict[str, Any], key: str) -> dict[str, Any]:
    target.pop(key, None)
    return target


def _merged(target: dict[str, Any], *others: Mapping[str, Any]) -> dict[str, Any]:
    """Add what is not there yet, in maps of maps as well."""
    for other in others:
        for key, value in other.items():
            known = target.get(key)
            if isinstance(known, dict) and isinstance(value, Mapping):
                _merged(known, value)
            elif not truth(known):
                target[key] = value
    return target


def _unique(values: Any) -> list[Any]:
    return [value for at, value in enumerate(_list(values)) if value not in _list(values)[:at]]


def _default(fallback: Any, *given: Any) -> Any:
    return given[0] if given and truth(given[0]) else fallback


def _first_true(*values: Any) -> Any:
    return next((value for value in values if truth(value)), None)


def _has_key(target: Mapping[str, Any], key: str) -> bool:
    return key in target


def _joined(separator: str, values: Any) -> str:
    parts: Iterable[Any] = values if isinstance(values, list | tuple) else (values,)
    return separator.join(to_text(part) for part in parts)


def _json_text(value: Any) -> str:
    return gojson.marshal_bytes(to_json(value)).decode()


def _from_json_text(text: str) -> Any:
    try:
        return from_json(orjson.loads(text))
    except orjson.JSONDecodeError:
        return ""


def _decoded(text: str) -> str:
    try:
        return base64.b64decode(text, validate=True).decode()
    except ValueError as error:
        return str(error)


def _ends(values: Any, at: int) -> Any:
    found = _list(values)
    return found[at] if found else None


SPRIG: Final[Mapping[str, Callable[..., Any]]] = {
    "abbrev": lambda width, text: text if len(text) <= to_int(width) else text[: max(to_int(width) - 3, 0)] + "...",
    "add": lambda *values: sum(map(to_int, values)),
    "add1": lambda value: to_int(value) + 1,
    "all": lambda *values: all(map(truth, values)),
    "any": lambda *values: any(map(truth, values)),
    "append": lambda values, value: [*_list(values), value],
    "atoi": to_int,
    "b64dec": _decoded,
    "b64enc": lambda text: base64.b64encode(text.encode()).decode(),
    "cat": lambda *values: " ".join(to_text(value) for value in values if value is not None),
    "ceil": lambda value: float(-(-_to_float(value) // 1)),
    "coalesce": _first_true,
    "compact": lambda values: [value for value in _list(values) if truth(value)],
    "concat": lambda *lists: [value for each in lists for value in _list(each)],
    "contains": lambda part, text: part in text,
    "default": _default,
    "dict": _dict,
    "div": _divide,
    "empty": lambda value: not truth(value),
    "fail": _fail,
    "first": lambda values: _ends(values, 0),
    "float64": _to_float,
    "floor": lambda value: float(_to_float(value) // 1),
    "fromJson": _from_json_text,
    "get": lambda target, key: target.get(key, ""),
    "has": lambda value, values: value in _list(values),
    "hasKey": _has_key,
    "hasPrefix": lambda prefix, text: text.startswith(prefix),
    "hasSuffix": lambda suffix, text: text.endswith(suffix),
    "indent": _indented,
    "initial": lambda values: _list(values)[:-1],
    "int": to_int,
    "int64": to_int,
    "join": _joined,
    "keys": lambda *targets: [key for target in targets for key in sorted(target)],
    "kindIs": lambda kind, value: (kind_of(value) or _kind(value)) == kind,
    "kindOf": lambda value: kind_of(value) or _kind(value),
    "last": lambda values: _ends(values, -1),
    "list": lambda *values: list(values),
    "lower": lambda text: text.lower(),
    "max": lambda *values: max(map(to_int, values)),
    "merge": _merged,
    "min": lambda *values: min(map(to_int, values)),
    "mod": _remainder,
    "mul": lambda *values: reduce(lambda first, second: first * to_int(second), values[1:], to_int(values[0])),
    "nindent": lambda spaces, text: f"\n{_indented(spaces, text)}",
    "nospace": lambda text: "".join(text.split()),
    "omit": lambda target, *keys: {key: value for key, value in target.items() if key not in keys},
    "pick": lambda target, *keys: {key: target[key] for key in keys if key in target},
    "pluck": lambda key, *targets: [target[key] for target in targets if key in target],
    "prepend": lambda values, value: [value, *_list(values)],
    "quote": lambda *values: " ".join(gojson.quote(to_text(value)) for value in values if value is not None),
    "regexFind": lambda pattern, text: (_pattern(pattern).search(text) or [""])[0],
    "regexMatch": lambda pattern, text: _pattern(pattern).search(text) is not None,
    "regexReplaceAll": _substituted,
    "repeat": _repeated,
    "replace": _replaced,
    "rest": lambda values: _list(values)[1:],
    "reverse": lambda values: _list(values)[::-1],
    "round": lambda value, places=0: round(_to_float(value), to_int(places)),
    "set": _set,
    "sha256sum": lambda text: hashlib.sha256(text.encode()).hexdigest(),
    "sortAlpha": lambda values: sorted(map(to_text, _list(values))),
    "split": _split_map,
    "splitList": lambda separator, text: text.split(separator),
    "squote": lambda *values: " ".join(f"'{to_text(value)}'" for value in values if value is not None),
    "sub": lambda first, second: to_int(first) - to_int(second),
    "substr": _substring,
    "ternary": lambda yes, no, condition: yes if condition else no,
    "title": lambda text: re.sub(r"\b\w", lambda found: found[0].upper(), text),
    "toJson": _json_text,
    "toString": to_text,
    "toStrings": lambda values: [to_text(value) for value in _list(values)],
    "trim": lambda text: text.strip(),
    "trimAll": lambda chars, text: text.strip(chars),
    "trimPrefix": lambda prefix, text: text.removeprefix(prefix),
    "trimSuffix": lambda suffix, text: text.removesuffix(suffix),
    "trunc": _truncated,
    "uniq": _unique,
    "unset": _unset,
    "until": _until,
    "untilStep": _until_step,
    "upper": lambda text: text.upper(),
    "values": lambda *targets: [target[key] for target in targets for key in sorted(target)],
    "without": lambda values, *unwanted: [value for value in _list(values) if value not in unwanted],
}


def _kind(value: Any) -> str:
    if isinstance(value, Number):
        return "string"
    if isinstance(value, Mapping):
        return "map"
    return "slice" if isinstance(value, Sequence) else "invalid"
