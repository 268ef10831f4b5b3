"""JSON paths as definitions of custom resources use them: `.spec.ports[0].name`, `.status.conditions[?(@.type=="Ready")].status`.

Mirrors: k8s.io/client-go/util/jsonpath (v1.36), as far as printer columns and selectable fields can use it
Differs: no unions, no recursive descent, no functions; filters compare with one literal.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final, TypeAlias

import orjson

from schedlab.apimachinery import gojson

#: Turns values into the values one step further.
_Step: TypeAlias = Callable[[list[Any]], list[Any]]

_TOKEN: Final = re.compile(
    r"""
      \.(?P<field>(?:\\.|[^.\[\]\s])+)
    | \[\s*(?P<quote>['"])(?P<key>.*?)(?P=quote)\s*\]
    | \[\s*(?P<star>\*)\s*\]
    | \[\s*(?P<start>-?\d+)?\s*(?P<colon>:)?\s*(?P<end>-?\d+)?\s*\]
    | \[\?\(\s*@(?P<path>[^=!<>\s]*)\s*(?:(?P<operator>==|!=|<=|>=|<|>)\s*(?P<literal>[^)]*?)\s*)?\)\]
    """,
    re.VERBOSE,
)
_ESCAPE: Final = re.compile(r"\\(.)")


class JSONPathError(ValueError):
    """A text that is no path of this kind."""


class JSONPath:
    """A parsed path; raises JSONPathError."""

    def __init__(self, text: str) -> None:
        self._steps: list[_Step] = []
        at = 0
        text = text.removeprefix("$") or "."
        while at < len(text) and text != ".":
            match = _TOKEN.match(text, at)
            if match is None:
                raise JSONPathError(f"{text!r} is no path that is understood, from {text[at:]!r} on")
            self._steps.append(_step(match))
            at = match.end()

    def find(self, value: Any) -> list[Any]:
        """Return all values that the path leads to; one that leads nowhere finds nothing."""
        found = [value]
        for step in self._steps:
            found = step(found)
        return found


@lru_cache(maxsize=1024)
def parse(text: str) -> JSONPath:
    """Parse a path; raises JSONPathError."""
    return JSONPath(text)


def to_text(value: Any) -> str:
    """Write a value as the printers of Go's jsonpath do."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return gojson.format_float(value)
    if isinstance(value, (dict, list)):
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
    return str(value)


def _step(match: re.Match[str]) -> _Step:
    if match["field"] is not None:
        name = _ESCAPE.sub(r"\1", match["field"])
        return _everything if name == "*" else _field(name)
    if match["quote"] is not None:
        return _field(match["key"])
    if match["star"] is not None:
        return _everything
    if match["path"] is not None:
        return _filter(parse(match["path"] or "."), match["operator"], match["literal"])
    if match["colon"] is None and match["start"] is None:
        raise JSONPathError("an index is missing in []")
    return _slice(match)


def _field(name: str) -> _Step:
    return lambda values: [value[name] for value in values if isinstance(value, dict) and name in value]


def _everything(values: list[Any]) -> list[Any]:
    found: list[Any] = []
    for value in values:
        found += value if isinstance(value, list) else value.values() if isinstance(value, dict) else ()
    return found


def _slice(match: re.Match[str]) -> _Step:
    start = None if match["start"] is None else int(match["start"])
    if match["colon"] is None:
        assert start is not None, "an index was found"
        return lambda values: [
            value[start] for value in values if isinstance(value, list) and -len(value) <= start < len(value)
        ]
    end = None if match["end"] is None else int(match["end"])
    return lambda values: [item for value in values if isinstance(value, list) for item in value[start:end]]


def _filter(path: JSONPath, operator: str | None, literal: str | None) -> _Step:
    wanted = None if operator is None else _literal(literal or "")

    def holds(item: Any) -> bool:
        found = path.find(item)
        return bool(found) and (operator is None or _compare(found[0], operator, wanted))

    return lambda values: [item for item in _everything(values) if holds(item)]


def _literal(text: str) -> Any:
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        raise JSONPathError(f"{text!r} is no value to compare with") from None


def _compare(found: Any, operator: str, wanted: Any) -> bool:
    if operator in ("==", "!="):
        same = found == wanted and isinstance(found, bool) is isinstance(wanted, bool)
        return same is (operator == "==")
    pair: Sequence[Any] = (found, wanted)
    if not (all(isinstance(one, str) for one in pair) or all(isinstance(one, (int, float)) for one in pair)):
        return False
    return bool({"<": found < wanted, "<=": found <= wanted, ">": found > wanted, ">=": found >= wanted}[operator])
