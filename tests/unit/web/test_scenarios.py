"""REST calls about scenarios: what may be chosen, what is refused with its place, runs from their beginning to their files."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from schedlab.decisions.log import DecisionLog
from schedlab.scenario.catalog import catalog_of
from schedlab.scenario.service import ScenarioRuns
from schedlab.web.app import SimulatorApp
from schedlab.web.simulator import Scenarios, Simulator
from schedlab.whatif.workers import Question
from tests.unit.scenario.test_comparing import PACKING, SCENARIO
from tests.unit.scenario.test_service import LONG, WORKER
from tests.unit.web.log_explainer import LogExplainer

#: Asks, and gives the status with the body: decoded if it is JSON, by lines if it is a stream of them.
Call = Callable[..., Awaitable[tuple[int, Any]]]


def serve(folder: Path, work: Callable[[Call], Awaitable[None]], **limits: Any) -> None:
    """Answer in this process, where a question is answered at once."""

    async def answer(question: Question) -> Any:
        return question(None)  # type: ignore[arg-type] # no question here is about the cluster

    async def go() -> None:
        runs = ScenarioRuns(folder / "runs", WORKER, **limits)
        log = DecisionLog()
        scenarios = Scenarios(catalog_of(folder / "offered", "--scenarios"), runs)
        app = SimulatorApp(Simulator(log=log, explainer=LogExplainer(log), ask=answer, scenarios=scenarios))
        try:
            await work(lambda *asked, **more: call(app, *asked, **more))
        finally:
            await runs.close()

    asyncio.run(go())


async def call(app: SimulatorApp, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    sent: list[Any] = []
    given = [{"type": "http.request", "body": b"" if body is None else json.dumps(body).encode()}]

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        if given:
            return given.pop()
        await asyncio.Event().wait()
        raise AssertionError

    headers = [(b"host", b"127.0.0.1:1212")]
    await app({"type": "http", "method": method, "path": path, "query_string": b"", "headers": headers}, receive, send)
    kind = dict(sent[0]["headers"])[b"content-type"]
    content = b"".join(message.get("body", b"") for message in sent[1:])
    if b"ndjson" in kind:
        return sent[0]["status"], [json.loads(line) for line in content.splitlines()]
    return sent[0]["status"], json.loads(content) if b"json" in kind else content.decode()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a scenario and a configuration to choose from."""
    offered = tmp_path / "offered"
    offered.mkdir()
    (offered / "six.yaml").write_text(f"# Six pods.\n{SCENARIO}", encoding="utf-8")
    (offered / "packing.yaml").write_text(PACKING, encoding="utf-8")
    (tmp_path / "secret.yaml").write_text("secret: 1\n", encoding="utf-8")
    return tmp_path


def test_what_there_is_to_choose(folder: Path) -> None:
    async def work(ask: Call) -> None:
        _, found = await ask("GET", "/api/v1/scenarios")
        assert found["scenarios"] == [{"name": "six.yaml", "about": "Six pods."}]
        assert found["configurations"] == [{"name": "packing.yaml", "about": ""}]
        assert found["kept"] == 20
        assert (await ask("GET", "/api/v1/scenarios/six.yaml"))[1]["text"].endswith(SCENARIO)
        status, missing = await ask("GET", "/api/v1/scenarios/..%2Fsecret.yaml")
        assert (status, missing["hint"]) == (404, "there are: packing.yaml, six.yaml")
        assert (await ask("GET", "/api/v1/scenario-schema"))[1]["title"] == "schedlab Scenario"

    serve(folder, work)


@pytest.mark.parametrize(
    ("body", "location", "words"),
    [
        ({"text": "kind: Scenario\ncluster:\n  nodes: 7\n"}, "scenario.yaml:3", "cluster.nodes: is 7, not a list"),
        ({"text": "a: [\n"}, "scenario.yaml", "did not find expected node content"),
        (
            {"scenario": "six.yaml", "text": SCENARIO + "schedulerConfig: ../secret.yaml\n"},
            "six.yaml:9",
            "not in the folder of scenarios",
        ),
        (
            {"scenario": "six.yaml", "configuration": {"name": "mine", "text": PACKING.replace("Most", "Most?")}},
            "mine",
            "Most?Allocated",
        ),
    ],
)
def test_mistakes_are_told_with_their_places(folder: Path, body: Any, location: str, words: str) -> None:
    async def work(ask: Call) -> None:
        status, found = await ask("POST", "/api/v1/scenario-checks", body)
        assert status == 200
        told = found["mistakes"][-1] if "nodes: 7" in body.get("text", "") else found["mistakes"][0]
        assert told["location"].endswith(location)
        assert words in told["message"]
        status, refused = await ask("POST", "/api/v1/scenario-runs", body)
        assert (status, refused["mistakes"]) == (400, found["mistakes"])
        assert (await ask("GET", "/api/v1/scenario-runs"))[1] == {"runs": []}

    serve(folder, work)


