"""The functions that every Go template has.

Mirrors: builtins of text/template/funcs.go, fmt.Sprintf (Go 1.25).
Differs: call, html, js and urlquery are left out; printf knows the verbs d, e, f, g, q, s, t, v, x and X.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from schedlab.apimachinery.gojson import format_float, quote
from schedlab.apimachinery.gotemplate.values import (
    Number,
    TemplateError,
    equal,
    go_text,
    index,
    less,
    truth,
    type_name,
)

_VERB: Final = re.compile(r"%(?P<flags>[-+# 0]*)(?P<width>\d+)?(?:\.(?P<precision>\d+))?(?P<verb>.)", re.DOTALL)
_WIDTH_MAX: Final = 10_000


def _length(value: Any) -> int:
    if isinstance(value, Mapping | list | tuple):
        return len(value)
    if isinstance(value, str):
        return len(value.encode())
    raise TemplateError(f"len of type {type_name(value)}")


def _slice(value: Any, *bounds: int) -> Any:
    if not isinstance(value, list | tuple | str):
        raise TemplateError(f"can't slice item of type {type_name(value)}")
    if len(bounds) > 2:
        raise TemplateError("too many slice indexes")
    start, end = (*bounds, len(value))[:2] if bounds else (0, len(value))
    if not 0 <= start <= end <= len(value):
        raise TemplateError(f"invalid slice index: {start} > {end}")
    return value[start:end]


def sprintf(form: str, *values: Any) -> str:
    """Format values as fmt.Sprintf does."""
    rest = list(values)

    def one(found: re.Match[str]) -> str:
        if found["verb"] == "%":
            return "%"
        if not rest:
            return f"%!{found['verb']}(MISSING)"
        return _formatted(rest.pop(0), found)

    text = _VERB.sub(one, form)
    if rest:
        extra = ", ".join(f"{type_name(value)}={go_text(value)}" for value in rest)
        text += f"%!(EXTRA {extra})"
    return text


def _formatted(value: Any, found: re.Match[str]) -> str:
    flags, verb, precision = found["flags"], found["verb"], found["precision"]
    text = _verb(value, verb, flags, None if precision is None else int(precision))
    if text is None:
        text = f"%!{verb}({type_name(value)}={go_text(value)})"
    if verb == "d" and "+" in flags and not text.startswith("-"):
        text = f"+{text}"
    width = int(found["width"] or 0)
    if width > _WIDTH_MAX:
        raise TemplateError(f"a width of {width} is too much")
    if "-" in flags:
        return text.ljust(width)
    if "0" in flags and verb in "dfegxX":
        return text.zfill(width)
    return text.rjust(width)


def _verb(value: Any, verb: str, flags: str, precision: int | None) -> str | None:
    if verb == "v":
        return format_float(value) if isinstance(value, float) else go_text(value)
    is_integer = isinstance(value, int) and not isinstance(value, bool)
    if verb in "sq" and isinstance(value, str):
        shown = value if precision is None else value[:precision]
        return shown if verb == "s" else quote(shown)
    if verb == "s" and isinstance(value, list | Mapping):
        return go_text(value)
    if verb == "d" and is_integer:
        return str(value)
    if verb in "xX" and (is_integer or isinstance(value, str)):
        text = f"{value:x}" if is_integer else str(value).encode().hex()
        text = f"0x{text}" if "#" in flags else text
        return text.upper() if verb == "X" else text
    if verb == "t" and isinstance(value, bool):
        return go_text(value)
    if verb in "feEg" and isinstance(value, float):
        return (
            format_float(value)
            if verb == "g" and precision is None
            else f"{value:.{6 if precision is None else precision}{verb}}"
        )
    return None


def _print(*values: Any) -> str:
    """Join as fmt.Sprint does: a blank between two of which none is a string."""
    out: list[str] = []
    for at, value in enumerate(values):
        if at and not (_is_text(value) or _is_text(values[at - 1])):
            out.append(" ")
        out.append(go_text(value))
    return "".join(out)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and not isinstance(value, Number)


def _equal(first: Any, *others: Any) -> bool:
    if not others:
        raise TemplateError("missing argument for comparison")
    return equal(first, others)


BUILTINS: Final[Mapping[str, Callable[..., Any]]] = {
    # `and` and `or` stop at the argument that decides: the run evaluates them itself.
    "and": truth,
    "or": truth,
    "eq": _equal,
    "ge": lambda first, second: not less(first, second),
    "gt": lambda first, second: not (less(first, second) or equal(first, (second,))),
    "index": index,
    "le": lambda first, second: less(first, second) or equal(first, (second,)),
    "len": _length,
    "lt": less,
    "ne": lambda first, second: not equal(first, (second,)),
    "not": lambda value: not truth(value),
    "print": _print,
    "printf": sprintf,
    "println": lambda *values: f"{' '.join(map(go_text, values))}\n",
    "slice": _slice,
}
