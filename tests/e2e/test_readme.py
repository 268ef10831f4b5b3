"""The README's sessions print what it says they print."""

from __future__ import annotations

import sys
from pathlib import Path

from tools.refresh_readme import README, refreshed, simulator, timeless


def test_outputs_in_the_readme_are_real() -> None:
    """Every command of the README gives the output that stands below it; `make docs` writes it anew."""
    text = README.read_text(encoding="utf-8")

    with simulator(Path(sys.executable).parent) as environment:
        now = refreshed(text, environment)

    assert timeless(now) == timeless(text), "run `make docs`"
