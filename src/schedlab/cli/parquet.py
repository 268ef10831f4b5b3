"""Rows as a Parquet file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Final

from schedlab.kernel.errors import SchedlabError

try:
    import pyarrow as pa
    import pyarrow.parquet as pq
except ImportError as error:
    raise SchedlabError(
        "writing Parquet needs pyarrow", location="-o parquet", hint="install it: pip install 'schedlab[parquet]'"
    ) from error

#: So many rows are held at a time, one row group of the file.
ROWS_AT_ONCE: Final = 50_000


def write_parquet(rows: Iterable[dict[str, Any]], file: Path) -> None:
    """Write rows, all with the same keys, to a file; without rows it has no columns."""
    groups = _groups(rows)
    first = next(groups, [])
    table = pa.Table.from_pylist(first)
    schema = pa.schema([_filled(field) for field in table.schema])
    try:
        with pq.ParquetWriter(file, schema) as writer:
            for group in (first, *groups):
                writer.write_table(pa.Table.from_pylist(group, schema=schema))
    except OSError as error:
        raise SchedlabError(
            f"cannot be written: {error}", location=str(file), hint="name another file: --file"
        ) from error


def _groups(rows: Iterable[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    iterator = iter(rows)
    while group := list(islice(iterator, ROWS_AT_ONCE)):
        yield group


def _filled(field: Any) -> Any:
    """A column of which the first rows say nothing (empty lists) holds texts."""
    if pa.types.is_list(field.type) and pa.types.is_null(field.type.value_type):
        return pa.field(field.name, pa.list_(pa.string()))
    return field
