"""Who is let in: nothing of the cluster is seen without a session, and nothing runs that is not ours."""

from __future__ import annotations

from collections.abc import Callable

import httpx
from playwright.sync_api import Page, expect

from tests.browser.conftest import keep, violations
from tests.support.browser import Simulator


def test_without_a_session_the_page_tells_how_to_get_one(new_page: Callable[..., Page], simulator: Simulator) -> None:
    page = new_page()
    page.goto(f"{simulator.url}/#/list/pods")

    expect(page.get_by_role("heading", name="Log in")).to_be_visible()
    expect(page.get_by_text("schedlab ui", exact=True)).to_be_visible()
    assert "db-3" not in page.content()
    assert violations(page) == []
    keep(page, "login")


def test_a_link_is_good_once(new_page: Callable[..., Page], simulator: Simulator) -> None:
    """It opens a session, leaves no trace in the address, and lets nobody else in."""
    link = simulator.run("ui").strip()
    first, second = new_page(), new_page()

    first.goto(link)
    expect(first.get_by_role("navigation")).to_be_visible()
    assert "login" not in first.url
    second.goto(link)
    expect(second.get_by_text("The link was not accepted.")).to_be_visible()


def test_a_session_ends_when_it_is_left(new_page: Callable[..., Page], simulator: Simulator) -> None:
    page = new_page()
    page.goto(simulator.login_url())
    page.get_by_role("button", name="Log out").click()

    expect(page.get_by_role("heading", name="Log in")).to_be_visible()
    page.goto(f"{simulator.url}/#/objects")
    expect(page.get_by_role("heading", name="Log in")).to_be_visible()
    assert page.context.cookies() == []


def test_scripts_cannot_read_the_cookie_and_the_cookie_alone_opens_nothing(page: Page, simulator: Simulator) -> None:
    assert page.evaluate("document.cookie") == ""
    [cookie] = page.context.cookies()
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")

    answer = httpx.get(f"{simulator.url}/k8s/api/v1/pods", cookies={cookie["name"]: cookie["value"]})
    assert answer.status_code == 401


def test_no_foreign_script_runs(new_page: Callable[..., Page], simulator: Simulator) -> None:
    """Neither inline, nor as a handler, nor from a data URL; the browser complains of each, as it should."""
    page = new_page(watched=False)
    page.goto(f"{simulator.url}/")
    page.evaluate(
        """() => {
            document.body.insertAdjacentHTML('beforeend', '<img src=x onerror="window.ran = 1">');
            for (const source of ['window.ran = 2', null]) {
                const script = document.createElement('script');
                if (source) script.textContent = source; else script.src = 'data:text/javascript,window.ran=3';
                document.body.append(script);
            }
        }"""
    )
    page.wait_for_timeout(300)

    assert page.evaluate("window.ran") is None
