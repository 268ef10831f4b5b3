"""What people ask of a decision, answered from the page alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import keep, violations
from tests.support.browser import Simulator

HOSTILE = '<img src=x onerror="document.title=1">'


def opened(page: Page, path: str) -> Page:
    page.goto(f"{page.url.split('#')[0]}#/{path}")
    return page


def test_why_is_my_pod_pending(page: Page) -> None:
    """The answer, kube-scheduler's words, and what every node says."""
    opened(page, "pod/shop/db-3")

    expect(page.get_by_text("db-3 fits on none of")).to_be_visible()
    expect(page.get_by_text("didn't match pod anti-affinity rules")).not_to_have_count(0)
    expect(page.get_by_role("gridcell", name="turned down").first).to_be_visible()
    expect(page.get_by_text("In the unschedulable queue since")).to_be_visible()
    assert violations(page) == []
    keep(page, "pod-pending")


def test_why_not_that_node(page: Page) -> None:
    """The name of a node opens what its verdict rests on; the view has a link."""
    opened(page, "pod/shop/db-3")
    page.get_by_role("link", name="a-data-1", exact=True).click()

    expect(page.get_by_text("anti-affinity").last).to_be_visible()
    assert "node=a-data-1" in page.url
    page.reload()
    expect(page.get_by_role("heading", name="a-data-1")).to_be_visible()
    keep(page, "pod-node")


def test_why_this_node(page: Page) -> None:
    """Scores by plugin, ties and margin, and the difference to another node."""
    opened(page, "pod/shop/web-0")

    expect(page.get_by_role("heading", name="Why ")).to_be_visible()
    expect(page.get_by_role("columnheader", name="NodeResourcesFit ×1")).to_be_visible()
    page.get_by_label("Compare with").fill("c-general-1")
    page.get_by_label("Compare with").press("Enter")
    expect(page.get_by_text("against c-general-1")).to_be_visible()
    assert violations(page) == []
    keep(page, "pod-scheduled")


def test_who_made_this_pod(page: Page, simulator: Simulator) -> None:
    """The whole name of the client, however long that is."""
    agent = page.evaluate("navigator.userAgent")
    page.goto(f"{simulator.url}/#/create")
    page.get_by_text("generateName").wait_for()
    page.get_by_role("button", name="Create").click()
    name = page.locator("a.made").inner_text().removeprefix("Pod ")
    opened(page, f"pod/default/{name}")

    expect(page.locator(".trace")).to_contain_text(f"create by {agent} (")
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280


def test_a_page_to_keep(page: Page) -> None:
    """An explanation is saved as one page that needs nothing else."""
    opened(page, "pod/shop/web-0")
    with page.expect_download() as download:
        page.get_by_role("button", name="Save as a page").click()
    saved = download.value.path().read_text(encoding="utf-8")

    assert download.value.suggested_filename == "web-0-1.html"
    assert "Pod shop/web-0, attempt 1" in saved
    assert "<script" not in saved


def test_what_is_pending_and_why(page: Page) -> None:
    """Groups by reason, with the cheapest fix and links to the pods."""
    opened(page, "pending?namespace=shop")

    expect(page.get_by_text("pods wait for a node")).to_be_visible()
    expect(page.get_by_role("list", name="Cheapest fix")).to_have_count(2)
    assert violations(page) == []
    keep(page, "pending")
    page.get_by_role("link", name="shop/db-3").click()
    expect(page.get_by_role("heading", name="shop/db-3")).to_be_visible()


def test_what_would_help_is_tried_and_made(page: Page, simulator: Simulator) -> None:
    """A suggestion leaves the cluster alone when it is tried; when it is made the pod runs."""
    create(simulator, "picky", nodeSelector={"disk": "ssd"})
    opened(page, "pod/default/picky")
    page.get_by_role("button", name="Search the smallest changes").click()
    first = page.locator(".suggestions > li").first
    expect(first).to_contain_text("disk=ssd")
    expect(page.get_by_text("Cost has no unit")).to_be_visible()
    first.get_by_role("button", name="Try on a copy").click()
    expect(first.get_by_role("status")).to_contain_text("default/picky: waits → ")
    assert "nodeName" not in simulator.api("GET", "/k8s/api/v1/namespaces/default/pods/picky").json()["spec"]
    assert violations(page) == []
    keep(page, "pod-help")

    make(page, first)
    expect(page.get_by_text("has a node")).to_be_visible()


def test_a_pod_is_made_anew(page: Page, simulator: Simulator) -> None:
    """Where the API takes no change of a pod, it is replaced by what it should have been."""
    asked = {"example.com/fpga": "1"}
    create(
        simulator, "greedy", containers=[{"name": "c", "image": "i", "resources": {"requests": asked, "limits": asked}}]
    )
    opened(page, "pod/default/greedy")
    page.get_by_role("button", name="Search the smallest changes").click()
    first = page.locator(".suggestions > li").first
    expect(first).to_contain_text("ask for 0 example.com/fpga instead of 1")

    make(page, first)
    assert simulator.api("GET", "/k8s/api/v1/namespaces/default/pods/greedy").json()["spec"]["nodeName"]


def make(page: Page, suggestion: Locator) -> None:
    suggestion.get_by_role("button", name="Make the change").click()
    page.get_by_role("dialog").get_by_role("button", name="Make the change").click()
    expect(page.get_by_text("Scheduled on")).to_be_visible()


def create(simulator: Simulator, name: str, **spec: Any) -> None:
    body = {"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}
    simulator.api("POST", "/k8s/api/v1/namespaces/default/pods", body)


def test_names_and_messages_are_text(page: Page, simulator: Simulator) -> None:
    """What others have written into objects is shown, never run."""
    expression = {"key": "note", "operator": "In", "values": ["x"]}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    create(simulator, "hostile", containers=[{"name": "c", "image": HOSTILE}], affinity=affinity)
    opened(page, f"pod/default/hostile?filter={HOSTILE}&node={HOSTILE}")

    expect(page.get_by_text("hostile fits on none")).to_be_visible()
    expect(page.get_by_role("heading", name=HOSTILE)).to_be_visible()
    assert page.title() != "1"


@pytest.mark.parametrize("path", ["pod/shop/cache-0", "pending"])
def test_narrow_dark_and_korean(new_page: Callable[..., Page], simulator: Simulator, path: str) -> None:
    page = new_page(viewport={"width": 360, "height": 700}, locale="ko-KR", color_scheme="dark")
    page.goto(simulator.login_url())
    page.wait_for_selector("nav")
    opened(page, path)
    page.wait_for_selector("h2")

    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert violations(page) == []
    keep(page, f"narrow-{path.partition('/')[0]}")
