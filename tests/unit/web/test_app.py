"""The simulator's REST API: what it shows, to whom, and what it refuses."""

from __future__ import annotations

import asyncio
import json
from collections.abc import MutableMapping
from typing import Any

import pytest

from schedlab.decisions.log import DecisionLog
from schedlab.web.app import SimulatorApp
from schedlab.web.logins import Logins
from schedlab.web.simulator import Simulator
from tests.unit.decisions import records
from tests.unit.web.log_explainer import LogExplainer

TOKEN = "s3cret"


def _request(
    path: str, method: str = "GET", query: str = "", *, token: str | None = TOKEN, **headers: str
) -> tuple[int, bytes]:
    log = DecisionLog()
    log.cycle(records.failed(1))
    log.cycle(records.scheduled(2))
    sent: list[MutableMapping[str, Any]] = []

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    async def receive() -> MutableMapping[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    given = {"host": "127.0.0.1:1212", **headers}
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "query_string": query.encode(),
        "headers": [(name.encode(), value.encode()) for name, value in given.items()],
    }
    app = SimulatorApp(
        Simulator(
            log=log,
            explainer=LogExplainer(log),
            status=lambda: {"revision": 7},
            logins=None if token is None else Logins(token),
        )
    )
    asyncio.run(app(scope, receive, send))
    return sent[0]["status"], sent[1]["body"]


def _authorized(path: str, query: str = "") -> tuple[int, Any]:
    status, body = _request(path, query=query, authorization=f"Bearer {TOKEN}")
    return status, json.loads(body)


def test_page_needs_no_token_and_shows_nothing() -> None:
    status, body = _request("/")

    assert status == 200
    assert b"schedlab" in body
    assert b"default-scheduler" not in body


def test_head_answers_without_a_body() -> None:
    assert _request("/", "HEAD") == (200, b"")


def test_health() -> None:
    assert _request("/healthz") == (200, b"ok")


def test_without_a_token_none_is_needed() -> None:
    """Host and Origin are looked at all the same."""
    assert _request("/api/v1/status", token=None)[0] == 200
    assert _request("/api/v1/status", token=None, origin="https://elsewhere.example.com")[0] == 403
    assert _request("/api/v1/status", token=None, host="elsewhere.example.com")[0] == 403


def test_status_is_what_the_cluster_tells() -> None:
    assert _authorized("/api/v1/status") == (200, {"revision": 7})


def test_newest_attempt_is_explained() -> None:
    status, body = _authorized("/api/v1/decisions/default/p")

    assert status == 200
    assert body["selected"] == "c"


def test_earlier_attempt_can_be_asked_for() -> None:
    status, body = _authorized("/api/v1/decisions/default/p", "attempt=1")

    assert status == 200
    assert body["result"] == "unschedulable"


@pytest.mark.parametrize(
    ("path", "query", "status", "message"),
    [
        ("/api/v1/decisions/default/x", "", 404, "no attempt to schedule pod default/x is recorded"),
        ("/api/v1/decisions/default/p", "allPlugins=1", 400, "allPlugins: '1' is neither true nor false"),
        (
            "/api/v1/decisions/default/p",
            "attempt=x",
            400,
            "attempt: 'x' is no whole number from 0 to 999999999999999999",
        ),
        ("/api/v1/decisions/default/p", "attempt=1&attempt=2", 400, "attempt is given 2 times; give it once"),
        ("/api/v1/decisions/default/", "", 404, "Not Found"),
        ("/api/v1/nothing", "", 404, "Not Found"),
    ],
)
def test_bad_question_says_what_was_expected(path: str, query: str, status: int, message: str) -> None:
    assert _authorized(path, query) == (status, {"message": message})


@pytest.mark.parametrize(
    ("query", "message", "hint"),
    [
        (
            "attempt=7",
            "pod default/p has no attempt 7; it has: 1, 2",
            "ask for one of these, or for none: then it is the newest",
        ),
        ("node=x", "there was no node x in attempt 2; nodes then: a, b, c, d", "ask for a node of that attempt"),
        ("vs=x", "there was no node x in attempt 2; nodes then: a, b, c, d", "ask for a node of that attempt"),
    ],
)
def test_unknown_name_says_what_to_ask_for(query: str, message: str, hint: str) -> None:
    assert _authorized("/api/v1/decisions/default/p", query) == (404, {"message": message, "hint": hint})


@pytest.mark.parametrize("credentials", ["", "Bearer wrong", f"Basic {TOKEN}", "Bearer"])
def test_api_needs_the_token(credentials: str) -> None:
    status, _ = _request("/api/v1/decisions/default/p", authorization=credentials)

    assert status == 401


@pytest.mark.parametrize(
    "headers",
    [{"host": "evil.example:1212"}, {"host": ""}, {"origin": "http://evil.example"}, {"origin": "null"}],
)
def test_other_sites_are_refused_before_anything_else(headers: dict[str, str]) -> None:
    status, _ = _request("/", **headers)

    assert status == 403


@pytest.mark.parametrize("host", ["localhost:1212", "[::1]:1212", "127.0.0.1"])
def test_this_machine_may_be_called_by_its_names(host: str) -> None:
    assert _request("/", host=host)[0] == 200


def test_same_origin_is_fine() -> None:
    assert _request("/", origin="http://127.0.0.1:1212")[0] == 200


def test_only_reading_is_possible() -> None:
    assert _request("/", "POST")[0] == 405


def test_unknown_page() -> None:
    assert _request("/favicon.ico")[0] == 404


def _handed_on(path: str, **headers: str) -> tuple[int, dict[str, Any]]:
    """Ask below /k8s; returns the status, and the scope that the Kubernetes API was given."""
    given: dict[str, Any] = {}
    sent: list[MutableMapping[str, Any]] = []

    async def kubernetes(scope: MutableMapping[str, Any], _receive: Any, send: Any) -> None:
        given.update(scope)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    async def receive() -> MutableMapping[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    log = DecisionLog()
    scope = {
        "type": "http",
        "method": "GET",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"watch=true",
        "headers": [(name.encode(), value.encode()) for name, value in {"host": "127.0.0.1:1212", **headers}.items()],
    }
    simulator = Simulator(log=log, explainer=LogExplainer(log), logins=Logins(TOKEN))
    asyncio.run(SimulatorApp(simulator, kubernetes=kubernetes)(scope, receive, send))
    return sent[0]["status"], given


def test_kubernetes_api_is_asked_as_the_administrator() -> None:
    """What was for us only is kept back."""
    checks = Logins(TOKEN)
    begun = checks.begin_session(checks.open_link())
    assert begun is not None
    status, scope = _handed_on(
        "/k8s/api/v1/pods", cookie=f"schedlab-1212={begun[0]}", **{"x-csrf-token": begun[1], "accept": "text/x"}
    )

    assert status == 200
    assert (scope["path"], scope["raw_path"], scope["query_string"]) == ("/api/v1/pods", b"/api/v1/pods", b"watch=true")
    assert dict(scope["headers"]) == {
        b"host": b"127.0.0.1:1212",
        b"accept": b"text/x",
        b"authorization": f"Bearer {TOKEN}".encode(),
    }


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"authorization": "Bearer wrong"}, 401),
        ({"authorization": f"Bearer {TOKEN}", "origin": "http://127.0.0.1:8000"}, 403),
        ({"authorization": f"Bearer {TOKEN}", "host": "evil.example"}, 403),
    ],
)
def test_kubernetes_api_is_not_asked_for_others(headers: dict[str, str], status: int) -> None:
    assert _handed_on("/k8s/api/v1/pods", **headers) == (status, {})
