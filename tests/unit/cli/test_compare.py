"""`schedlab compare` tells differences and moved pods, as text, JSON and a page that needs nothing else."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from schedlab.cli import main
from tests.unit.scenario.test_comparing import PACKING, SCENARIO

EVIL = "</title><script>alert(1)</script>"


class Page(HTMLParser):
    """Collects the tags and the attributes of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs


def compare(folder: Path, *arguments: str, scenario: str = SCENARIO) -> int:
    (folder / "s.yaml").write_text(scenario, encoding="utf-8")
    (folder / "packing.yaml").write_text(PACKING, encoding="utf-8")
    with pytest.raises(SystemExit) as ended:
        main(["compare", str(folder / "s.yaml"), "--jobs", "1", *arguments])
    code = ended.value.code
    assert isinstance(code, int)
    return code


def test_text_tells_differences_and_moved_pods(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compare(tmp_path, "--config", str(tmp_path / "packing.yaml"), "--seeds", "1..3") == 0

    told = capsys.readouterr().out
    assert "A  the scenario's own\n" in told
    assert re.search(r"nodes_used_max +nodes +4 +2 +-2 \[-2, -2\] better", told)
    assert re.search(r"\d+ pods are placed elsewhere with B", told)
    assert re.search(r"\d+ by NodeResourcesFit", told)


def test_json_has_values_of_every_seed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compare(tmp_path, "--seeds", "4,7", "-o", "json") == 0

    found = json.loads(capsys.readouterr().out)
    assert found["seeds"] == [4, 7]
    assert found["metrics"]["pods_scheduled"]["values"] == [[6, 6]]
    assert len({digest for [digest] in found["digests"]}) == 2


def test_report_stands_alone_and_escapes_everything(tmp_path: Path) -> None:
    scenario = SCENARIO.replace("kind: Scenario\n", f"kind: Scenario\nname: {EVIL!r}\n")
    report = tmp_path / "report.html"

    assert compare(tmp_path, "--config", str(tmp_path / "packing.yaml"), "--html", str(report), scenario=scenario) == 0

    text = report.read_text(encoding="utf-8")
    page = Page(text)
    assert {"svg", "table", "details", "path"} <= set(page.tags)
    assert not {"script", "link", "img", "iframe", "a"} & set(page.tags)
    assert not any(name in ("src", "href") or name.startswith("on") for name, _ in page.attributes)
    assert "http" not in text.replace('http-equiv="Content-Security-Policy"', "")
    assert "default-src 'none'" in text
    assert "&lt;script&gt;alert(1)" in text


@pytest.mark.parametrize("seeds", ["", "x", "3..1", "1..", "1..999999"])
def test_seeds_that_cannot_be_read_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str], seeds: str) -> None:
    assert compare(tmp_path, "--seeds", seeds) == 2
    assert "--seeds: " in capsys.readouterr().err


@pytest.mark.parametrize("place", ["nowhere/report.html", "."])
def test_a_report_that_cannot_be_written_is_refused_before_anything_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], place: str
) -> None:
    assert compare(tmp_path, "--html", str(tmp_path / place)) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "cannot be written: " in err
    assert "runs in" not in err
