"""The scheduler's configuration and snapshots: changed, refused with the reason, saved, loaded and taken back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import yaml
from playwright.sync_api import Page, expect

from tests.support.browser import Simulator

NAMESPACES = "/k8s/api/v1/namespaces"
CONFIGURATION = "/api/v1/schedulerconfiguration"


def _write(page: Page, text: str) -> None:
    page.locator(".cm-content").click()
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.insert_text(text)
    page.get_by_role("button", name="Apply").click()


def _profiles(simulator: Simulator) -> list[str]:
    return [profile["schedulerName"] for profile in simulator.api("GET", CONFIGURATION).json()["profiles"]]


def test_configuration_is_changed(page: Page, simulator: Simulator) -> None:
    page.goto(f"{simulator.url}/#/scheduler")
    page.get_by_text("schedulerName: default-scheduler").first.wait_for()
    _write(page, "profiles:\n- schedulerName: default-scheduler\n- schedulerName: packer\n")

    expect(page.get_by_text("The configuration is in force.")).to_be_visible()
    assert _profiles(simulator) == ["default-scheduler", "packer"]


def test_unusable_configuration_is_refused_and_the_old_one_stays(page: Page, simulator: Simulator) -> None:
    before = _profiles(simulator)
    page.goto(f"{simulator.url}/#/scheduler")
    page.get_by_text("schedulerName: default-scheduler").first.wait_for()
    _write(page, "profiles:\n- schedulerName: default-scheduler\n  plugins: {score: {enabled: [{name: Nonsense}]}}\n")

    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("the old configuration stays in force")
    expect(alert).to_contain_text("Nonsense")
    assert _profiles(simulator) == before


def test_mistakes_are_marked_before_anything_is_applied(page: Page, simulator: Simulator) -> None:
    """While one writes the server says what it would refuse, and changes nothing."""
    before = _profiles(simulator)
    page.goto(f"{simulator.url}/#/scheduler")
    page.get_by_text("schedulerName: default-scheduler").first.wait_for()
    page.locator(".cm-content").click()
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.insert_text("profiles:\n- schedulerName: a\n- schedulerName: b\n  percentageOfNodesToScore: 101\n")

    expect(page.locator(".cm-lint-marker-error")).to_have_count(1)
    page.locator(".cm-lint-marker-error").hover()
    expect(page.locator(".cm-tooltip-lint")).to_contain_text("profiles[1].percentageOfNodesToScore")
    assert _profiles(simulator) == before
    page.get_by_role("button", name="Load again").click()
    expect(page.locator(".cm-lint-marker-error")).to_have_count(0)


def test_snapshot_goes_out_and_comes_in(page: Page, simulator: Simulator, tmp_path: Path) -> None:
    """What was saved as YAML is what is loaded into an emptied cluster."""
    page.goto(f"{simulator.url}/#/snapshot")
    with page.expect_download() as download:
        page.get_by_role("button", name="Save as YAML").click()
    file = tmp_path / download.value.suggested_filename
    download.value.save_as(file)
    saved = yaml.safe_load(file.read_text())
    assert (file.name, len(saved["nodes"]), len(saved["pods"])) == ("export.yml", 9, 40)

    simulator.api("DELETE", "/k8s/api/v1/nodes/a-data-1")
    simulator.api("POST", "/k8s/api/v1/nodes", {"metadata": {"name": "extra"}})
    page.get_by_label("Empty the cluster first").check()
    page.get_by_label("File").set_input_files(file)
    expect(page.get_by_text("The snapshot is loaded.")).to_be_visible()
    names = {node["metadata"]["name"] for node in simulator.api("GET", "/k8s/api/v1/nodes").json()["items"]}
    assert names == {node["metadata"]["name"] for node in saved["nodes"]}


def test_unusable_snapshot_is_refused(page: Page, simulator: Simulator, tmp_path: Path) -> None:
    file = tmp_path / "bad.yml"
    file.write_text("pods: 7\n")
    page.goto(f"{simulator.url}/#/snapshot")
    page.get_by_label("File").set_input_files(file)

    expect(page.get_by_role("alert")).to_contain_text("pods")


def test_reset_asks_first(new_page: Callable[..., Page], tmp_path: Path) -> None:
    with Simulator(tmp_path) as simulator:
        page = new_page()
        page.goto(simulator.login_url())
        page.wait_for_selector("nav")
        simulator.api("POST", NAMESPACES, {"metadata": {"name": "made-later"}})
        page.goto(f"{simulator.url}/#/snapshot")
        reset = page.get_by_role("button", name="Reset")
        reset.click()
        page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
        assert "made-later" in simulator.api("GET", NAMESPACES).text
        reset.click()
        page.get_by_role("dialog").get_by_role("button", name="Reset").click()

        expect(page.get_by_text("The cluster is as at its start.")).to_be_visible()
        assert "made-later" not in simulator.api("GET", NAMESPACES).text
