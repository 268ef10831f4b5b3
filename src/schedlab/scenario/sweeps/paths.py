"""Values inside of documents by their paths: `cluster.nodes[0].count`, `labels[topology.kubernetes.io/zone]`.

A text in brackets is a key that holds dots, or the item of a list with that name: `loads[web]`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Final, TypeAlias

from schedlab.kernel.errors import SchedlabError

_STEP: Final = re.compile(r"(?:(?:^|(?<!^)\.)([^.\[\]]+))|\[([^\[\]]+)\]")
_FORM: Final = "write it like cluster.nodes[0].count or loads[web].count"


@dataclass(frozen=True, slots=True)
class Named:
    """A step by a text in brackets."""

    name: str


#: A key, the number of an item, or a text in brackets.
Step: TypeAlias = str | int | Named
Steps: TypeAlias = tuple[Step, ...]


def parse_path(text: str) -> Steps:
    """Return the steps of a path; raises SchedlabError."""
    steps: list[Step] = []
    end = 0
    for found in _STEP.finditer(text):
        if found.start() != end:
            break
        end = found.end()
        key, inside = found[1], found[2]
        steps.append(key if key is not None else int(inside) if inside.isdecimal() else Named(inside))
    if not steps or end != len(text) or not isinstance(steps[0], str):
        raise SchedlabError(f"{text!r} is no path", hint=_FORM)
    return tuple(steps)


def with_value(document: Any, steps: Steps, value: Any, *, grows: bool = False, adds: bool = False) -> Any:
    """Return a document with another value at a place; raises SchedlabError when there is no such place.

    grows: mappings get keys on the way that are not there; the last key may always be new. adds: lists get items of a
    name that is not there.
    """
    if not steps:
        return value
    step, rest = steps[0], steps[1:]
    if document is None and grows:
        document = [] if adds and isinstance(step, Named) else {}
    if isinstance(document, list):
        return _with_item(document, step, rest, value, grows=grows, adds=adds)
    if not isinstance(document, Mapping):
        raise SchedlabError(f"{step_text(step)} is asked of something that holds nothing", hint=_FORM)
    if isinstance(step, int):
        raise SchedlabError(f"[{step}] is asked of a mapping", hint=f"it has: {', '.join(map(str, document))}")
    key = step.name if isinstance(step, Named) else step
    if rest and key not in document and not grows:
        raise no_such(key, document)
    return {**document, key: with_value(document.get(key), rest, value, grows=grows, adds=adds)}


def no_such(key: str, document: Mapping[str, Any]) -> SchedlabError:
    """Return what to say of a key that a mapping does not have."""
    close = get_close_matches(key, map(str, document), 1)
    there = ", ".join(map(str, document)) or "nothing"
    return SchedlabError(f"there is no {key}", hint=f"did you mean {close[0]}?" if close else f"there are: {there}")


def _with_item(items: Sequence[Any], step: Step, rest: Steps, value: Any, *, grows: bool, adds: bool) -> list[Any]:
    if isinstance(step, str):
        raise SchedlabError(f"{step} is asked of a list", hint="name an item first, like [0]")
    if isinstance(step, int):
        if step >= len(items):
            raise SchedlabError(f"there is no item [{step}]", hint=f"there are {len(items)}, the first is [0]")
        index = step
    else:
        names = [item.get("name") if isinstance(item, Mapping) else None for item in items]
        if step.name in names:
            index = names.index(step.name)
        elif adds:
            return [*items, with_value({"name": step.name}, rest, value, grows=grows, adds=adds)]
        else:
            known = ", ".join(name for name in names if isinstance(name, str)) or "none with a name"
            raise SchedlabError(f"there is no item called {step.name}", hint=f"there are: {known}")
    return [*items[:index], with_value(items[index], rest, value, grows=grows, adds=adds), *items[index + 1 :]]


def step_text(step: Step) -> str:
    """Return a step as it is written."""
    return f"[{step}]" if isinstance(step, int) else f"[{step.name}]" if isinstance(step, Named) else step
