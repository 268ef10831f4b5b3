"""A page whose simulator goes away: it says so, comes back by itself, and has nothing lost or doubled."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.browser.conftest import keep
from tests.support.browser import Simulator

NAMESPACES = "/k8s/api/v1/namespaces"
_BACK_MS = 40_000


def _make(simulator: Simulator, *names: str) -> None:
    for name in names:
        simulator.api("POST", NAMESPACES, {"metadata": {"name": name}})


def _names(page: Page) -> list[str]:
    return page.locator(".ag-row [col-id=Name]").all_inner_texts()


def test_kept_cluster_goes_on(new_page: Callable[..., Page], tmp_path: Path) -> None:
    """The session still is good; what changed while nobody watched is there, each thing once."""
    with Simulator(tmp_path, "--data-dir", str(tmp_path / "data")) as simulator:
        page = new_page()
        page.goto(simulator.login_url())
        page.wait_for_selector("nav")
        _make(simulator, "stays", "goes")
        page.goto(f"{simulator.url}/#/list/namespaces")
        expect(page.get_by_role("row", name="goes")).to_be_visible()
        simulator.kill()
        expect(page.get_by_text("Disconnected.")).to_be_visible(timeout=_BACK_MS)
        keep(page, "disconnected")
        simulator.start()
        simulator.api("DELETE", f"{NAMESPACES}/goes")
        _make(simulator, "comes")

        expect(page.get_by_text("Disconnected.")).to_have_count(0, timeout=_BACK_MS)
        expect(page.get_by_role("row", name="comes")).to_be_visible()
        expect(page.get_by_role("row", name="goes")).to_have_count(0)
        assert sorted(_names(page)).count("stays") == 1


def test_page_that_is_opened_while_nobody_answers_comes_later(new_page: Callable[..., Page], tmp_path: Path) -> None:
    """Its file is not there yet; who waits is told so, and sees it once the simulator is back."""
    with Simulator(tmp_path, "--data-dir", str(tmp_path / "data")) as simulator:
        page = new_page()
        page.goto(simulator.login_url())
        page.get_by_role("heading", name="Cluster map").wait_for()
        simulator.kill()
        page.get_by_role("link", name="Snapshots").click()
        expect(page.get_by_text("The simulator does not answer.")).to_be_visible(timeout=_BACK_MS)
        simulator.start()

        expect(page.get_by_role("heading", name="Snapshots")).to_be_visible(timeout=_BACK_MS)


def test_another_cluster_takes_the_place(new_page: Callable[..., Page], tmp_path: Path) -> None:
    """Nothing of the cluster before is left, though its revisions were higher."""
    with Simulator(tmp_path) as simulator:
        page = new_page()
        page.goto(simulator.login_url())
        page.wait_for_selector("nav")
        _make(simulator, *(f"old-{number}" for number in range(5)))
        page.goto(f"{simulator.url}/#/list/namespaces")
        expect(page.get_by_role("row", name="old-4")).to_be_visible()
        simulator.kill()
        simulator.start()
        _make(simulator, "new")

        expect(page.get_by_role("row", name="new")).to_be_visible(timeout=_BACK_MS)
        expect(page.get_by_text("Disconnected.")).to_have_count(0)
        assert sorted(_names(page)) == ["default", "kube-node-lease", "kube-public", "kube-system", "new"]


def test_hidden_page_watches_nothing_and_catches_up(new_page: Callable[..., Page], tmp_path: Path) -> None:
    """Six tabs of a browser share six connections."""
    with Simulator(tmp_path) as simulator:
        page = new_page()
        page.goto(simulator.login_url())
        page.wait_for_selector("nav")
        page.goto(f"{simulator.url}/#/list/namespaces")
        expect(page.get_by_role("row", name="default")).to_be_visible()
        hide = "(is) => {Object.defineProperty(document, 'hidden', {value: is, configurable: true});"
        hide += "document.dispatchEvent(new Event('visibilitychange'))}"
        page.evaluate(hide, True)
        _make(simulator, "meanwhile")
        page.wait_for_timeout(600)
        expect(page.get_by_role("row", name="meanwhile")).to_have_count(0)
        page.evaluate(hide, False)

        expect(page.get_by_role("row", name="meanwhile")).to_be_visible()
