"""The notebooks of the documentation run from top to bottom and give what stands below their cells."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tools.refresh_notebooks import notebooks, refreshed


@pytest.mark.parametrize("notebook", notebooks(), ids=lambda path: path.name)
def test_outputs_in_the_notebooks_are_real(notebook: Path) -> None:
    """Every cell gives the output that stands below it; `make docs` writes it anew."""
    text = notebook.read_text(encoding="utf-8")

    assert refreshed(text) == text, "run `make docs`"


def test_there_are_notebooks() -> None:
    """The test above has something to run."""
    assert notebooks() != []


def test_what_a_cell_prints_and_says_is_put_below_it() -> None:
    """Text goes into a stream, the last value into a result, and names are known to later cells."""

    def code(source: str) -> dict[str, object]:
        return {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": [source]}

    given = {"cells": [code("x = 2\nprint(x)"), code("x + 1"), code("None")], "nbformat": 4, "nbformat_minor": 4}
    first, second, third = json.loads(refreshed(json.dumps(given)))["cells"]

    assert first["outputs"] == [{"name": "stdout", "output_type": "stream", "text": ["2\n"]}]
    assert second["outputs"][0]["data"] == {"text/plain": ["3"]}
    assert (third["outputs"], third["execution_count"]) == ([], 3)


def test_a_cell_that_fails_fails_the_notebook() -> None:
    """An exception is not put below a cell as if it were meant."""
    cell: dict[str, object] = {
        "cell_type": "code",
        "metadata": {},
        "outputs": [],
        "execution_count": None,
        "source": ["1 / 0"],
    }

    with pytest.raises(ZeroDivisionError):
        refreshed(json.dumps({"cells": [cell], "nbformat": 4, "nbformat_minor": 4}))
