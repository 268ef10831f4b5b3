"""Memory is measured, and laid out anew without being changed."""

from __future__ import annotations

import sys

import pytest

from schedlab.cluster import memory

SMAPS = """\
55d0a0000000-55d0a1a00000 rw-p 00000000 00:00 0                          [heap]
Size:              26624 kB
KernelPageSize:        4 kB
Rss:               26624 kB
Pss:               26624 kB
AnonHugePages:         0 kB
VmFlags: rd wr mr mw me ac
7f0000100000-7f0002100000 rw-p 00000000 00:00 0
Size:              32768 kB
Rss:               32000 kB
AnonHugePages:     31000 kB
7f1000000000-7f1000800000 rw-p 00000000 00:00 0
Size:               8192 kB
Rss:                  64 kB
AnonHugePages:         0 kB
7f2000100000-7f2001100000 rw-p 00000000 00:00 0
Size:              16384 kB
Rss:               16384 kB
AnonHugePages:      2048 kB
7f3000000000-7f3010000000 rw-p 00000000 fe:00 77                         /some/file
Size:             262144 kB
Rss:              262144 kB
AnonHugePages:         0 kB
7f4000000000-7f4010000000 r--p 00000000 00:00 0
Size:             262144 kB
Rss:              262144 kB
AnonHugePages:         0 kB
"""


def test_what_is_in_use_and_not_huge_yet_is_laid_out_in_whole_pages() -> None:
    found = list(memory._to_be_huge(SMAPS))

    assert found == [(0x55D0A0000000, 26 << 20), (0x7F2000200000, 14 << 20)]
    assert all(start % (2 << 20) == 0 for start, _ in found)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not tell what lies where")
def test_laying_out_changes_nothing() -> None:
    before = [bytes([number % 251]) * 1000 for number in range(60_000)]
    memory.use_huge_pages()

    assert all(piece == bytes([number % 251]) * 1000 for number, piece in enumerate(before))
    assert memory.memory_bytes() > 60_000_000
