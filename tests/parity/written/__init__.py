"""Cases of our own, in the format of the recorded ones, for what those do not reach.

What is expected of them was worked out from the source of kube-scheduler 1.36; each case says from which function. They
are run and judged like the recorded cases.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.parity.families import Case
from tests.parity.written import devices, hints, nodes, scores, volume_hints, volumes

_MODULES = (hints, volume_hints, nodes, volumes, devices, scores)


def cases() -> Iterator[Case]:
    """Return all cases."""
    for module in _MODULES:
        yield from module.cases()
