"""Answers as programs read them.

In YAML what is long is written an item a line, as JSON, which YAML is, too: a writer of blocks takes seconds for the nodes
of a big cluster.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from textwrap import indent
from typing import Any, Final, Literal

import orjson

#: Lists and mappings of more items are long.
_LONG: Final = 100
#: What JSON has as it is and YAML takes for the end of a line, or not at all.
_NOT_IN_YAML: Final = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


def data_text(answer: Any, form: Literal["json", "yaml"]) -> str:
    """Return JSON values as text of that form."""
    if form == "json":
        return orjson.dumps(answer, option=orjson.OPT_INDENT_2).decode()
    return _yaml(answer).rstrip()


def _yaml(value: Any) -> str:
    if not _has_long(value):
        return _blocks(value)
    if isinstance(value, Mapping):
        return "".join(_long_items(value) if len(value) > _LONG else _items(value))
    return "".join(f"- {_json(item)}\n" for item in value)


def _has_long(value: Any) -> bool:
    if isinstance(value, Mapping):
        return len(value) > _LONG or any(map(_has_long, value.values()))
    return isinstance(value, list) and len(value) > _LONG


def _long_items(value: Mapping[str, Any]) -> Iterator[str]:
    return (f"{_json(key)}: {_json(item)}\n" for key, item in value.items())


def _items(value: Mapping[str, Any]) -> Iterator[str]:
    for key, item in value.items():
        if _has_long(item):
            yield _blocks({key: None}).removesuffix(" null\n") + "\n"
            yield _yaml(item) if isinstance(item, list) else indent(_yaml(item), "  ")
        else:
            yield _blocks({key: item})


def _blocks(value: Any) -> str:
    import yaml

    return str(yaml.dump(value, Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=True, width=120))


def _json(value: Any) -> str:
    text = orjson.dumps(value).decode()
    if text.isascii() and "\x7f" not in text:
        return text
    return _NOT_IN_YAML.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
