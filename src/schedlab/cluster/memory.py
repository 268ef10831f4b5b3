"""How much memory this process uses."""

from __future__ import annotations

import gc
import os
import resource
import sys
from pathlib import Path
from typing import Final

_STATM: Final = Path("/proc/self/statm")


#: New objects between two looks at young ones, young looks per older one, older ones per look at everything.
_GARBAGE_THRESHOLDS: Final = (20_000, 20, 50)


def calm_garbage_collector() -> None:
    """Let the collector leave alone what is there now, and look less often at what comes.

    For processes that hold a cluster: most objects stay, and cycles are rare. Looking at hundreds of thousands of objects
    again and again would take a tenth of the time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_GARBAGE_THRESHOLDS)


def memory_bytes() -> int:
    """Return the resident memory; where the system does not tell, the most that it ever was."""
    if _STATM.exists():
        return int(_STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return memory_peak_bytes()


def memory_peak_bytes() -> int:
    """Return the most memory that was ever resident."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
