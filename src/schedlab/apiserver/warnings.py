"""Warning headers: texts for the client that are no errors.

Mirrors: staging/src/k8s.io/apiserver/pkg/endpoints/filters/warning.go (v1.36). Differs: nothing.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from typing import Final

_TOTAL_MAX: Final = 4 * 1024
_ITEM_MAX: Final = 256


def warning_headers(texts: Iterable[str]) -> list[tuple[bytes, bytes]]:
    """Return one header per distinct text; when all together are too long, each one is cut."""
    distinct = [text for text in dict.fromkeys(texts) if text]
    if not distinct:
        return []
    if sum(map(len, distinct)) > _TOTAL_MAX:
        distinct = _cut(distinct)
    return [(b"warning", f'299 - "{_escape(text)}"'.encode()) for text in distinct if _is_printable(text)]


def _cut(texts: Sequence[str]) -> list[str]:
    kept, total = [], 0
    for text in texts:
        if total >= _TOTAL_MAX:
            break
        kept.append(text[:_ITEM_MAX])
        total += len(kept[-1])
    return kept


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _is_printable(text: str) -> bool:
    return not any(unicodedata.category(char) == "Cc" for char in text)
