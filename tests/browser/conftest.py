"""What the tests of the web UI share: one Chromium, a simulator with the shop, pages that are watched for complaints."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright

from tests.support.browser import FLAGS, Simulator, chromium
from tools.build_ui import ROOT

#: What is kept to be looked at.
OUT = ROOT / "browser-out"
_AXE = ROOT / "ui" / "node_modules" / "axe-core" / "axe.min.js"
#: Only what never comes takes so long.
_WAIT_MS = 30_000


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium, one for all tests."""
    program = chromium()
    expect.set_options(timeout=_WAIT_MS)
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=program, args=list(FLAGS))
        yield launched
        launched.close()


@pytest.fixture(scope="module")
def simulator(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Simulator]:
    """A simulator of the module's own, with the shop of examples/."""
    with Simulator(tmp_path_factory.mktemp("home")) as running:
        running.load(*sorted((ROOT / "examples" / "shop").glob("*.yaml")))
        yield running


@pytest.fixture
def new_page(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Opens pages; at the end of the test none of them may have complained of anything."""
    contexts = []
    complaints: list[str] = []

    def make(*, watched: bool = True, **settings: Any) -> Page:
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 800}, "locale": "en-GB", **settings})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(_WAIT_MS)
        if not watched:
            return page
        page.on("pageerror", lambda error: complaints.append(f"error: {error}"))
        page.on("console", lambda message: complaints.append(message.text) if _is_complaint(message, page) else None)
        return page

    yield make
    for context in contexts:
        context.close()
    assert complaints == []


def _is_complaint(message: ConsoleMessage, page: Page) -> bool:
    if message.type != "error":
        return False
    # Requests that were refused, or that nobody answered, are the page's to tell its user.
    if message.text.startswith("Failed to load resource"):
        return False
    # Text that replaces coloured text in an editor is dressed by the browser itself, which the policy keeps out.
    editors = ("#/create", "#/object/", "#/scheduler", "#/what-if", "#/scenarios")
    has_editor = any(place in page.url for place in editors)
    return not (has_editor and message.text.startswith("Applying inline style"))


@pytest.fixture
def page(new_page: Callable[..., Page], simulator: Simulator) -> Page:
    """A page that is logged in."""
    opened = new_page()
    opened.goto(simulator.login_url())
    opened.wait_for_selector("nav")
    return opened


def keep(page: Page, name: str) -> None:
    """Keep a screenshot."""
    OUT.mkdir(exist_ok=True)
    page.screenshot(path=OUT / f"{name}.png")


def violations(page: Page) -> list[str]:
    """What axe finds wrong with a page."""
    page.wait_for_selector("h1")
    # The page's own policy lets no script in; the debugger may.
    page.evaluate(_AXE.read_text(encoding="utf-8"))
    found = page.evaluate("async () => (await axe.run(document, {resultTypes: ['violations']})).violations")
    return [f"{one['id']}: {one['help']}: {[node['html'] for node in one['nodes']][:3]}" for one in found]
