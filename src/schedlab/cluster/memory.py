"""How much memory this process uses, and how it lies."""

from __future__ import annotations

import ctypes
import gc
import os
import re
import resource
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_STATM: Final = Path("/proc/self/statm")
_SMAPS: Final = Path("/proc/self/smaps")
_AREA: Final = re.compile(
    r"^(?P<first>[0-9a-f]+)-(?P<last>[0-9a-f]+) rw-p \S+ \S+ 0 *(\[heap\])?\n"
    r"Size: +(?P<size>\d+) kB\n(?:(?!AnonHuge|[0-9a-f]+-).*\n)*?Rss: +(?P<resident>\d+) kB\n"
    r"(?:(?!AnonHuge|[0-9a-f]+-).*\n)*AnonHugePages: +(?P<huge>\d+) kB\n",
    re.MULTILINE,
)
_AREA_KIB_MIN: Final = 8 * 1024
_HUGE_BYTES: Final = 2 * 1024 * 1024
#: What part of an area is in use for it to be worth while.
_DENSE: Final = 0.9
#: include/uapi/asm-generic/mman-common.h of Linux, from 6.1 on.
_MADV_COLLAPSE: Final = 25


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


def keep_what_is_here() -> None:
    """Let the collector leave alone what is there now: for whoever brings in much that stays."""
    gc.freeze()


def memory_bytes() -> int:
    """Return the resident memory; where the system does not tell, the most that it ever was."""
    if _STATM.exists():
        return int(_STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return memory_peak_bytes()


def memory_peak_bytes() -> int:
    """Return the most memory that was ever resident."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def use_huge_pages() -> None:
    """Let the kernel lay this process's memory out in huge pages, as far as it is in use and the kernel can.

    A fork copies an entry per page: with pages of 2 MiB instead of 4 KiB it takes a twentieth of the time. This may take
    seconds at the first time, during which other threads go on.
    """
    library = ctypes.CDLL(None)
    library.madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    for start, size in _to_be_huge(_SMAPS.read_text() if _SMAPS.exists() else ""):
        # One that the kernel cannot lay out stays as it is.
        library.madvise(start, size, _MADV_COLLAPSE)


def _to_be_huge(smaps: str) -> Iterator[tuple[int, int]]:
    """Yield start and size of anonymous memory that is nearly all in use and not in huge pages yet."""
    for found in _AREA.finditer(smaps):
        size, resident, huge = (int(found[name]) for name in ("size", "resident", "huge"))
        if size >= _AREA_KIB_MIN and resident >= _DENSE * size and huge < _DENSE * resident:
            first, last = (int(found[name], 16) for name in ("first", "last"))
            start = -(-first // _HUGE_BYTES) * _HUGE_BYTES
            yield start, last // _HUGE_BYTES * _HUGE_BYTES - start
