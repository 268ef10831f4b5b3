"""Tables: columns on the wire, rows, ages."""

import pytest

from schedlab.apimachinery import table, time
from schedlab.apimachinery.table import AGE, DEFAULT, NAME, Column, Printer, Row

NOW = time.parse_time("2026-01-02T03:04:05Z")


def describe(kind: str, field: str) -> str:
    return f"about {kind.rpartition('.')[2]}.{field}"


def test_a_column_is_described_in_words_or_by_a_field() -> None:
    assert Column("Ready", description="words", priority=1).wire(describe) == {
        "name": "Ready",
        "type": "string",
        "format": "",
        "description": "words",
        "priority": 1,
    }
    assert NAME.wire(describe) == {
        "name": "Name",
        "type": "string",
        "format": "name",
        "description": "about ObjectMeta.name",
        "priority": 0,
    }


def test_kinds_without_columns_of_their_own_show_name_and_creation() -> None:
    assert [column.name for column in DEFAULT.columns] == ["Name", "Created At"]
    assert DEFAULT.row({"metadata": {"name": "x", "creationTimestamp": "2026-01-01T00:00:00Z"}}, NOW) == Row(
        ("x", "2026-01-01T00:00:00Z")
    )
    assert DEFAULT.row({"metadata": {"name": "x"}}, NOW).cells == ("x", "0001-01-01T00:00:00Z")


def test_a_row_may_say_something_about_itself() -> None:
    done = {"type": "Completed", "status": "True"}
    printer = Printer((NAME,), lambda obj, _: (table.name_of(obj),), lambda _: (done,))

    assert printer.row({"metadata": {"name": "x"}}, NOW) == Row(("x",), (done,))


def test_every_column_has_its_cell() -> None:
    with pytest.raises(AssertionError):
        Printer((NAME, AGE), lambda obj, _: (table.name_of(obj),)).row({"metadata": {}}, NOW)


def test_ages_count_from_the_moment_given() -> None:
    assert table.age({"metadata": {"creationTimestamp": "2026-01-02T03:00:00Z"}}, NOW) == "4m5s"
    assert table.age({"metadata": {}}, NOW) == "<unknown>"
    assert table.since("2026-01-02T03:04:05.500000Z", NOW) == "0s"
    assert table.between("2026-01-02T03:00:00Z", "2026-01-02T03:01:30Z") == "90s"
