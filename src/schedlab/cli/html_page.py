"""Pages that stand alone: no script, nothing loaded from elsewhere, and they forbid themselves both."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from typing import Final

from schedlab.cli.charts import DARK_STYLE, STYLE

_BRIGHT: Final = """
body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:76rem;padding:0 1rem;color:#1c2024;background:#fff}
h1,h2,h3,p,li,summary{overflow-wrap:anywhere}h1{font-size:1.3rem}h2{font-size:1.05rem;margin-top:2rem}
.answer{font-size:1.1rem}.message{background:#f3f4f6;padding:.6rem .8rem;border-radius:.4rem}
.scroll{overflow-x:auto}table{border-collapse:collapse}th,td{padding:.2rem .6rem;text-align:left;vertical-align:top}
th{border-bottom:2px solid #c9ced6}td{border-bottom:1px solid #e4e7ec}
.numbers td{white-space:nowrap;font-variant-numeric:tabular-nums}summary{cursor:pointer;padding:.2rem 0}
.no{color:#b3261e;font-weight:600}.ok{color:#1b6e3c}.chosen{background:#e8f3ec}
pre{background:#f3f4f6;padding:.6rem .8rem;border-radius:.4rem;width:max-content;min-width:100%;box-sizing:border-box}
svg{width:100%;min-width:30rem;max-width:48rem;display:block}svg text{font-size:11px;fill:currentColor}
"""
_DARK: Final = """
body{color:#e6e8ea;background:#16181b}.message,pre{background:#23272c}
th{border-color:#4a5058}td{border-color:#30353b}.no{color:#ff8a80}.ok{color:#7fd6a0}.chosen{background:#1d3a29}
"""
_STYLE: Final = f"{_BRIGHT}{STYLE}\n@media(prefers-color-scheme:dark){{{_DARK}{DARK_STYLE}}}"
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'"


def html_page(title: str, body: Iterable[str]) -> str:
    """Return a page; `body` is HTML in which every text is escaped already."""
    return "\n".join(
        (
            "<!doctype html>",
            '<html lang="en">',
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
            '<meta name="viewport" content="width=device-width">',
            f"<title>{escape(title)}</title>",
            f"<style>{_STYLE}</style>",
            f"<main><h1>{escape(title)}</h1>",
            *body,
            "</main></html>",
        )
    )


def scrolled(label: str, content: Iterable[str]) -> Iterator[str]:
    """Yield what may be wider than the page, so that it scrolls by itself, with the keyboard, too."""
    yield f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(label)}">'
    yield from content
    yield "</div>"


def table(label: str, head: Iterable[object], rows: Iterable[str], kind: str = "") -> Iterator[str]:
    """Yield a table that scrolls; `rows` are made by `row`, `kind` is its class."""
    yield from scrolled(label, (f'<table class="{escape(kind)}">', row("th", head), *rows, "</table>"))


def row(tag: str, cells: Iterable[object], kind: str = "") -> str:
    """Return a row of a table; `tag` is that of its cells, `kind` its class."""
    start = f'<tr class="{escape(kind)}">' if kind else "<tr>"
    return start + "".join(f"<{tag}>{escape(str(cell))}</{tag}>" for cell in cells) + "</tr>"
