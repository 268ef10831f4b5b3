"""The sessions of the README and of the guides print what they say they print."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tools.refresh_readme import ROOT, documents, refreshed, timeless


@pytest.mark.parametrize("document", documents(), ids=lambda path: str(path.relative_to(ROOT)))
def test_outputs_in_the_documents_are_real(document: Path) -> None:
    """Every command gives the output that stands below it; `make docs` writes it anew."""
    text = document.read_text(encoding="utf-8")

    now = refreshed(text, Path(sys.executable).parent)

    assert timeless(now) == timeless(text), "run `make docs`"
