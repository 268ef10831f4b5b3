"""Somebody who has never seen the page: from an empty cluster to a pod that runs, by what the page says alone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.browser import Simulator


@pytest.fixture
def simulator(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Simulator]:
    """An empty cluster."""
    with Simulator(tmp_path_factory.mktemp("home")) as running:
        yield running


def test_from_nothing_to_a_pod_that_runs(page: Page) -> None:
    """The shop is created, a pod waits, the reason is found, a fix is tried on a copy, made, and the pod runs."""
    page.get_by_role("link", name="Create the shop example").click()
    editor = page.locator(".cm-content")
    expect(editor).to_contain_text("name: shop")
    # What is checked is the shop as a whole: nothing of it is missing.
    with page.expect_response("**/object-checks") as checked:
        editor.click()
        page.keyboard.press("End")
        page.keyboard.type(" ")
    assert set(checked.value.json()["refusals"]) == {None}
    page.get_by_role("button", name="Create", exact=True).click()
    expect(page.get_by_text("Created 53 objects:")).to_be_visible()

    page.get_by_role("link", name="Cluster map").click()
    expect(page.get_by_text("9 nodes, 40 pods, 2 waiting")).to_be_visible()
    page.get_by_role("link", name="shop/recommender-0").click()
    expect(page.locator(".answer.waits")).to_contain_text("NodeResourcesFit turns down")
    page.get_by_role("button", name="Search the smallest changes").click()
    fix = page.locator(".suggestions > li").first
    expect(fix).to_contain_text("ask for 0 example.com/gpu instead of 1")
    fix.get_by_role("button", name="Try on a copy").click()
    expect(fix.get_by_role("status")).to_contain_text("shop/recommender-0: waits → ")
    fix.get_by_role("button", name="Make the change").click()
    page.get_by_role("dialog").get_by_role("button", name="Make the change").click()

    expect(page.locator(".answer")).to_contain_text("Scheduled on")
    expect(page.locator(".trace")).to_contain_text("Running was Pending")
