"""Pods that others decide about, too, or alone: what is told of that on the pod's page."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import keep, violations
from tests.support.browser import Simulator
from tools.build_ui import ROOT

PACKING = ROOT / "examples" / "scheduler-configurations" / "packing.yaml"
PODS = "/k8s/api/v1/namespaces/default/pods"


@pytest.fixture(scope="module")
def simulator(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Simulator]:
    """Two nodes; a configuration that packs decides in the shadow of one that spreads."""
    options = ("--nodes", "2", "--shadow-config", str(PACKING))
    with Simulator(tmp_path_factory.mktemp("home"), *options) as running:
        create(running, "first", nodeName="node-0")
        create(running, "second")
        yield running


def create(simulator: Simulator, name: str, **spec: object) -> None:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}
    body = {"metadata": {"name": name}, "spec": {"containers": [container], **spec}}
    simulator.api("POST", PODS, body)


def test_what_would_another_configuration_have_done(page: Page, simulator: Simulator) -> None:
    page.goto(f"{simulator.url}/#/pod/default/second")

    expect(page.get_by_text("Scheduled on node-1")).to_be_visible()
    shadows = page.get_by_role("region", name="In the shadow")
    expect(shadows).to_contain_text("would have chosen node-0.")
    expect(shadows).to_contain_text("NodeResourcesFit")
    assert violations(page) == []
    keep(page, "pod-shadow")


def test_who_has_placed_it_if_not_ours(page: Page, simulator: Simulator) -> None:
    page.goto(f"{simulator.url}/#/pod/default/first")

    expect(page.get_by_text("Somebody else has placed it: made with node-0 in its spec by")).to_be_visible()
    expect(page.locator(".answer")).to_contain_text("of ours would have chosen")
    page.get_by_label("Language").select_option("ko")
    expect(page.locator(".answer")).to_have_attribute("lang", "en")
