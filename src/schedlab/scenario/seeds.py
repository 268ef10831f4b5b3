"""Seeds as a user names them."""

from __future__ import annotations

from typing import Final

from schedlab.kernel.errors import SchedlabError

_SEEDS_MAX: Final = 10_000


def read_seeds(text: str, location: str) -> list[int]:
    """Read 1..20 or 1,2,5; raises SchedlabError."""
    found: dict[int, None] = {}
    for part in text.split(","):
        first, dots, last = part.strip().partition("..")
        if not first.isdecimal() or (dots and not last.isdecimal()) or (dots and int(last) < int(first)):
            raise SchedlabError(f"{part.strip()!r} names no seeds", location=location, hint="write 1..20, or 1,2,5")
        if dots and int(last) - int(first) >= _SEEDS_MAX:
            raise SchedlabError(f"{part} are too many", location=location, hint=f"give {_SEEDS_MAX} at most")
        found |= dict.fromkeys(range(int(first), int(last or first) + 1))
    return [*found]
