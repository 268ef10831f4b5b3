"""What people ask of the past, answered from the page alone."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.conftest import keep, violations
from tests.support.browser import Simulator
from tools.build_ui import ROOT

BAR: Final = "Time machine"


@pytest.fixture(scope="module")
def simulator(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Simulator]:
    """The shop and a node without pods, in which `report` waits in vain; later that node goes, and another pod comes."""
    with Simulator(tmp_path_factory.mktemp("home")) as running:
        running.load(*sorted((ROOT / "examples" / "shop").glob("*.yaml")))
        create_empty_node(running, "spare")
        attempt_of(running, "web-8")
        time.sleep(1)
        create(running, "report", cpu="30")
        attempt_of(running, "report")
        running.api("DELETE", "/k8s/api/v1/nodes/spare")
        time.sleep(1)
        create(running, "latecomer", cpu="1")
        attempt_of(running, "latecomer")
        time.sleep(5)
        yield running


def create(simulator: Simulator, name: str, cpu: str) -> None:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    body = {"metadata": {"name": name}, "spec": {"containers": [container]}}
    simulator.api("POST", "/k8s/api/v1/namespaces/default/pods", body)


def create_empty_node(simulator: Simulator, name: str) -> None:
    """With pods on it, the node would leave orphans behind, which are collected at some time during the tests."""
    taint = {"key": "spare", "effect": "NoSchedule"}
    body = {"metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}}, "spec": {"taints": [taint]}}
    simulator.api("POST", "/k8s/api/v1/nodes", body)


def attempt_of(simulator: Simulator, pod: str, attempt: int = 1) -> dict[str, Any]:
    """Return an attempt once it is recorded."""
    for _ in range(100):
        found = simulator.api("GET", f"/api/v1/decisions?pod={pod}&attempt={attempt}").json()["items"]
        if found:
            return dict(found[0])
        time.sleep(0.1)
    raise AssertionError(pod)


def opened(page: Page, path: str) -> Page:
    page.goto(f"{page.url.split('#')[0]}#/{path}")
    return page


def bar(page: Page) -> Locator:
    return page.get_by_role("region", name=BAR)


def test_what_did_the_cluster_look_like_when_this_pod_failed(page: Page, simulator: Simulator) -> None:
    """From the pod's page to the map of its attempt; the view has a link; a button leads back to now."""
    revision = attempt_of(simulator, "report")["revision"]
    opened(page, "map")
    expect(page.get_by_text("9 nodes, ")).to_be_visible()
    opened(page, "pod/default/report")
    page.get_by_role("link", name="The cluster at this attempt").click()

    expect(page.get_by_text("10 nodes")).to_be_visible()
    expect(bar(page).get_by_text("The past: ")).to_be_visible()
    expect(bar(page).get_by_role("link", name="default/report · Attempt 1 · no node fits")).to_be_visible()
    assert page.url.endswith(f"at={revision}")
    page.reload()
    expect(page.get_by_text("10 nodes")).to_be_visible()
    page.wait_for_timeout(300)
    assert violations(page) == []
    keep(page, "time-machine")
    page.get_by_role("button", name="Back to now").click()
    expect(page.get_by_text("9 nodes, ")).to_be_visible()
    assert "at=" not in page.url


def test_every_page_shows_that_moment(page: Page, simulator: Simulator) -> None:
    """Lists, objects, pods and the pending board; nothing can be changed there."""
    then = attempt_of(simulator, "report")["revision"]
    opened(page, f"list/nodes?at={then}")
    expect(page.get_by_text("10 objects")).to_be_visible()
    page.get_by_role("link", name="spare", exact=True).click()
    expect(page.get_by_role("heading", name="spare")).to_be_visible()
    expect(page.get_by_text("kubernetes.io/hostname")).to_be_visible()
    expect(page.get_by_role("button", name="Delete")).to_have_count(0)

    opened(page, f"object/pods/default/latecomer?at={then}")
    expect(page.get_by_text("There was no such object at this moment.")).to_be_visible()
    opened(page, f"pod/default/latecomer?at={then}")
    expect(page.get_by_text("At this moment the pod had not been tried yet.")).to_be_visible()
    opened(page, f"pod/default/report?at={then}")
    expect(page.get_by_text("waited for a node at this moment")).to_be_visible()
    expect(page.get_by_text("In the unschedulable queue since")).to_have_count(0)
    assert violations(page) == []
    keep(page, "time-machine-pod")

    page.get_by_role("link", name="Pending", exact=True).click()
    assert f"at={then}" in page.url
    expect(page.get_by_role("link", name="default/report")).to_be_visible()
    expect(page.get_by_role("list", name="Cheapest fix").first).to_be_visible()
    assert violations(page) == []
    page.get_by_role("link", name="Create", exact=True).click()
    assert "at=" not in page.url


