"""The files of the web UI: what may be kept, what may run, and that nothing else can be read."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from schedlab.decisions.log import DecisionLog
from schedlab.web import pages
from schedlab.web.routing import Answer, Refusal, Request
from schedlab.web.simulator import Simulator
from tests.unit.web.log_explainer import LogExplainer


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder in place of what is built."""
    monkeypatch.setattr(pages, "_BUILT", tmp_path)
    pages._files.cache_clear()
    (tmp_path / "index.html").write_text('<meta name="style-nonce" content="{{nonce}}">')
    (tmp_path / "index-1a2b.js").write_text("1")
    (tmp_path / "sources.sha256").write_text("0")
    (tmp_path.parent / "secret.txt").write_text("2")
    yield tmp_path
    pages._files.cache_clear()


async def _nothing() -> dict[str, str]:
    return {"type": "http.disconnect"}


def _ask(path: str, **parameters: str) -> Answer:
    log = DecisionLog()
    request = Request("GET", path, {}, parameters, {}, _nothing)
    handler = pages.built_file if parameters else pages.page
    return asyncio.run(handler(Simulator(log=log, explainer=LogExplainer(log)), request))


def test_page_lets_only_its_own_files_run(built: Path) -> None:
    """Style sheets may be added with a nonce that is another one each time."""
    first, second = _ask("/"), _ask("/")
    policy = dict(first.headers)["content-security-policy"]
    nonce = first.body.decode().split('content="')[1].split('"')[0]

    assert f"style-src 'self' 'nonce-{nonce}'" in policy
    assert "script-src 'self';" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert first.body != second.body
    assert "cache-control" not in dict(first.headers)


def test_files_may_be_kept_for_ever(built: Path) -> None:
    answer = _ask("/ui/index-1a2b.js", file="index-1a2b.js")

    assert (answer.body, answer.content_type) == (b"1", "text/javascript")
    assert dict(answer.headers)["cache-control"] == "public, max-age=31536000, immutable"


@pytest.mark.parametrize("name", ["index.html", "sources.sha256", "../secret.txt", "secret.txt", "", "/etc/passwd"])
def test_nothing_else_can_be_read(built: Path, name: str) -> None:
    with pytest.raises(Refusal) as caught:
        _ask("/ui/x", file=name)

    assert caught.value.status == 404


def test_missing_build_is_told(built: Path) -> None:
    (built / "index.html").unlink()

    assert b"make ui" in _ask("/").body
