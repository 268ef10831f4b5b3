"""Runs the notebooks of docs/notebooks from top to bottom and puts what comes out below their cells.

    python -m tools.refresh_notebooks

A cell's output is what it prints, then the value of its last expression, as text and (data frames) as HTML. `make docs`
calls this; a test compares each notebook with what comes out. No kernel is started: the cells run here, in one namespace.

Mirrors: nbformat 4.4, as far as these notebooks use it
"""

import ast
import contextlib
import io
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "notebooks"


def notebooks() -> list[Path]:
    """The notebooks of the documentation."""
    return sorted(FOLDER.glob("*.ipynb"))


def refreshed(text: str) -> str:
    """A notebook with the outputs that its cells have now; an exception of a cell is not caught."""
    notebook = json.loads(text)
    namespace: dict[str, Any] = {"__name__": "__main__"}
    count = 0
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            count += 1
            cell |= {"execution_count": count, "outputs": _outputs("".join(cell["source"]), namespace, count)}
    return json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def _outputs(source: str, namespace: dict[str, Any], count: int) -> list[Mapping[str, Any]]:
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    value = None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "<cell>", "exec"), namespace)  # noqa: S102 - running cells is what a notebook is for
        if last is not None:
            assert isinstance(last, ast.Expr)
            value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), namespace)  # noqa: S307 - as above
    out: list[Mapping[str, Any]] = []
    if printed.getvalue():
        out.append({"name": "stdout", "output_type": "stream", "text": _lines(printed.getvalue())})
    if value is not None:
        data = {"text/plain": _lines(repr(value))}
        if hasattr(value, "_repr_html_"):
            data["text/html"] = _lines(value._repr_html_())
        out.append({"data": data, "execution_count": count, "metadata": {}, "output_type": "execute_result"})
    return out


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def main() -> int:
    """Rewrite the notebooks."""
    for path in notebooks():
        path.write_text(refreshed(path.read_text(encoding="utf-8")), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
