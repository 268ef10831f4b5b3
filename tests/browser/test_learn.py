"""Lessons, taken in the page on a live cluster."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.conftest import keep, violations
from tests.support.browser import Simulator
from tests.support.lessons import FILES, read

LESSONS: Final = {path.stem.partition("-")[2]: read(path) for path in FILES}
CPU: Final = [{"name": "cpu", "weight": 1}]


def opened(page: Page, path: str) -> Page:
    page.goto(f"{page.url.split('#')[0]}#/{path}")
    return page


def begin(page: Page) -> str:
    """Create the objects of the step; returns what the run has at the end of its names."""
    page.get_by_role("button", name="Create the objects").click()
    return ready(page)


def ready(page: Page) -> str:
    """Wait for the question; returns the end of the run's names."""
    expect(page.get_by_role("group", name="Your prediction")).to_be_visible()
    return page.locator(".board h3").first.inner_text().rpartition("-")[2]


def predict(page: Page, question: dict[str, Any], said: str | list[str], run: str) -> None:
    """Give a prediction of any kind of question and see what comes of it."""
    names = [name.replace("x7k2p", run) for name in ([said] if isinstance(said, str) else said)]
    if question["asks"] == "order":
        for place, name in enumerate(names):
            for _ in range(len(names)):
                if page.locator(".ranking code").nth(place).inner_text() != name:
                    page.get_by_role("button", name=f"Move {name} up").click()
    for name in names if question["asks"] != "order" else ():
        fix = next((fix["text"]["en"] for fix in question.get("fixes", ()) if fix["name"] == name), name)
        words = "no node: the pod stays Pending" if name == "pending" else fix
        page.get_by_label(words.replace("`", "").replace("x7k2p", run), exact=True).check()
    page.get_by_role("button", name="Predict, and see").click()
    expect(
        page.get_by_role("heading", name="Not what you said").or_(page.get_by_role("heading", name="Right"))
    ).to_be_visible()


def other_than(page: Page, run: str) -> str:
    """The end of names of the run that comes after another one."""
    expect(page.locator(".board h3", has_text=run)).to_have_count(0)
    return ready(page)


def leave(page: Page) -> None:
    page.get_by_role("button", name="Remove and leave").click()
    expect(page.get_by_text("is removed").last).to_be_visible()


def made(simulator: Simulator) -> list[str]:
    """The namespaces of lessons, and the nodes of them."""
    query = "?labelSelector=schedlab.dev%2Flesson"
    found = [
        *simulator.api("GET", f"/k8s/api/v1/namespaces{query}-id").json()["items"],
        *simulator.api("GET", f"/k8s/api/v1/nodes{query}").json()["items"],
    ]
    return [each["metadata"]["name"] for each in found]


def configure(simulator: Simulator, **profile: Any) -> None:
    """Put a profile in force under the name of the default scheduler."""
    body = {"profiles": [{"schedulerName": "default-scheduler", **profile}]}
    simulator.api("POST", "/api/v1/schedulerconfiguration", body)


@pytest.mark.parametrize("lesson", LESSONS)
def test_how_does_the_scheduler_decide(page: Page, simulator: Simulator, lesson: str) -> None:
    """A lesson from its beginning to its end: each right prediction is confirmed by the decision of the live cluster."""
    opened(page, f"learn/{lesson}")
    run = begin(page)
    for number, step in enumerate(LESSONS[lesson]["steps"], 1):
        question = step["question"]
        predict(page, question, question["answer"], run)
        expect(page.get_by_role("heading", name="Right")).to_be_visible()
        expect(page.get_by_text("it comes out otherwise")).to_have_count(0)
        expect(page.get_by_text("not of the lesson")).to_have_count(0)
        assert violations(page) == []
        page.locator("#board").evaluate("heading => heading.scrollIntoView()")
        keep(page, f"learn-{lesson}-{number}")
        if number < len(LESSONS[lesson]["steps"]):
            page.get_by_role("button", name="Next step").click()
            expect(page.get_by_role("heading", name="Right")).to_have_count(0)
            run = ready(page)
    page.get_by_role("button", name="Finish").click()

    steps = len(LESSONS[lesson]["steps"])
    expect(page.get_by_text(f"{steps} of {steps} steps answered, {steps} predicted right")).to_be_visible()
    expect(page.get_by_text(f"lesson-{run} is removed")).to_be_visible()
    expect(page.get_by_role("heading", name="Made by lessons")).to_have_count(0)
    assert made(simulator) == []