def test_a_good_scenario_has_no_mistakes(folder: Path) -> None:
    async def work(ask: Call) -> None:
        body = {"scenario": "six.yaml", "configuration": {"name": "packing.yaml"}}
        assert (await ask("POST", "/api/v1/scenario-checks", body))[1] == {"mistakes": []}

    serve(folder, work)


@pytest.mark.parametrize(
    ("path", "body", "words"),
    [
        ("runs", {}, "no scenario is given"),
        ("runs", {"scenario": "none.yaml"}, "there is no none.yaml"),
        ("runs", {"scenario": "six.yaml", "seed": "1"}, "is str, not int"),
        ("runs", {"scenario": "six.yaml", "configuration": {"text": "x"}}, "has no name"),
        ("runs", {"scenario": "six.yaml", "configuration": {"name": "x", "text": 1}}, "is no text"),
        ("comparisons", {"scenario": "six.yaml"}, "0 configurations are given"),
        ("comparisons", {"scenario": "six.yaml", "configurations": [{}, {}], "seeds": "x"}, "names no seeds"),
        ("comparisons", {"scenario": "six.yaml", "configurations": [{}, {}], "seeds": "1..101"}, "are too many"),
        ("comparisons", {"first": "7"}, "there is no run 7"),
        ("comparisons", [1], "is not given"),
    ],
)
def test_what_cannot_be_begun_is_refused(folder: Path, path: str, body: Any, words: str) -> None:
    async def work(ask: Call) -> None:
        status, found = await ask("POST", f"/api/v1/scenario-{path}", body)
        assert status in (400, 404)
        assert words in found["message"] or not isinstance(body, dict)

    serve(folder, work)


def test_runs_are_followed_compared_downloaded_and_forgotten(folder: Path) -> None:
    async def work(ask: Call) -> None:
        own = {"scenario": "six.yaml", "seed": 3}
        assert (await ask("POST", "/api/v1/scenario-runs", own))[0] == 201
        packing = {**own, "configuration": {"name": "packing.yaml"}}
        assert (await ask("POST", "/api/v1/scenario-runs", packing))[1]["id"] == "2"
        for number in (1, 2):
            _, told = await ask("GET", f"/api/v1/scenario-runs/{number}/progress")
            assert told[-1]["run"]["state"] == "finished"
        begun = await ask("POST", "/api/v1/scenario-comparisons", {"first": "1", "second": "2"})
        assert begun[1]["configurations"] == [
            "run 1: six.yaml, the scenario's own, seed 3",
            "run 2: six.yaml, packing.yaml, seed 3",
        ]
        await ask("GET", "/api/v1/scenario-runs/3/progress")
        _, third = await ask("GET", "/api/v1/scenario-runs/3")
        digests = [(await ask("GET", f"/api/v1/scenario-runs/{n}"))[1]["result"]["runs"][0]["digest"] for n in (1, 2)]
        assert third["result"]["comparison"]["digests"] == [digests]
        assert (await ask("GET", "/api/v1/scenario-runs/1/files/pods.csv"))[1].startswith("namespace,pod,")
        assert (await ask("GET", "/api/v1/scenario-runs/1/files/..%2F2%2Fpods.csv"))[0] == 404
        comparison = await ask("POST", "/api/v1/scenario-comparisons", {"first": "1", "second": "3"})
        assert comparison[1]["message"] == "3 is a comparison"

        assert (await ask("DELETE", "/api/v1/scenario-runs/1"))[0] == 200
        assert (await ask("GET", "/api/v1/scenario-runs/1"))[0] == 404

    serve(folder, work)


def test_a_run_is_cancelled_and_more_than_there_is_room_for_are_refused(folder: Path) -> None:
    async def work(ask: Call) -> None:
        assert (await ask("POST", "/api/v1/scenario-runs", {"text": LONG}))[0] == 201
        status, refused = await ask("POST", "/api/v1/scenario-runs", {"text": LONG})
        assert (status, refused["message"]) == (429, "1 runs are under way already; wait, or cancel one")
        assert (await ask("GET", "/api/v1/scenario-runs/1"))[1]["result"] is None
        assert (await ask("POST", "/api/v1/scenario-runs/1/cancel"))[0] == 202
        _, told = await ask("GET", "/api/v1/scenario-runs/1/progress")
        assert told[-1]["run"]["state"] == "cancelled"

    serve(folder, work, at_once_max=1, waiting_max=0)


def test_without_a_cluster_there_are_none() -> None:
    async def work() -> None:
        log = DecisionLog()
        app = SimulatorApp(Simulator(log=log, explainer=LogExplainer(log)))
        status, found = await call(app, "GET", "/api/v1/scenarios")
        assert (status, found["message"]) == (404, "no scenarios are run here: only a scheduler runs")

    asyncio.run(work())
