"""Tables of custom resources: the columns that a definition gives, filled by JSON paths.

Mirrors: staging/src/k8s.io/apiextensions-apiserver/pkg/registry/customresource/tableconvertor (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from schedlab.apimachinery.table import NAME, OBJECT_META, Cell, Column, Object, Printer, name_of, since
from schedlab.apimachinery.time import TimeError
from schedlab.registry.custom import json_path
from schedlab.registry.custom.json_path import JSONPathError

_AGE: Final = Column("Age", "date", field=(OBJECT_META, "creationTimestamp"))
_CREATED: Final = ".metadata.creationTimestamp"


def make_printer(columns: Sequence[Mapping[str, Any]]) -> Printer:
    """Return the printer of a version with these additional columns; without any, the age is shown."""
    try:
        paths = [json_path.parse(column["jsonPath"]) for column in columns]
    except JSONPathError:
        columns, paths = (), []
    made = [_column(column) for column in columns] or [_AGE]
    if not columns:
        paths = [json_path.parse(_CREATED)]

    def cells(obj: Object, now_ns: int) -> Sequence[Cell]:
        found = zip(made, paths, strict=True)
        return [name_of(obj), *(_cell(column.type, path.find(obj), now_ns) for column, path in found)]

    return Printer((NAME, *made), cells)


def _column(source: Mapping[str, Any]) -> Column:
    path = source["jsonPath"]
    description = source.get("description") or f"Custom resource definition column (in JSONPath format): {path}"
    kind, form = source.get("type", ""), source.get("format", "")
    return Column(source.get("name", ""), kind, form, description, priority=source.get("priority", 0))


def _cell(kind: str, found: Sequence[Any], now_ns: int) -> Any:
    """Make a cell of the first value that a path leads to; what does not fit the type of the column is nothing."""
    if not found or found[0] is None:
        return None
    value = found[0]
    if kind == "string":
        return json_path.to_text(value)
    if kind == "boolean":
        return value if isinstance(value, bool) else None
    if kind in ("integer", "number"):
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return None
        return int(value) if kind == "integer" else float(value)
    if kind == "date" and isinstance(value, str):
        try:
            return since(value, now_ns)
        except TimeError:
            return "<invalid>"
    return None
