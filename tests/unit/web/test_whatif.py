"""REST calls that search: they ask a worker, and stop it when the client leaves."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import pytest

from schedlab.decisions.log import DecisionLog
from schedlab.kernel.errors import SchedlabError
from schedlab.web.app import SimulatorApp
from schedlab.web.logins import Logins
from schedlab.web.simulator import Simulator
from schedlab.whatif.workers import Question, WorkerError
from tests.unit.web.log_explainer import LogExplainer
from tests.unit.whatif.whatif_cluster import Lab

TOKEN = "s3cret"
PATH = "/api/v1/pods/default/p/what-would-help"
Ask = Callable[[Question], Awaitable[Any]]


async def call(
    ask: Ask | None, path: str = PATH, *, method: str = "GET", query: str = "", body: bytes = b"", leaves: bool = False
) -> tuple[int, Any]:
    """Return status and body of an answer; with `leaves` the client is gone before there is one."""
    sent: list[MutableMapping[str, Any]] = []
    given = [{"type": "http.request", "body": body}]

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    async def receive() -> MutableMapping[str, Any]:
        if method == "POST" and given:
            return given.pop()
        if leaves:
            return {"type": "http.disconnect"}
        await asyncio.Event().wait()
        raise AssertionError

    headers = [(b"host", b"127.0.0.1:1212"), (b"authorization", f"Bearer {TOKEN}".encode())]
    scope = {"type": "http", "method": method, "path": path, "query_string": query.encode(), "headers": headers}
    log = DecisionLog()
    await SimulatorApp(Simulator(log=log, explainer=LogExplainer(log), ask=ask, logins=Logins(TOKEN)))(
        scope, receive, send
    )
    return (sent[0]["status"], json.loads(sent[1]["body"])) if sent else (0, None)


def on(lab: Lab) -> Ask:
    """Answer in this process."""

    async def ask(question: Question) -> Any:
        return question(lab.cluster)

    return ask


def waiting() -> Lab:
    lab = Lab()
    lab.node("n", cpu="2")
    lab.pod("p", cpu="3")
    lab.settle()
    return lab


def test_what_would_help() -> None:
    status, body = asyncio.run(call(on(waiting())))

    assert status == 200
    assert body["suggestions"][0]["summary"] == "ask for 2 cpu instead of 3"
    assert body["suggestions"][0]["node"] == "n"


def test_what_would_have_helped() -> None:
    lab = waiting()
    lab.node("large")
    lab.settle(30)

    assert asyncio.run(call(on(lab)))[0] == 400
    status, body = asyncio.run(call(on(lab), query="attempt=1"))
    assert (status, body["suggestions"][0]["node"]) == (200, "n")


def test_mistakes_have_their_hint() -> None:
    status, body = asyncio.run(call(on(Lab(nodes=1))))

    assert status == 400
    assert body["message"] == "there is no pod default/p"
    assert body["hint"] == "see: kubectl get pods -n default"


@pytest.mark.parametrize(("busy", "status"), [(True, 429), (False, 504)])
def test_workers_that_do_not_answer(busy: bool, status: int) -> None:  # noqa: FBT001 - a case of the table
    async def ask(_: Question) -> Any:
        raise WorkerError("no", busy=busy)

    assert asyncio.run(call(ask)) == (status, {"message": "no"})


def test_a_client_that_leaves_ends_the_search() -> None:
    ended: list[str] = []

    async def ask(_: Question) -> Any:
        try:
            await asyncio.sleep(60)
        finally:
            ended.append("cancelled")

    assert asyncio.run(call(ask, leaves=True)) == (0, None)
    assert ended == ["cancelled"]


def test_without_a_cluster_there_is_nothing_to_fork() -> None:
    status, body = asyncio.run(call(None))

    assert status == 404
    assert "only a scheduler runs" in body["message"]


def test_errors_of_the_question_are_not_hidden() -> None:
    async def ask(_: Question) -> Any:
        raise SchedlabError("wrong", location="file.yaml")

    assert asyncio.run(call(ask)) == (400, {"message": "wrong", "location": "file.yaml", "hint": ""})


def test_what_if() -> None:
    lab = waiting()
    body = b'{"changes": [{"patch": "pod/nobody", "change": {}}]}'
    status, answer = asyncio.run(call(on(lab), "/api/v1/what-if", method="POST", body=body))
    assert (status, answer["message"]) == (400, 'pods "nobody" not found')

    body = b'{"changes": [{"cordon": "n"}], "forSeconds": 5}'
    status, answer = asyncio.run(call(on(lab), "/api/v1/what-if", method="POST", body=body))
    assert status == 200
    assert (answer["changes"], answer["ranForSeconds"], answer["moves"]) == (["cordon n"], 5, [])


@pytest.mark.parametrize(
    ("body", "location"),
    [
        (b"[]", ""),
        (b"{}", "changes"),
        (b'{"changes": [{"cordon": "n"}], "forSeconds": -1}', "forSeconds"),
        (b'{"changes": [{"cordon": "n"}], "forSeconds": true}', "forSeconds"),
        (b'{"changes": [{"cordon": "n"}, {"fly": "n"}]}', "changes[1]"),
    ],
)
def test_what_if_refuses(body: bytes, location: str) -> None:
    status, answer = asyncio.run(call(on(Lab()), "/api/v1/what-if", method="POST", body=body))

    assert (status, answer["location"]) == (400, location)
    assert answer["hint"]


POD = {"kind": "Pod", "metadata": {"name": "web"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


def test_fit_and_plans() -> None:
    lab = Lab()
    lab.node("n", cpu="4", pods="3", labels={"zone": "b"})
    lab.settle()

    def ask(path: str, **body: Any) -> dict[str, Any]:
        status, answer = asyncio.run(call(on(lab), path, method="POST", body=json.dumps(body).encode()))
        assert status == 200, answer
        found: dict[str, Any] = answer
        return found

    assert ask("/api/v1/fit", pod=POD)["fits"] == 3
    assert ask("/api/v1/fit", pod=POD, namespace="default", limit=2)["fits"] == 2
    node = {"kind": "Node", "apiVersion": "v1", "metadata": {"name": "m"}, "status": {"allocatable": {"pods": "1"}}}
    whole = {**POD, "apiVersion": "v1"}
    assert ask("/api/v1/plan/nodes", workload=[whole], template=node)["nodes"] == 0
    assert ask("/api/v1/plan/drain", selector="zone=b", forSeconds=5)["changes"] == ["cordon n", "drain n"]
    nameless = {**whole, "metadata": {}}
    first, second = ask("/api/v1/object-checks", objects=[whole, nameless])["refusals"]
    assert (first, second["code"]) == (None, 422)
    pytest.importorskip("ortools")
    assert ask("/api/v1/bound", goal="nodes")["bound"] == 0
    assert ask("/api/v1/bound", goal="pods", timeLimit=1)["proven"]


@pytest.mark.parametrize(
    ("path", "body", "location"),
    [
        ("/api/v1/fit", b"[]", "pod"),
        ("/api/v1/fit", b"{}", "pod"),
        ("/api/v1/fit", b'{"pod": {}}', "spec"),
        ("/api/v1/fit", b'{"pod": [], "limit": 1}', "pod"),
        ("/api/v1/fit", b'{"pod": {}, "limits": 1}', "limits"),
        ("/api/v1/fit", b'{"pod": {}, "limit": true}', "limit"),
        ("/api/v1/fit", b'{"pod": {}, "limit": 0}', "limit"),
        ("/api/v1/object-checks", b'{"objects": {}}', "objects"),
        ("/api/v1/object-checks", b'{"objects": [1]}', "objects"),
        ("/api/v1/plan/nodes", b'{"workload": [1], "template": {}}', "workload"),
        ("/api/v1/plan/nodes", b'{"workload": []}', "template"),
        ("/api/v1/bound", b'{"goal": "zones"}', "goal"),
        ("/api/v1/bound", b'{"goal": "nodes", "timeLimit": 31}', "timeLimit"),
        ("/api/v1/plan/drain", b'{"selector": "a=b"}', "selector"),
        ("/api/v1/plan/drain", b'{"selector": "a=b", "forSeconds": -1}', "forSeconds"),
    ],
)
def test_fit_and_plans_refuse(path: str, body: bytes, location: str) -> None:
    status, answer = asyncio.run(call(on(Lab()), path, method="POST", body=body))

    assert (status, answer["location"]) == (400, location)
    assert answer["hint"]


def test_pending_and_why_not_full() -> None:
    lab = waiting()
    status, answer = asyncio.run(call(on(lab), "/api/v1/pending", query="namespace=default&fixes=0"))
    assert (status, answer["pending"], answer["groups"][0]["fix"]) == (200, 1, None)
    status, answer = asyncio.run(call(on(lab), "/api/v1/why-not-full"))
    assert (status, answer["nodes"]) == (200, 1)
