"""docs/parity.md speaks of every required family."""

from __future__ import annotations

from pathlib import Path

from tests.parity.families import REQUIRED

PAGE = Path(__file__).resolve().parents[2] / "docs" / "parity.md"


def test_every_required_family_is_on_the_page() -> None:
    text = PAGE.read_text(encoding="utf-8")

    assert [family for family in REQUIRED if f"| {family} |" not in text] == []