def test_what_if_i_am_wrong(page: Page) -> None:
    """A wrong prediction is set against the decision, its numbers and its page."""
    question = LESSONS["requests"]["steps"][0]["question"]
    opened(page, "learn/requests/1")
    run = begin(page)
    predict(page, question, "large-x7k2p", run)

    expect(page.get_by_role("heading", name="Not what you said")).to_be_focused()
    expect(page.get_by_text(f"It was: small-{run}")).to_be_visible()
    expect(page.get_by_text("needs cpu 2, free 1 (allocatable 4, requested 3)")).to_be_visible()
    page.get_by_role("link", name="Everything about the decision of web").click()
    expect(page.get_by_role("heading", name=f"lesson-{run}/web")).to_be_visible()
    page.go_back()
    expect(page.get_by_role("heading", name="Not what you said")).to_be_visible()
    page.get_by_role("button", name="Once more").click()
    predict(page, question, "small-x7k2p", other_than(page, run))
    expect(page.get_by_role("heading", name="Right")).to_be_visible()
    leave(page)


def test_is_it_really_the_scheduler(page: Page, simulator: Simulator) -> None:
    """With another scheduler configuration the outcome is another one, and the lesson says that this is unusual."""
    packing = {"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "MostAllocated", "resources": CPU}}}
    configure(simulator, pluginConfig=[packing])
    opened(page, "learn/requests/3")
    run = begin(page)
    predict(page, LESSONS["requests"]["steps"][2]["question"], "small-x7k2p", run)

    expect(page.get_by_role("heading", name="Right")).to_be_visible()
    expect(page.get_by_text("it comes out otherwise")).to_be_visible()
    configure(simulator)
    leave(page)


def test_who_else_has_a_say(page: Page, simulator: Simulator) -> None:
    """Pods that tolerate every taint come to the nodes of a lesson, too; it names them."""
    template = {
        "metadata": {"labels": {"app": "agent"}},
        "spec": {"tolerations": [{"operator": "Exists"}], "containers": [{"name": "agent", "image": "agent"}]},
    }
    spec = {"selector": {"matchLabels": {"app": "agent"}}, "template": template}
    agents = "/k8s/apis/apps/v1/namespaces/default/daemonsets"
    simulator.api("POST", agents, {"metadata": {"name": "agent"}, "spec": spec})
    opened(page, "learn/requests/1")
    predict(page, LESSONS["requests"]["steps"][0]["question"], "small-x7k2p", begin(page))

    expect(page.get_by_text("not of the lesson, but tolerate every taint")).to_contain_text("default/agent-")
    simulator.api("DELETE", f"{agents}/agent")
    leave(page)


def test_can_i_leave_and_come_back(page: Page, simulator: Simulator) -> None:
    """Objects, the prediction and the answers are found again on another page, after a reload, and in a new tab."""
    question = LESSONS["taints"]["steps"][1]["question"]
    opened(page, "learn/taints/2")
    run = begin(page)
    opened(page, "map").get_by_text("nodes, ").wait_for()
    opened(page, "learn").get_by_text("begun in this browser").wait_for()
    page.get_by_role("link", name="Continue", exact=True).click()
    assert ready(page) == run
    page.reload()
    assert ready(page) == run
    predict(page, question, "gpu-x7k2p", run)
    page.close()

    again = page.context.new_page()
    again.goto(f"{simulator.url}/#/learn/taints/2")
    expect(again.get_by_role("heading", name="Not what you said")).to_be_visible()
    expect(again.get_by_text(f"You said: gpu-{run}")).to_be_visible()
    leave(again)
    expect(again.get_by_text("1 of 4 steps answered, 0 predicted right")).to_be_visible()
    again.get_by_role("button", name="Forget my answers").click()
    expect(again.get_by_text("steps answered")).to_have_count(0)


def test_two_tabs_do_not_meet(page: Page, simulator: Simulator) -> None:
    """The same lesson in two tabs works on two sets of objects."""
    question = LESSONS["node-affinity"]["steps"][0]["question"]
    other = page.context.new_page()
    for tab in (page, other):
        tab.goto(f"{simulator.url}/#/learn/node-affinity/1")
    first = begin(page)
    other.get_by_role("button", name="Create the objects").click()
    second = other_than(other, first)
    predict(page, question, question["answer"], first)
    predict(other, question, question["answer"], second)

    expect(page.get_by_text(f"Scheduled on two-{first}")).to_be_visible()
    expect(other.get_by_text(f"Scheduled on two-{second}")).to_be_visible()
    leave(page)
    expect(other.get_by_role("heading", name="Right")).to_be_visible()
    leave(other)
    assert made(simulator) == []


def test_who_cleans_up_what_others_left(page: Page, new_page: Callable[..., Page], simulator: Simulator) -> None:
    """Whatever lessons have made is listed and can be removed; who still was at it is told, and can go on."""
    opened(page, "learn/cycle/1")
    run = begin(page)
    other = new_page()
    other.goto(simulator.login_url())
    other.wait_for_selector("nav")
    opened(other, "learn").get_by_role("button", name=f"Remove lesson-{run}").click()
    other.get_by_role("dialog").get_by_role("button", name="Remove").click()
    expect(other.get_by_text(f"lesson-{run} is removed")).to_be_visible()
    assert made(simulator) == []

    expect(page.get_by_text("is no longer in the cluster")).to_be_visible()
    assert begin(page) != run
    leave(page)


def test_what_if_the_simulator_is_restarted(new_page: Callable[..., Page], tmp_path: Path) -> None:
    """Without its objects a step says why, and makes them anew."""
    page = new_page()
    with Simulator(tmp_path) as simulator:
        page.goto(simulator.login_url())
        page.wait_for_selector("nav")
        opened(page, "learn/cycle/1")
        begin(page)
        simulator.kill()
        simulator.start()

        expect(page.get_by_text("the simulator was started anew or reset")).to_be_visible()
        begin(page)
        leave(page)


def test_what_if_nobody_schedules(new_page: Callable[..., Page], tmp_path: Path) -> None:
    """Without a default scheduler there is no lesson; the page says so and what to do."""
    page = new_page()
    with Simulator(tmp_path, "--no-scheduler") as simulator:
        page.goto(simulator.login_url())
        page.wait_for_selector("nav")
        opened(page, "learn/requests/1").get_by_role("button", name="Create the objects").click()

        expect(page.get_by_text("No scheduler has taken up pod db.")).to_be_visible()
        expect(page.get_by_text("runs without one")).to_be_visible()
        leave(page)
        assert made(simulator) == []


@pytest.mark.parametrize(
    ("path", "status", "reason", "hint"),
    [
        ("namespaces", 403, "Forbidden", "has the rights of the administrator"),
        ("nodes", 409, "AlreadyExists", "takes names of its own"),
    ],
)
def test_what_if_the_server_refuses(page: Page, path: str, status: int, reason: str, hint: str) -> None:
    """What the API refuses is told with its cause and what to do; trying again goes on."""
    refusal = {"kind": "Status", "status": "Failure", "code": status, "reason": reason, "message": f"{path}: refused"}
    taken = {"metadata": {"name": "taken", "namespace": "", "labels": {}}}

    def answer(route: Route) -> None:
        is_new = route.request.method == "POST"
        route.fulfill(status=status if is_new else 200, json=refusal if is_new else taken)

    opened(page, "learn/cycle/1").get_by_role("button", name="Create the objects").wait_for()
    pattern = re.compile(rf"/k8s/api/v1/{path}(/[a-z0-9-]+)?(\?fieldManager.*)?$")
    page.route(pattern, answer)
    page.get_by_role("button", name="Create the objects").click()
    expect(page.get_by_text(f"{path}: refused")).to_be_visible()
    expect(page.get_by_text(hint)).to_be_visible()
    page.unroute(pattern)
    page.get_by_role("button", name="Try again").click()
    ready(page)
    leave(page)


def test_a_step_fits_a_telephone_and_speaks_korean(new_page: Callable[..., Page], simulator: Simulator) -> None:
    page = new_page(viewport={"width": 360, "height": 740}, locale="ko-KR", color_scheme="dark")
    page.goto(simulator.login_url())
    page.wait_for_selector("nav")
    opened(page, "learn/why-pending/3").get_by_role("button", name="객체 만들기").click()
    page.get_by_role("radio").first.check()
    keep(page, "narrow-learn-question")
    page.get_by_role("button", name="예측하고 확인하기").click()
    expect(page.get_by_role("heading", name="예측과 다릅니다")).to_be_visible()

    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert violations(page) == []
    keep(page, "narrow-learn")
    page.get_by_role("button", name="제거하고 나가기").click()
    expect(page.get_by_text("모두 제거했습니다")).to_be_visible()
