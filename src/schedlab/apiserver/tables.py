"""Objects and lists as Tables: what a kind's printer makes of them, and how much of an object stands beside its cells.

    {"kind":"Table", …,"columnDefinitions":[…],"rows":[{"cells":[…],"object":…} … ]}

Mirrors: asTable of staging/src/k8s.io/apiserver/pkg/endpoints/handlers/response.go (v1.36). Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import orjson

from schedlab.api.object import StoredObject, header
from schedlab.apimachinery.schema import read_data
from schedlab.apimachinery.table import DEFAULT, OBJECT_META, Printer
from schedlab.apiserver import printers
from schedlab.apiserver.encoding import (
    ObjectEncoder,
    Show,
    items_per_piece,
    list_metadata,
    partial_encoder,
    pieces,
    shown,
    whole,
)
from schedlab.kernel.clock import Clock
from schedlab.registry.request import ObjectList


@cache
def _columns() -> Mapping[Printer, bytes]:
    """Describe the columns of all printers at once: the big table of descriptions is read once and not kept."""
    types = _descriptions()
    found = {DEFAULT, printers.find("", "scale"), *(printer for _, printer in printers.all_printers())}
    return {
        printer: orjson.dumps([column.wire(lambda kind, field: types[kind][1][field]) for column in printer.columns])
        for printer in found
    }


def _descriptions() -> Mapping[str, tuple[str, Mapping[str, str]]]:
    types: Mapping[str, tuple[str, Mapping[str, str]]] = read_data("descriptions.json.gz")["types"]
    return types


@cache
def _metadata_texts() -> Mapping[str, str]:
    """Keep what is said of metadata, for tables of custom resources."""
    return _descriptions()[OBJECT_META][1]


def _columns_of(printer: Printer) -> bytes:
    found = _columns().get(printer)
    if found is None:
        found = orjson.dumps([column.wire(lambda _, field: _metadata_texts()[field]) for column in printer.columns])
    return found


class TableEncoder:
    """Encodes objects and lists as Tables; `include` is Object, Metadata or None."""

    def __init__(
        self, printer: Printer, clock: Clock, api_version: str, include: str, show: Show | None = None
    ) -> None:
        self._printer = printer
        self._clock = clock
        self._header = header("Table", api_version)
        self._columns = _columns_of(printer)
        show = show if include != "None" else None
        self._object = shown(_row_object(api_version, include), show) if include != "None" else _no_object
        self._at_once = items_per_piece(show)

    def list(self, objects: ObjectList) -> Iterator[bytes]:
        """Encode a list, in pieces."""
        parts = (self._header, list_metadata(objects), self._columns)
        head = b'{%b"metadata":%b,"columnDefinitions":%b,"rows":[' % parts
        return pieces(head, objects.items, self._row, b"]}", self._at_once)

    def one(self, obj: StoredObject, *, with_columns: bool = True) -> bytes:
        """Encode one object; a watch sends the columns with its first event only."""
        columns = self._columns if with_columns else b"null"
        parts = (self._header, obj.revision, columns, self._row(obj))
        return b'{%b"metadata":{"resourceVersion":"%d"},"columnDefinitions":%b,"rows":[%b]}' % parts

    def _row(self, obj: StoredObject) -> bytes:
        # The dict is not kept: a list of many objects would leave one with each of them.
        row = self._printer.row(obj.thaw(), self._clock.now_ns())
        if not row.conditions:
            return b'{"cells":%b,"object":%b}' % (orjson.dumps(row.cells), self._object(obj))
        conditions: list[dict[str, Any]] = [dict(condition) for condition in row.conditions]
        parts = (orjson.dumps(row.cells), orjson.dumps(conditions), self._object(obj))
        return b'{"cells":%b,"conditions":%b,"object":%b}' % parts


def _no_object(_obj: StoredObject) -> bytes:
    return b"null"


def _row_object(api_version: str, include: str) -> ObjectEncoder:
    if include == "Object":
        return whole
    return partial_encoder(api_version)
