"""How much of the free GPUs cannot be used by the pods of the run: the measure of the FGD paper.

For a node n and a shape m of pods, F_n(m) is the amount of free GPU that m cannot use:

    m does not fit on n, or asks for no GPU      all free GPU of n
    else                                         sum of the free parts of single GPUs smaller than min(1, GPU of m)

F_n(M) weighs the shapes by how often they come. The measure is the sum of F_n(M) over the sum of free GPU.

Whole GPUs are resources called */gpu, thousandths of one */gpu-milli. Which GPUs of a node a pod's thousandths are on is
not known: they are taken to fill one after the other.

Mirrors: Q. Weng et al., "Beware of Fragmentation", USENIX ATC 2023, section 3.
Differs: fit is judged by cpu, memory and GPU; types of GPUs are not told apart; shapes are those of all pods so far.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from schedlab.scheduler.framework.node_table import NodeTable
    from schedlab.scheduler.framework.types import PodInfo

_WHOLE: Final = "/gpu"
_MILLI: Final = "/gpu-milli"
_POINTS: Final = 1000
#: (milli cpu, memory, thousandths of GPUs) of a pod.
_Shape = tuple[int, int, int]
#: So many shapes, the most frequent ones, stand for all.
_SHAPES_MAX: Final = 256


def _points(requests: dict[str, int]) -> int:
    """Return thousandths of GPUs."""
    return sum(
        amount * _POINTS if name.endswith(_WHOLE) else amount
        for name, amount in requests.items()
        if name.endswith((_WHOLE, _MILLI))
    )


class Shapes:
    """The shapes of pods, with how often they came."""

    def __init__(self) -> None:
        self._counts: Counter[_Shape] = Counter()

    def count(self, pod: PodInfo) -> None:
        """Count a new pod in."""
        requests = pod.requests
        self._counts[requests.get("cpu", 0), requests.get("memory", 0), _points(requests)] += 1

    def fragmentation(self, table: NodeTable) -> float | None:
        """Return the measure, None when no GPU is free."""
        free = _free_points(table)
        total = int(free.sum())
        if not total or not self._counts:
            return None
        cpu = table.allocatable[0] - table.requested[0]
        memory = table.allocatable[1] - table.requested[1]
        partial = free % _POINTS
        lost = np.zeros(len(table))
        shapes = self._counts.most_common(_SHAPES_MAX)
        for (wanted_cpu, wanted_memory, wanted), count in shapes:
            # A pod that asks for whole GPUs cannot use a part of one.
            usable = free if wanted < _POINTS else free - partial
            fits = (cpu >= wanted_cpu) & (memory >= wanted_memory) & (usable >= wanted) if wanted else False
            in_parts = np.where(partial < min(wanted, _POINTS), partial, 0)
            lost += count * np.where(fits, in_parts, free)
        return float(lost.sum() / (total * sum(count for _, count in shapes)))


def _free_points(table: NodeTable) -> NDArray[np.int64]:
    """Return thousandths of free GPUs: int64[N]."""
    free = np.zeros(len(table), np.int64)
    for place, name in enumerate(table.resource_names):
        if name.endswith(_WHOLE):
            free += (table.allocatable[place] - table.requested[place]) * _POINTS
        elif name.endswith(_MILLI):
            free += table.allocatable[place] - table.requested[place]
    return np.maximum(free, 0)
