"""The columns of metrics of nodes and pods.

Mirrors: metrics-server's pkg/api/table.go (v0.8)
Differs: nothing.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from schedlab.apimachinery import quantity
from schedlab.apimachinery.quantity import Format
from schedlab.apimachinery.table import NAME, Cell, Column, Object, Printer, name_of

_COLUMNS: Final = (NAME, Column("cpu"), Column("memory"), Column("Window"))


def _cells(metrics: Object, usages: Sequence[Mapping[str, Any]]) -> Sequence[Cell]:
    cpu = sum((quantity.parse(each.get("cpu", "0")) for each in usages), quantity.of_int(0))
    memory = sum((quantity.parse(each.get("memory", "0")) for each in usages), quantity.of_int(0, Format.BINARY_SI))
    return name_of(metrics), str(cpu), str(memory), metrics.get("window", "")


def _node_cells(metrics: Object, _now_ns: int) -> Sequence[Cell]:
    return _cells(metrics, [metrics.get("usage", {})])


def _pod_cells(metrics: Object, _now_ns: int) -> Sequence[Cell]:
    return _cells(metrics, [each.get("usage", {}) for each in metrics.get("containers", ())])


PRINTERS: Final[Mapping[str, Printer]] = {
    "nodes": Printer(_COLUMNS, _node_cells),
    "pods": Printer(_COLUMNS, _pod_cells),
}
