"""The page of an explanation stands alone and does nothing that a name in it might ask for."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

from schedlab.cli.explain_html import explain_html
from tests.unit.cli.test_explain_text import _explain
from tests.unit.decisions import records

HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>&amp;"


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[str] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def _page(**changes: Any) -> tuple[str, _Tags]:
    explanation = {**_explain(records.scheduled()), **changes}
    page = explain_html(explanation)
    tags = _Tags()
    tags.feed(page)
    return page, tags


def test_hostile_names_are_texts() -> None:
    cycle = records.scheduled(node_names=(HOSTILE, "b", "c", "d"), failure_message=HOSTILE)
    page = explain_html({**_explain(cycle), "pod": HOSTILE, "warnings": [HOSTILE], "state": {"text": HOSTILE}})
    tags = _Tags()
    tags.feed(page)

    assert {"script", "img", "iframe", "link", "object"}.isdisjoint(tags.tags)
    assert not [name for name in tags.attributes if name.startswith("on") or name in {"src", "href"}]
    assert any(HOSTILE in text for text in tags.texts)


def test_page_forbids_scripts_and_everything_from_elsewhere() -> None:
    page, _ = _page()

    assert "default-src 'none'; style-src 'unsafe-inline'" in page
    assert not re.search(r"https?://", page)


def test_tables_and_answer_are_there() -> None:
    page, tags = _page()

    assert tags.tags.count("table") == 2
    assert "Scheduled on c with 370 points, 65 ahead of a (305)." in page
    assert "NodeResourcesFit" in page
    assert '<tr class="chosen">' in page
