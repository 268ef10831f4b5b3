"""What people ask of scenarios, answered from the page alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import keep, violations
from tests.support.browser import Simulator

HOSTILE = '<img src=x onerror="window.ran=1">'
SCENARIO = """\
apiVersion: schedlab.dev/v1alpha1
kind: Scenario
cluster: {nodes: [{count: 3}]}
"""
#: Pods come for days; somebody has to end it.
LONG = f"""\
{SCENARIO}stop: {{at: 960h, when: time}}
loads:
- name: job
  arrivals: {{poisson: 1/s}}
  until: 900h
  pods:
  - runTime: exponential(5s)
    template: {{spec: {{containers: [{{name: a, image: a, resources: {{requests: {{cpu: "1"}}}}}}]}}}}
"""


def opened(page: Page, path: str) -> Page:
    page.goto(f"{page.url.split('#')[0]}#/{path}")
    return page


def write(page: Page, text: str, label: str = "Scenario") -> None:
    if label == "Scenario":
        page.get_by_role("combobox", name="Scenario", exact=True).select_option("written")
    editor = page.locator(f'.cm-content[aria-label="{label}"]')
    editor.click()
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.insert_text(text)


def test_what_happens_in_my_scenario(page: Page, simulator: Simulator) -> None:
    """An example is chosen and run: figures, assertions, charts, the pods that wait and why; the cluster stays as it is."""
    before = names_of_pods(simulator)
    opened(page, "scenarios?scenario=priority-and-preemption.yaml")
    # The editor has the same words, in a comment.
    about = page.get_by_text("A full cluster in which urgent pods push others out.", exact=True)
    expect(about).to_be_visible()
    page.get_by_role("button", name="Run", exact=True).click()

    expect(page.get_by_role("status").filter(has_text="finished")).to_be_visible()
    expect(page.get_by_text("All assertions hold.")).to_be_visible()
    expect(page.get_by_role("img", name="Preemptions so far.")).to_be_visible()
    assert violations(page) == []
    keep(page, "scenario-run")
    with page.expect_download() as download:
        page.get_by_role("button", name="run.json").click()
    saved = json.loads(download.value.path().read_text(encoding="utf-8"))
    assert saved["digest"] in page.locator("main").inner_text()
    assert names_of_pods(simulator) == before


@pytest.mark.parametrize(("waiting", "is_well"), [(1, True), (0, False)])
def test_did_it_go_as_it_should(page: Page, waiting: int, is_well: bool) -> None:  # noqa: FBT001 - a case of the table
    """What the scenario asserts says whether all is well; that a pod waits in the end may be meant."""
    pod = "{metadata: {name: big}, spec: {containers: [{name: a, image: a, resources: {requests: {cpu: 1k}}}]}}"
    objects = f"cluster: {{nodes: [{{count: 3}}], objects: [{{apiVersion: v1, kind: Pod, {pod[1:-1]}}}]}}\n"
    head, _, _ = SCENARIO.partition("cluster:")
    opened(page, "scenarios")
    write(page, f"{head}{objects}assertions:\n- {{metric: pods_pending, equals: {waiting}}}\n")
    page.get_by_role("button", name="Run", exact=True).click()

    answer = page.locator(".answer")
    expect(answer).to_contain_text("All assertions hold." if is_well else "1 of 1 assertion does not hold.")
    expect(page.get_by_text("1 pod waits at the end")).to_be_visible()
    assert ("waits" in (answer.get_attribute("class") or "")) is not is_well


def names_of_pods(simulator: Simulator) -> set[str]:
    pods = simulator.api("GET", "/k8s/api/v1/pods").json()["items"]
    return {pod["metadata"]["name"] for pod in pods}


def test_does_this_scheduler_configuration_do_better(page: Page) -> None:
    """Two configurations on one scenario: differences with their intervals, and the plugin that flipped each pod."""
    opened(page, "scenarios?scenario=rolling-load.yaml&with=packing.yaml")
    page.get_by_label("Seeds").fill("1..3")
    page.get_by_role("button", name="Compare", exact=True).click()

    expect(page.get_by_text("packing.yaml is clearly better in")).to_be_visible(timeout=90_000)
    row = page.get_by_role("row", name="nodes_used_mean")
    expect(row).to_contain_text("better")
    page.get_by_label("Flipped by").select_option("NodeResourcesFit")
    moved = page.get_by_role("row").filter(has_text="points over")
    expect(moved.first).to_be_visible()
    moved.filter(has=page.get_by_text("Points", exact=True)).first.get_by_text("Points", exact=True).click()
    expect(page.get_by_role("columnheader", name="NodeResourcesFit").first).to_be_visible()
    assert violations(page) == []
    page.set_viewport_size({"width": 1280, "height": 1300})
    page.evaluate("document.querySelector('h1').scrollIntoView()")
    keep(page, "scenario-comparison")
    with page.expect_download() as download:
        page.get_by_role("button", name="report.html").click()
    assert "<svg" in download.value.path().read_text(encoding="utf-8")


def test_how_is_it_going(page: Page) -> None:
    """A run is watched while it goes on, and cancelled; what had happened until then is told."""
    opened(page, "scenarios")
    write(page, LONG)
    page.get_by_role("button", name="Run", exact=True).click()

    expect(page.get_by_text("times as fast as a clock")).to_be_visible()
    expect(page.get_by_role("img", name="Pods that run.")).to_be_visible()
    page.wait_for_timeout(1500)
    keep(page, "scenario-live")
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_text("It was cancelled at")).to_be_visible()
    expect(page.get_by_role("button", name="pods.csv")).to_be_visible()


def test_which_of_two_runs_is_better(page: Page) -> None:
    """Two runs are chosen from the list and run again beside each other."""
    for choice in ("own", "packing.yaml"):
        opened(page, "scenarios?scenario=spread-over-zones.yaml")
        page.get_by_label("Run with").select_option(choice)
        page.get_by_role("button", name="Run", exact=True).click()
        expect(page.get_by_role("status").filter(has_text="finished")).to_be_visible()
    page.get_by_role("link", name="All scenarios").click()
    boxes = page.get_by_role("checkbox", name="Choose run")
    boxes.nth(0).check()
    boxes.nth(1).check()
    keep(page, "scenarios")
    page.get_by_role("button", name="Compare the two chosen runs").click()

    expect(page.get_by_text("pods are placed elsewhere").first).to_be_visible()
    expect(page.get_by_text("spread-over-zones.yaml, packing.yaml").first).to_be_visible()


def test_what_is_wrong_with_my_scenario(page: Page) -> None:
    """Mistakes are marked in their lines while one writes, and told with hints when it is run all the same."""
    opened(page, "scenarios")
    write(page, f"{SCENARIO}operations:\n- at: 5m\n  drain: node-7\nassertions:\n- metric: wait_p9\n  below: 3\n")

    expect(page.locator(".cm-lint-marker-error")).to_have_count(2)
    page.get_by_role("button", name="Run", exact=True).click()
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text(
        "scenario.yaml:6: operations[0].drain: no node is called node-7 (did you mean node-2?)"
    )
    expect(alert).to_contain_text(":8: assertions[0].metric: there is no metric wait_p9 (did you mean wait_p99?)")
    keep(page, "scenario-mistakes")


def test_which_fields_there_are(page: Page) -> None:
    """The published schema completes what is written."""
    opened(page, "scenarios")
    write(page, f"{SCENARIO}loads:\n- ")
    page.keyboard.press("Control+Space")

    expect(page.get_by_role("option", name="arrivals")).to_be_visible()


def test_my_own_configuration_is_checked_before_it_runs(page: Page) -> None:
    opened(page, "scenarios?config=written")
    expect(page.get_by_text("kind: KubeSchedulerConfiguration")).to_be_visible()
    write(
        page,
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofils: []\n",
        "written here A",
    )
    expect(page.locator(".cm-lint-marker-error")).to_have_count(1)
    page.get_by_role("button", name="Run", exact=True).click()

    expect(page.get_by_role("alert")).to_contain_text("profils")


def test_names_of_a_scenario_are_text(page: Page) -> None:
    """Whatever a scenario calls itself and its assertions is shown, never run."""
    hostile = json.dumps(HOSTILE)
    pods = "[{count: 1, template: {spec: {containers: [{name: a, image: a, resources: {requests: {cpu: '99'}}}]}}}]"
    text = SCENARIO.replace("]}", f"], pods: {pods}}}") + f"name: {hostile}\nstop: {{at: 1m}}\n"
    opened(page, "scenarios")
    write(page, f"{text}assertions: [{{metric: pods_pending, equals: 0}}]\n")
    page.get_by_role("button", name="Run", exact=True).click()

    expect(page.get_by_text("1 pod waits at the end")).to_be_visible()
    page.wait_for_timeout(200)
    assert page.evaluate("window.ran") is None
    assert page.locator("img[src=x]").count() == 0


def test_keyboard_reads_a_chart(page: Page) -> None:
    """A chart takes the focus, and arrows move a mark whose values are told."""
    opened(page, "scenarios?scenario=drain-a-zone.yaml")
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.get_by_role("heading", name="Distributions")).to_be_visible()
    chart = page.get_by_role("application", name="Pods that run")
    chart.focus()
    page.keyboard.press("ArrowRight")

    expect(page.locator(".mark")).to_have_count(1)
    expect(page.locator("figure").filter(has=page.locator(".mark")).locator(".readout")).not_to_be_empty()


@pytest.mark.parametrize("language", ["ko", "en"])
def test_scenarios_fit_a_telephone(new_page: Callable[..., Page], simulator: Simulator, language: str) -> None:
    """Nothing but tables, which scroll by themselves, is wider than 360 px; in the dark, too, axe finds nothing."""
    page = new_page(viewport={"width": 360, "height": 740}, locale=language, color_scheme="dark")
    page.goto(simulator.login_url())
    page.wait_for_selector("nav")
    opened(page, "scenarios?scenario=first-steps.yaml")
    page.locator(".cm-content").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert violations(page) == []
    keep(page, f"scenarios-narrow-{language}")
    page.locator("button.primary").click()
    page.locator("dl").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert violations(page) == []
    keep(page, f"scenario-run-narrow-{language}")


def test_a_folder_of_my_own(new_page: Callable[..., Page], tmp_path: Path) -> None:
    """`schedlab up --scenarios DIR` offers the files of a folder."""
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "mine.yaml").write_text(f"# My scenario.\n{SCENARIO}", encoding="utf-8")
    with Simulator(tmp_path, "--scenarios", str(folder)) as simulator:
        page = new_page()
        page.goto(simulator.login_url())
        page.wait_for_selector("nav")
        opened(page, "scenarios")
        expect(page.get_by_text("My scenario.").first).to_be_visible()
        expect(page.get_by_role("combobox", name="Scenario", exact=True).locator("option")).to_have_text(
            ["mine.yaml", "Written here"]
        )