def test_from_attempt_to_attempt_by_keyboard(page: Page) -> None:
    """Steps of all pods, of failed attempts, and the slider; they are told to a screen reader."""
    opened(page, "map")
    page.get_by_role("button", name=BAR).press("Enter")
    expect(bar(page).get_by_role("status")).to_have_text("Now")
    expect(bar(page).get_by_role("button", name="Previous attempt")).to_be_enabled()
    bar(page).get_by_role("button", name="Previous attempt").press("Enter")
    expect(bar(page).get_by_role("status")).to_contain_text("default/latecomer · Attempt 1")
    expect(page.get_by_text("9 nodes, ")).to_be_visible()

    bar(page).get_by_label("Attempts").select_option("failed")
    bar(page).get_by_role("button", name="Previous attempt").press("Enter")
    expect(bar(page).get_by_role("status")).to_contain_text("no node fits")
    slider = bar(page).get_by_role("slider", name="Moment of the past")
    before = page.url
    slider.press("ArrowLeft")
    page.wait_for_url(lambda url: url != before)
    slider.press("Home")
    expect(page.get_by_text("0 nodes, 0 pods")).to_be_visible()
    slider.press("End")
    expect(page.get_by_text("9 nodes, ")).to_be_visible()
    expect(bar(page).get_by_role("status")).to_have_text("Now")


def test_a_pod_is_followed_through_its_attempts(page: Page, simulator: Simulator) -> None:
    """Of one pod only its own attempts are stepped through, and its page shows each."""
    opened(page, f"pod/default/report?at={attempt_of(simulator, 'latecomer')['revision']}")
    bar(page).get_by_label("Attempts").select_option("of this pod")
    bar(page).get_by_role("button", name="Previous attempt").click()
    expect(bar(page).get_by_role("link", name="default/report · Attempt")).to_be_visible()
    expect(page.get_by_text("report fits on none of")).to_be_visible()


def test_what_if_i_had_drained_that_node(page: Page, simulator: Simulator) -> None:
    """A change at a moment of the past, beside what really happened; the changes are part of the link."""
    then = attempt_of(simulator, "latecomer")
    opened(page, f"map?at={then['revision']}")
    bar(page).get_by_role("link", name="What if…").click()
    expect(page.get_by_text("The copy begins at the moment of the past")).to_be_visible()
    page.get_by_label("Node", exact=True).fill(then["node"])
    page.get_by_role("button", name="Add the change").click()
    expect(page.get_by_text(f"Drain a node: {then['node']}")).to_be_visible()
    page.reload()
    page.get_by_role("button", name="Try on a copy").click()

    row = page.get_by_role("row", name="default/latecomer")
    expect(row).to_be_visible()
    cells = row.get_by_role("cell").all_inner_texts()
    assert cells[0] == "waits"
    assert cells[1] not in ("waits", then["node"])
    assert cells[2] == then["node"]
    expect(page.get_by_text("would have ended up elsewhere")).to_be_visible()
    assert violations(page) == []
    keep(page, "what-if-past")


