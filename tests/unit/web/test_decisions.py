"""The REST API of the decision log: pages, filters, tables as JSON lines."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from schedlab.decisions.log import DecisionLog
from schedlab.scheduler.framework.record import QueueMove
from schedlab.web.app import SimulatorApp
from schedlab.web.logins import Logins
from schedlab.web.simulator import Simulator
from tests.unit.decisions import records
from tests.unit.web.log_explainer import LogExplainer

TOKEN = "t"


def _log() -> DecisionLog:
    log = DecisionLog()
    for number in range(5):
        pod = records.pod(f"p{number}", f"uid-{number}")
        log.queue_move(QueueMove(pod, number, "active", "UnschedulablePodAdd"))
        log.cycle(records.failed(1, pod=pod, unschedulable_plugins=("NodeResourcesFit",), started_ns=10**18 + number))
        log.cycle(records.scheduled(2, pod=pod, started_ns=2 * 10**18 + number))
    return log


def _get(path: str) -> tuple[int, bytes]:
    sent: list[Any] = []
    path, _, query = path.partition("?")

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        await asyncio.Event().wait()

    scope = {
        "type": "http",
        "method": "GET",
        "path": path,
        "query_string": query.encode(),
        "headers": [(b"host", b"localhost"), (b"authorization", f"Bearer {TOKEN}".encode())],
    }
    log = _log()
    asyncio.run(
        SimulatorApp(Simulator(log=log, explainer=LogExplainer(log), logins=Logins(TOKEN)))(scope, receive, send)
    )
    return sent[0]["status"], b"".join(message["body"] for message in sent[1:])


def _items(query: str) -> list[tuple[str, int]]:
    status, body = _get(f"/api/v1/decisions?{query}")
    assert status == 200, body
    return [(item["pod"], item["attempt"]) for item in json.loads(body)["items"]]


def test_pages_follow_each_other_newest_first() -> None:
    found: list[int] = []
    following: int | None = 11
    while following is not None:
        _, body = _get(f"/api/v1/decisions?limit=3&before={following}")
        page = json.loads(body)
        assert len(page["items"]) <= 3
        found += [item["sequence"] for item in page["items"]]
        following = page["next"]

    assert found == list(range(10, 0, -1))


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("pod=p3", [("p3", 2), ("p3", 1)]),
        ("pod=p3&namespace=other", []),
        ("attempt=1&limit=2", [("p4", 1), ("p3", 1)]),
        ("node=c&pod=p0", [("p0", 2)]),
        ("node=a&pod=p0", []),
        ("plugin=NodeResourcesFit&pod=p1", [("p1", 1)]),
        ("plugin=NodeAffinity", []),
        ("reason=Insufficient+cpu&pod=p1", [("p1", 1)]),
        ("result=scheduled&pod=p1", [("p1", 2)]),
        ("since=2030-01-01T00:00:00Z&pod=p1", [("p1", 2)]),
        ("until=2030-01-01T00:00:00Z&pod=p1", [("p1", 1)]),
    ],
)
def test_attempts_can_be_chosen(query: str, expected: list[tuple[str, int]]) -> None:
    assert _items(query) == expected


@pytest.mark.parametrize(
    ("path", "status", "message"),
    [
        ("/api/v1/decisions?limit=0", 400, "limit: give a number from 1 to 1000"),
        ("/api/v1/decisions?limit=2000", 400, "limit: give a number from 1 to 1000"),
        ("/api/v1/decisions?result=good", 400, "result: 'good' is none of scheduled, unschedulable, error"),
        (
            "/api/v1/decisions?since=yesterday",
            400,
            "since: 'yesterday' is no time; write one like 2026-01-31T12:00:00Z",
        ),
        (
            "/api/v1/tables/pods",
            404,
            "there is no table 'pods'; tables are: attempts, verdicts, filters, scores, moves",
        ),
    ],
)
def test_bad_questions_are_told_what_is_possible(path: str, status: int, message: str) -> None:
    assert _get(path) == (status, json.dumps({"message": message}, separators=(",", ":")).encode() + b"\n")


def _table(path: str) -> list[dict[str, Any]]:
    status, body = _get(f"/api/v1/tables/{path}")
    assert status == 200
    return [json.loads(line) for line in body.splitlines()]


def test_tables_are_whole_and_oldest_first() -> None:
    assert [row["sequence"] for row in _table("attempts")] == list(range(1, 11))
    assert [row["place"] for row in _table("moves?pod=p1")] == ["active"]


def test_verdicts_of_one_node_over_all_attempts() -> None:
    rows = _table("verdicts?node=b&pod=p2")

    assert [(row["attempt"], row["node"], row["plugin"], row["reasons"]) for row in rows] == [
        (2, "b", "NodeResourcesFit", records.NO_CPU)
    ]


def test_filters_are_told_up_to_the_first_that_turns_a_node_down() -> None:
    rows = _table("filters?pod=p2&result=scheduled")

    assert [(row["node"], row["plugin"], row["passed"], row["reasons"]) for row in rows] == [
        ("a", "TaintToleration", True, ""),
        ("a", "NodeResourcesFit", True, ""),
        ("b", "TaintToleration", True, ""),
        ("b", "NodeResourcesFit", False, records.NO_CPU),
        ("c", "TaintToleration", True, ""),
        ("c", "NodeResourcesFit", True, ""),
    ]
    assert {row["visited"] for row in rows} == {True}


def test_scores_are_one_row_per_plugin_and_node() -> None:
    rows = _table("scores?pod=p2&node=c")

    assert [(row["plugin"], row["raw"], row["normalized"], row["weight"], row["final"]) for row in rows] == [
        ("TaintToleration", 0, 100, 3, 300),
        ("ImageLocality", 70, 70, 1, 70),
    ]
    assert {row["total"] for row in rows} == {370}
