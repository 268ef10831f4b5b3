"""Every page: found by axe to be accessible in light and dark, whole at 360 px, in both languages; kept as pictures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import keep, violations
from tests.support.browser import Simulator

#: Places and something that is there when they are complete, in English and Korean.
PAGES: Final = {
    "map": ("#/map", "a-general-1 ", "클러스터 맵"),
    "map-heat": ("#/map?mode=heat&fill=memory", "wait for a node", "클러스터 맵"),
    "map-table": ("#/map?view=table", "a-general-1", "클러스터 맵"),
    "objects": ("#/objects", "PriorityLevelConfiguration", "객체"),
    "list": ("#/list/pods?namespace=shop", "cache-0", "Pod"),
    "object": ("#/object/pods/shop/recommender-0", "FailedScheduling", "recommender-0"),
    "what-if": ("#/what-if", "Add the change", "만약에"),
    "create": ("#/create", "generateName", "만들기"),
    "scheduler": ("#/scheduler", "schedulerName", "스케줄러"),
    "learn": ("#/learn", "Taints and tolerations", "배우기"),
    "snapshot": ("#/snapshot", "Save as YAML", "스냅샷"),
}


def _open(page: Page, simulator: Simulator, name: str) -> None:
    place, sign, _ = PAGES[name]
    page.goto(f"{simulator.url}/{place}")
    page.get_by_text("9 nodes" if name == "map" else sign).first.wait_for()
    # What is drawn in batches is drawn now.
    page.wait_for_timeout(300)


@pytest.mark.parametrize("name", PAGES)
def test_page_is_accessible(page: Page, simulator: Simulator, name: str) -> None:
    """Names, roles, order of headings and contrast, in both themes."""
    _open(page, simulator, name)
    keep(page, name)
    found = violations(page)
    page.get_by_label("Theme").select_option("dark")
    page.wait_for_timeout(300)
    keep(page, f"{name}-dark")

    assert found == []
    assert violations(page) == []


@pytest.mark.parametrize("name", PAGES)
def test_page_fits_a_telephone_in_both_languages(
    new_page: Callable[..., Page], simulator: Simulator, name: str
) -> None:
    """Nothing but tables, which scroll by themselves, is wider than 360 px."""
    page = new_page(viewport={"width": 360, "height": 740}, locale="ko-KR")
    page.goto(simulator.login_url())
    page.wait_for_selector("nav")
    place, _, title = PAGES[name]
    page.goto(f"{simulator.url}/{place}")

    expect(page.get_by_role("heading", level=1)).to_have_text(title)
    page.wait_for_timeout(500)
    keep(page, f"{name}-narrow-ko")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert page.evaluate("document.documentElement.lang") == "ko"
    page.get_by_label("언어").select_option("en")
    expect(page.locator("html")).to_have_attribute("lang", "en")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


@pytest.mark.parametrize(
    "path", ["nothing", "constructor", "__proto__", "%E0%A4%A", "pod", "pod/shop", "object/pods/shop"]
)
def test_unknown_page_says_so(page: Page, simulator: Simulator, path: str) -> None:
    """Mistyped, named like what every JavaScript object has, cut inside a letter, or cut before it tells which object."""
    page.goto(f"{simulator.url}/#/{path}")
    page.reload()

    expect(page.get_by_role("heading", name="There is no such page")).to_be_visible()


def test_name_that_is_cut_inside_a_letter_is_looked_for_as_it_is(page: Page, simulator: Simulator) -> None:
    page.goto(f"{simulator.url}/#/pod/shop/%E0%A4%A")

    expect(page.get_by_role("heading", level=1)).to_have_text("shop/%E0%A4%A")
    expect(page.get_by_role("alert")).to_contain_text("there is no pod shop/%E0%A4%A")


def test_moment_that_is_none_leads_back_to_now(page: Page, simulator: Simulator) -> None:
    page.goto(f"{simulator.url}/#/map?at=-5")

    expect(page.get_by_role("alert").first).to_contain_text("'-5' is no whole number")
    page.get_by_role("button", name="Back to now").click()
    expect(page.get_by_text("9 nodes").first).to_be_visible()


def test_keyboard_reaches_the_content(page: Page) -> None:
    """The first key goes to a button that skips the navigation."""
    page.reload()
    page.get_by_role("heading", level=1).wait_for()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to content"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.tagName") == "H1"
