"""Every page: found by axe to be accessible in light and dark, whole at 360 px, in both languages; kept as pictures."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from typing import Final

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import keep, violations
from tests.support.browser import Simulator
from tools.build_ui import BUILT

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


def test_built_files_are_small() -> None:
    """All that a browser ever loads, compressed."""
    assert sum(len(gzip.compress(file.read_bytes())) for file in BUILT.iterdir()) < 2_000_000


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


def test_links_that_look_like_buttons_do_so_on_the_first_page(page: Page, simulator: Simulator) -> None:
    """Styles do not wait until another page has brought them."""
    page.goto(f"{simulator.url}/#/object/pods/shop/cache-0")
    page.reload()
    link = page.get_by_role("link", name="Why is it there?")
    link.wait_for()

    assert link.evaluate("one => getComputedStyle(one).backgroundColor") != "rgba(0, 0, 0, 0)"


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


@pytest.mark.parametrize("moment", ["-5", "banana", "1.5", "1e3"])
def test_moment_that_is_none_is_told_and_leads_back_to_now(page: Page, simulator: Simulator, moment: str) -> None:
    page.goto(f"{simulator.url}/#/map?at={moment}")

    expect(page.get_by_role("alert").first).to_contain_text(f"“{moment}”, which is no number of a revision")
    expect(page.get_by_text("9 nodes").first).to_be_visible()
    page.get_by_role("button", name="Back to now").click()
    expect(page.get_by_role("alert")).to_have_count(0)
    assert "at=" not in page.url


@pytest.mark.parametrize(
    "link",
    ["map?fill=gold", "map?colour=taste", "what-if?changes=[1]", "what-if?changes={", "what-if?for=ever"],
)
def test_parts_of_a_link_that_mean_nothing_are_told(page: Page, simulator: Simulator, link: str) -> None:
    page.goto(f"{simulator.url}/#/{link}")

    said = link.partition("?")[2]
    expect(page.get_by_role("alert")).to_contain_text(f"The link says {said}, which means nothing here")
    page.get_by_role("button", name="Take it out of the link").click()
    expect(page.get_by_role("alert")).to_have_count(0)
    assert said.partition("=")[0] not in page.url


@pytest.mark.parametrize("language", ["en-GB", "ko-KR"])
def test_header_takes_one_row(new_page: Callable[..., Page], simulator: Simulator, language: str) -> None:
    page = new_page(locale=language)
    page.goto(simulator.login_url())
    page.wait_for_selector("nav")

    middles = (
        page.locator("header")
        .locator("a, select, button")
        .evaluate_all("all => all.map(one => one.getBoundingClientRect()).map(box => box.top + box.height / 2)")
    )
    assert len(middles) > 10
    assert max(middles) - min(middles) < 10
    expect(page.get_by_label("Theme" if language == "en-GB" else "테마")).to_have_value("system")


def test_header_is_reachable_on_a_telephone(new_page: Callable[..., Page], simulator: Simulator) -> None:
    """Every page of it and every setting lies within 360 px, where a finger finds it."""
    page = new_page(viewport={"width": 360, "height": 740})
    page.goto(simulator.login_url())
    page.wait_for_selector("nav")

    for control in page.locator("header").locator("a, select, button").all():
        control.click(trial=True)
        box = control.bounding_box()
        assert box is not None
        assert box["x"] + box["width"] <= 360
        assert box["height"] >= 24


@pytest.mark.parametrize(
    ("path", "current"),
    [
        ("map", ("Cluster map", "page")),
        ("list/pods", ("Objects", "true")),
        ("object/pods/shop/db-3", ("Objects", "true")),
        ("pod/shop/db-3", ("Objects", "true")),
        ("learn/cycle/1", ("Learn", "page")),
    ],
)
def test_navigation_tells_where_one_is(page: Page, simulator: Simulator, path: str, current: tuple[str, str]) -> None:
    page.goto(f"{simulator.url}/#/{path}")
    page.get_by_role("heading", level=1).wait_for()

    marked = page.locator("header [aria-current]")
    expect(marked).to_have_count(1)
    assert (marked.inner_text(), marked.get_attribute("aria-current")) == current


@pytest.mark.parametrize("path", ["list/pods?namespace=shop", "pod/shop/web-0", "map?view=table"])
def test_tables_are_read_in_their_order(page: Page, simulator: Simulator, path: str) -> None:
    """Heads before rows, rows from the first on, and nothing of overlays that are not shown."""
    page.goto(f"{simulator.url}/#/{path}")
    page.locator(".ag-row").first.wait_for()
    page.wait_for_timeout(300)
    grid = page.locator(".grid")
    rows = grid.locator("[role=row]").evaluate_all("all => all.map(row => Number(row.getAttribute('aria-rowindex')))")

    assert rows == sorted(rows)
    assert rows[0] == 1
    assert "No Rows" not in (grid.text_content() or "")


#: Words that follow each other in English, outside of what is marked as such.
_ENGLISH: Final = r"""() => {
    const found = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
        const holder = node.parentElement;
        if (holder.closest("[lang=en], code, .cm-content, script, style, noscript, .suggestions pre")) continue;
        if (/\b[A-Za-z][a-z']+(?: [a-z'()]+){2,}/.test(node.textContent)) found.push(node.textContent);
    }
    return found;
}"""


@pytest.mark.parametrize(
    "path",
    [
        *(place.removeprefix("#/") for place, _, _ in PAGES.values()),
        "pod/shop/db-3?node=a-data-1",
        "pod/shop/web-0",
        "pending",
        "scenarios",
        "learn/cycle/1",
        "map?at=banana",
        "object/pods/shop/nobody",
    ],
)
def test_english_is_marked_on_korean_pages(new_page: Callable[..., Page], simulator: Simulator, path: str) -> None:
    """What the simulator says in its own words has its language; the rest is Korean."""
    page = new_page(locale="ko-KR")
    page.goto(simulator.login_url())
    page.wait_for_selector("nav")
    page.goto(f"{simulator.url}/#/{path}")
    page.get_by_role("heading", level=1).wait_for()
    page.wait_for_timeout(1500)
    for summary in page.locator("summary").all():
        summary.click()

    assert page.evaluate(_ENGLISH) == []


def test_keyboard_reaches_the_content(page: Page) -> None:
    """The first key goes to a button that skips the navigation."""
    page.reload()
    page.get_by_role("heading", level=1).wait_for()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to content"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.tagName") == "H1"
