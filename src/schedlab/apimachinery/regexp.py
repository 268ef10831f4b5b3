"""Regular expressions of users, as Go has them: the time of a match grows with the text, whatever the expression.

Mirrors: the package regexp of Go. Differs: nothing that is known.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import re2

if TYPE_CHECKING:
    import re

_OPTIONS: Final[Any] = re2.Options()
# The caller is told; nobody reads what the library prints.
_OPTIONS.log_errors = False


class RegexpError(ValueError):
    """An expression that cannot be read; the text says why."""


@lru_cache(maxsize=256)
def compiled(expression: str) -> re.Pattern[str]:
    """Return the pattern of an expression, with the methods of Python's; raises RegexpError."""
    try:
        pattern: re.Pattern[str] = re2.compile(expression, _OPTIONS)
    except re2.error as error:
        reason = error.args[0]
        text = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
        raise RegexpError(f"error parsing regexp: {text}") from None
    return pattern
