"""Reports of runs and comparisons: opened as files, without a network, in every light and on narrow pages."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from playwright.sync_api import Page, expect

from tests.browser.conftest import keep, violations
from tests.support.configurations import PACKING

HOSTILE = '<img src=x onerror="window.ran=1"><script>window.ran=2</script>'
LOOKS: dict[str, dict[str, Any]] = {
    "light": {},
    "dark": {"color_scheme": "dark"},
    "narrow": {"viewport": {"width": 360, "height": 740}},
}
CONTAINER = {"name": "c", "image": "c", "resources": {"requests": {"cpu": "1"}}}
SCENARIO = {
    "apiVersion": "schedlab.dev/v1alpha1",
    "kind": "Scenario",
    "name": HOSTILE,
    "cluster": {"nodes": [{"count": 4}]},
    "loads": [
        {
            "name": "job",
            "arrivals": {"every": "10s"},
            "count": 12,
            "pods": [{"template": {"spec": {"containers": [CONTAINER]}}, "runTime": "1m"}],
        }
    ],
    "assertions": [{"metric": "pods_failed", "equals": 0}, {"metric": "pods_created", "below": 3}],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a report of a comparison and one of a run, both of a scenario that is called like a script."""
    made = tmp_path_factory.mktemp("reports")
    (made / "day.yaml").write_text(yaml.safe_dump(SCENARIO))
    # A file's name may be a script as far as a file system lets it.
    (made / "<b onclick=run()>.yaml").write_text(yaml.safe_dump(PACKING))
    run = (sys.executable, "-m", "schedlab")
    compare = ("compare", "day.yaml", "--config", "<b onclick=run()>.yaml", "--seeds", "1..2", "--html", "compare.html")
    assert subprocess.run([*run, *compare], cwd=made, capture_output=True, check=False).returncode == 0
    assert (
        subprocess.run(
            [*run, "run", "day.yaml", "--html", "run.html"], cwd=made, capture_output=True, check=False
        ).returncode
        == 1
    )
    return made


@pytest.fixture
def opened(new_page: Callable[..., Page]) -> Callable[..., Page]:
    """Opens a report as a file; it asks for nothing, whatever is done with it."""

    def open_(report: Path, **settings: Any) -> Page:
        page = new_page(offline=True, **settings)
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto(report.as_uri())
        assert asked == [report.as_uri()]
        return page

    return open_


@pytest.mark.parametrize("report", ["compare", "run"])
@pytest.mark.parametrize("look", LOOKS)
def test_a_report_needs_nothing_and_can_be_read(
    report: str, look: str, folder: Path, opened: Callable[..., Page]
) -> None:
    page = opened(folder / f"{report}.html", **LOOKS[look])
    keep(page, f"report-{report}-{look}")

    charts = page.locator("svg[role=img]")
    assert charts.count() >= 5
    for place in range(charts.count()):
        box = charts.nth(place).bounding_box()
        assert box is not None
        assert (box["width"] >= 300, box["height"] >= 80) == (True, True)
    # What is wider than the page scrolls by itself.
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    assert violations(page) == []
    assert page.evaluate("window.ran") is None
    expect(page.get_by_role("heading", level=1)).to_contain_text("<script>window.ran=2</script>")
    assert page.locator("img, script, main b[onclick]").count() == 0


def test_pods_that_moved_are_told_with_their_decisions(folder: Path, opened: Callable[..., Page]) -> None:
    page = opened(folder / "compare.html")

    expect(page.get_by_role("heading", name="Pods placed elsewhere with B: <b onclick=run()>.yaml")).to_be_visible()
    moved = page.get_by_role("region", name="Pods placed elsewhere with B").locator("tr")
    assert moved.count() > 2
    expect(moved.nth(1)).to_contain_text("NodeResourcesFit")
    decision = page.locator("details", has=page.locator("summary", has_text="default/job-1 (seed 1) with B"))
    expect(decision.locator("table")).to_be_hidden()
    decision.locator("summary").click()
    expect(decision.locator("table")).to_be_visible()
    expect(decision.locator("tr.chosen")).to_have_count(1)
    # Metrics that are the same are folded away.
    page.get_by_text("metrics are the same").click()
    expect(page.get_by_role("region", name="Metrics that are the same")).to_be_visible()
    colours = (
        page.locator("svg")
        .nth(3)
        .locator("path[class]")
        .evaluate_all("all => all.map(one => getComputedStyle(one).color)")
    )
    assert len({*colours}) == 2, json.dumps(colours)
