"""The cluster map: what it tells, by pointer, by keys and in words, and that it stays up to date."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.support.browser import Simulator


def test_pointer_tells_and_opens(page: Page) -> None:
    """Over a node its numbers stand, over a stripe the pod, too; a click leads there."""
    page.get_by_text("9 nodes, 40 pods, 2 waiting").wait_for()
    page.wait_for_timeout(400)
    canvas = page.locator("canvas")
    canvas.hover(position={"x": 40, "y": 130})

    tip = page.locator(".tip")
    expect(tip).to_contain_text("a-data-1")
    expect(tip).to_contain_text("cpu: 2 / 8")
    expect(tip).to_contain_text("shop/db-")
    canvas.hover(position={"x": 40, "y": 50})
    expect(tip).not_to_contain_text("shop/db-")
    canvas.click(position={"x": 40, "y": 50})
    expect(page.get_by_role("heading", name="a-data-1")).to_be_visible()


def test_keys_go_from_node_to_node(page: Page) -> None:
    """What is reached is told to screen readers; Enter opens it."""
    page.get_by_text("9 nodes").wait_for()
    page.wait_for_timeout(400)
    page.get_by_role("application").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")

    expect(page.locator("[aria-live=polite].visually-hidden")).to_contain_text("a-general-1: cpu 60%, 6 pods")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="a-general-1")).to_be_visible()


def test_nodes_without_a_label_have_a_heading(page: Page, simulator: Simulator) -> None:
    """Those that lack what the others are grouped by come last, and say what they lack."""
    page.get_by_text("9 nodes").wait_for()
    simulator.api("POST", "/k8s/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "nowhere"}})
    page.get_by_label("Show").select_option("table")
    expect(page.get_by_role("row", name="nowhere")).to_contain_text("no zone")
    page.get_by_label("Groups").select_option("taints")
    expect(page.get_by_role("row", name="a-general-1")).to_contain_text("no taints")
    simulator.api("DELETE", "/k8s/api/v1/nodes/nowhere")


def test_waiting_pods_lead_to_their_reasons(page: Page) -> None:
    page.get_by_role("link", name="shop/recommender-0").click()

    expect(page.get_by_role("heading", level=1)).to_contain_text("recommender-0")


def test_map_follows_the_cluster(page: Page, simulator: Simulator) -> None:
    """A node that comes, changes and goes; a pod that goes."""
    page.get_by_text("9 nodes, 40 pods").wait_for()
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "late"}}
    simulator.api("POST", "/k8s/api/v1/nodes", node)
    page.get_by_text("10 nodes").wait_for()
    page.get_by_label("Show").select_option("table")
    expect(page.get_by_role("row", name="late")).to_be_visible()
    cordon = {"spec": {"unschedulable": True}}
    simulator.api("PATCH", "/k8s/api/v1/nodes/late", cordon, "application/merge-patch+json")
    expect(page.get_by_role("row", name="late")).to_contain_text("cordoned")
    simulator.api("DELETE", "/k8s/api/v1/nodes/late")
    page.get_by_text("9 nodes").wait_for()
    expect(page.get_by_role("row", name="late")).to_have_count(0)


def test_view_is_in_the_address(page: Page, simulator: Simulator) -> None:
    """So that it can be shared."""
    page.get_by_text("9 nodes").wait_for()
    page.get_by_label("Resource").select_option("memory")
    page.get_by_label("Groups").select_option("label:pool")
    page.get_by_label("Show").select_option("heat")
    shared = page.url
    page.goto("about:blank")
    page.goto(shared)

    expect(page.get_by_label("Resource")).to_have_value("memory")
    expect(page.get_by_label("Groups")).to_have_value("label:pool")
    expect(page.get_by_label("Show")).to_have_value("heat")
