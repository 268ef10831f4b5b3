"""How much memory this process uses."""

from __future__ import annotations

import os
import resource
import sys
from pathlib import Path
from typing import Final

_STATM: Final = Path("/proc/self/statm")


def memory_bytes() -> int:
    """Return the resident memory; where the system does not tell, the most that it ever was."""
    if _STATM.exists():
        return int(_STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return memory_peak_bytes()


def memory_peak_bytes() -> int:
    """Return the most memory that was ever resident."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
