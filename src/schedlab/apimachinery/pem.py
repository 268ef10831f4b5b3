"""Blocks of binary data in text: -----BEGIN TYPE----- and so on.

Mirrors: Go's encoding/pem (Decode)
Differs: nothing.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

_BEGIN: Final = re.compile(rb"(?:\A|(?<=\n))-----BEGIN ([^\n]*)-----[ \t\r]*(?:\n|\Z)")
_HEADER: Final = re.compile(rb"([^:\n]*):([^\n]*)(?:\n|\Z)")
_SPACE: Final = re.compile(rb"[ \t\r\n]+")


@dataclass(frozen=True, slots=True)
class Block:
    """One block."""

    type: str
    headers: Mapping[str, str]
    data: bytes


def blocks(text: bytes) -> Iterator[Block]:
    """Yield the blocks of a text; what stands around them, or is broken, is passed over."""
    position = 0
    while begin := _BEGIN.search(text, position):
        found = _block(begin.group(1), text, begin.end())
        if found is None:
            position = begin.end()
        else:
            block, position = found
            yield block


def _block(kind: bytes, text: bytes, start: int) -> tuple[Block, int] | None:
    """Read what follows the first line of a block; also say where the block ends."""
    headers: dict[str, str] = {}
    while header := _HEADER.match(text, start):
        headers[header.group(1).strip().decode()] = header.group(2).strip().decode()
        start = header.end()
    trailer = re.compile(rb"(?:\A|(?<=\n))-----END " + re.escape(kind) + rb"-----[ \t\r]*(?:\n|\Z)")
    end = trailer.search(text, start)
    if end is None:
        return None
    try:
        data = base64.b64decode(_SPACE.sub(b"", text[start : end.start()]), validate=True)
    except binascii.Error:
        return None
    return Block(kind.decode(errors="replace"), headers, data), end.end()
