"""Answers as programs read them.

In YAML what is long is written an item a line, as JSON, which YAML is, too: a writer of blocks takes seconds for the nodes
of a big cluster. What has come as JSON is not read where it is only passed on.
"""

from __future__ import annotations

import re
from textwrap import indent
from typing import Any, Final, Literal

import msgspec
import orjson

#: Lists and mappings of more items are long.
_LONG: Final = 100
#: What JSON has as it is and YAML takes for the end of a line, or not at all.
_NOT_IN_YAML: Final = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_AS_LIST: Final = msgspec.json.Decoder(list[msgspec.Raw])
_AS_MAPPING: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])


def data_text(answer: Any, form: Literal["json", "yaml"]) -> str:
    """Return JSON values as text of that form."""
    return json_text(orjson.dumps(answer), form)


def json_text(answer: bytes, form: Literal["json", "yaml"]) -> str:
    """Return JSON as text of that form."""
    if form == "json":
        return msgspec.json.format(answer, indent=2).decode()
    value = answer.strip()
    text = _long(value)
    return (_blocks(orjson.loads(value)) if text is None else text).rstrip()


def _long(value: bytes) -> str | None:
    """Return a list or a mapping that is long, or has something long, as YAML; None of everything else."""
    if len(value) <= 2 * _LONG:
        return None
    if value.startswith(b"["):
        parts = _AS_LIST.decode(value)
        return _text(b"".join([b"- ", b"\n- ".join(parts), b"\n"])) if len(parts) > _LONG else None
    if not value.startswith(b"{"):
        return None
    items = _AS_MAPPING.decode(value)
    if len(items) > _LONG:
        return "".join([f"{_text(orjson.dumps(key))}: {_text(item)}\n" for key, item in items.items()])
    found = {key: _long(bytes(item)) for key, item in items.items()}
    if all(text is None for text in found.values()):
        return None
    return "".join([_item(key, bytes(items[key]), text) for key, text in found.items()])


def _item(key: str, value: bytes, text: str | None) -> str:
    """Return a key with its value, of which `text` is the YAML if it is long."""
    if text is None:
        return _blocks({key: orjson.loads(value)})
    heading = _blocks({key: None}).removesuffix(" null\n")
    return f"{heading}\n{text if value.startswith(b'[') else indent(text, '  ')}"


def _blocks(value: Any) -> str:
    import yaml

    return str(yaml.dump(value, Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=True, width=120))


def _text(value: bytes | msgspec.Raw) -> str:
    """Return JSON as YAML has it."""
    text = str(value, "utf-8")
    if text.isascii() and "\x7f" not in text:
        return text
    return _NOT_IN_YAML.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