def test_what_if_with_manifests_and_another_configuration(page: Page) -> None:
    """Of now, too: every kind of change has its form, and what is wrong says so."""
    opened(page, "what-if")
    page.get_by_role("button", name="Try on a copy").click()
    expect(page.get_by_role("alert")).to_contain_text("Add a change first.")
    change = page.get_by_role("combobox", name="Change")
    change.select_option("delete")
    page.get_by_label("Object", exact=True).fill("pod/latecomer")
    page.get_by_role("button", name="Add the change").click()
    change.select_option("scale")
    page.get_by_label("Object", exact=True).fill("deployment/none")
    page.get_by_label("Replicas").fill("3")
    page.get_by_role("button", name="Add the change").click()
    page.get_by_role("button", name="Remove: Scale a workload: deployment/none -n default = 3").click()
    change.select_option("apply")
    page.get_by_role("textbox", name="YAML").fill("a: [")
    page.get_by_role("button", name="Add the change").click()
    expect(page.get_by_role("alert").first).to_be_visible()
    page.get_by_role("textbox", name="YAML").fill(
        '{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "extra"}, '
        '"spec": {"containers": [{"name": "c", "image": "i"}]}}'
    )
    page.get_by_role("button", name="Add the change").click()
    expect(page.get_by_text("Add or change objects: Pod extra -n default")).to_be_visible()
    change.select_option("patch")
    page.get_by_label("Object", exact=True).fill("node/a-general-1")
    page.get_by_role("textbox", name="YAML").fill("metadata: {labels: {disk: ssd}}")
    page.get_by_role("button", name="Add the change").click()
    page.get_by_label("Seconds to run").fill("5")
    page.get_by_label("Seconds to run").press("Tab")
    page.get_by_role("button", name="Try on a copy").click()
    expect(page.get_by_text("On a copy of the cluster, 5 seconds later:")).to_be_visible()
    expect(page.get_by_text("default/extra")).to_be_visible()
    change.select_option("schedulerConfig")
    expect(page.get_by_text("KubeSchedulerConfiguration")).to_be_visible()
    page.get_by_role("button", name="Add the change").click()
    expect(page.get_by_text("Another scheduler configuration").last).to_be_visible()
    assert violations(page) == []
    keep(page, "what-if")


def test_suggestions_can_be_tried_on_a_copy_of_then(page: Page, simulator: Simulator) -> None:
    """What would have helped a pod, and what would have come of it."""
    opened(page, f"pod/default/report?at={attempt_of(simulator, 'report')['revision']}")
    page.get_by_role("button", name="Search the smallest changes").click()
    first = page.locator(".suggestions > li").first
    first.get_by_role("button", name="Try on a copy of then").click()
    expect(first.get_by_role("row", name="default/report")).to_be_visible()
    expect(first.get_by_role("button", name="Make the change")).to_have_count(0)


def test_what_is_forgotten_is_told(new_page: Callable[..., Page], tmp_path_factory: pytest.TempPathFactory) -> None:
    """A simulator that keeps nothing of the past says so, and so does a moment that is no longer kept."""
    with Simulator(tmp_path_factory.mktemp("home"), "--history", "0") as running:
        page = new_page()
        page.goto(running.login_url())
        page.get_by_role("button", name=BAR).click()
        expect(page.get_by_text("keeps nothing of the past")).to_be_visible()
        opened(page, "map?at=2")
        expect(page.get_by_text("the past of revision 2 is no longer kept").first).to_be_visible()
        expect(page.get_by_text("start with a higher --history").first).to_be_visible()
        page.get_by_role("button", name="Back to now").click()
        expect(page.get_by_text("There are no nodes yet.")).to_be_visible()


@pytest.mark.parametrize("path", ["map", "what-if"])
def test_narrow_dark_and_korean(new_page: Callable[..., Page], simulator: Simulator, path: str) -> None:
    page = new_page(viewport={"width": 360, "height": 740}, locale="ko-KR", color_scheme="dark")
    page.goto(simulator.login_url())
    page.wait_for_selector("nav")
    opened(page, f"{path}?at={attempt_of(simulator, 'report')['revision']}")
    expect(page.get_by_role("region", name="타임머신").get_by_text("과거:")).to_be_visible()
    page.wait_for_timeout(500)

    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert violations(page) == []
    keep(page, f"time-machine-narrow-{path}")
