"""Files that users name: what is wrong is told with the file's name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from schedlab.apimachinery.yaml_file import documents_of, read_document, read_object, read_text
from schedlab.kernel.errors import SchedlabError

READERS: dict[str, Callable[[Path], Any]] = {
    "text": lambda file: read_text(file, "name another"),
    "document": lambda file: read_document(file, "name another"),
    "object": lambda file: read_object(file, "name another", "Thing", "example.com/v1"),
}


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_missing_file(read: Callable[[Path], Any], tmp_path: Path) -> None:
    with pytest.raises(SchedlabError, match=r"gone.yaml: cannot be read: No such file or directory") as caught:
        read(tmp_path / "gone.yaml")

    assert caught.value.hint == "name another"


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_file_that_is_no_text(read: Callable[[Path], Any], tmp_path: Path) -> None:
    file = tmp_path / "image.yaml"
    file.write_bytes(b"\xff\xfe\x00")

    with pytest.raises(SchedlabError, match=r"image.yaml: is no text: "):
        read(file)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [", "yaml: line 1"),
        ("a: 1\na: 2\n", 'key "a" already set in map'),
        ("- a\n", "holds list, not a Thing\nhint: it begins with `apiVersion: example.com/v1`"),
        ("", "holds NoneType, not a Thing"),
    ],
)
def test_file_that_holds_something_else(text: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "thing.yaml"
    file.write_text(text)

    with pytest.raises(SchedlabError) as caught:
        READERS["object"](file)

    assert str(caught.value).startswith(f"{file}: ")
    assert message in str(caught.value)


def test_of_a_repeated_key_the_last_counts_where_nobody_minds(tmp_path: Path) -> None:
    file = tmp_path / "thing.yaml"
    file.write_text("a: 1\na: 2\n---\nb: 3\n")

    assert read_document(file, "", strict=False) == {"a": 2}


def test_documents_that_say_nothing_are_left_out() -> None:
    assert [each.value for each in documents_of("---\n# nothing\n---\na: 1\n---\nb: 2\n", "-")] == [{"a": 1}, {"b": 2}]

    with pytest.raises(SchedlabError, match=r"^-: yaml: "):
        documents_of("a: 1\n---\n{", "-")
