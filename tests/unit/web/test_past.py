"""REST calls about the past: its bounds, one moment, the map and lists as they were."""

from __future__ import annotations

import asyncio
import json
from collections.abc import MutableMapping
from typing import Any

import pytest

from schedlab.mirror.service import Mirroring
from schedlab.web.app import SimulatorApp
from schedlab.web.cluster_map import MapStream
from schedlab.web.simulator import Simulator
from tests.unit.web.log_explainer import LogExplainer
from tests.unit.web.map_lines import whole_pods
from tests.unit.whatif.whatif_cluster import Lab

Json = dict[str, Any]


def simulator(lab: Lab) -> Simulator:
    cluster = lab.cluster
    return Simulator(
        log=cluster.log,
        explainer=LogExplainer(cluster.log),
        mirroring=Mirroring(cluster.registry, cluster.clock, cluster),
        past=cluster.past,
    )


def call(lab: Lab, path: str, query: str = "", *, without_cluster: bool = False) -> tuple[int, Any]:
    """Return status and body of a GET; a stream is read to its end, as a list of its lines."""
    sent: list[MutableMapping[str, Any]] = []

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    async def receive() -> MutableMapping[str, Any]:
        await asyncio.Event().wait()
        raise AssertionError

    scope = {
        "type": "http",
        "method": "GET",
        "path": path,
        "query_string": query.encode(),
        "headers": [(b"host", b"127.0.0.1:1212")],
    }
    parts = simulator(lab)
    if without_cluster:
        parts = Simulator(log=parts.log, explainer=parts.explainer)
    asyncio.run(SimulatorApp(parts)(scope, receive, send))
    body = b"".join(message.get("body", b"") for message in sent)
    lines = [json.loads(line) for line in body.splitlines()]
    is_stream = dict(sent[0]["headers"])[b"content-type"] == b"application/x-ndjson"
    return sent[0]["status"], lines if is_stream else lines[0]


def story() -> Lab:
    lab = Lab(nodes=1)
    lab.pod("first")
    lab.settle(10)
    lab.pod("picky", nodeSelector={"disk": "ssd"})
    lab.settle(10)
    lab.pod("last")
    lab.settle(10)
    return lab


def revision_of(lab: Lab, pod: str) -> int:
    found = lab.cluster.log.find("default", pod)
    assert found is not None
    return int(found.attempts[0].revision)


def test_bounds_and_where_pods_were_tried() -> None:
    lab = story()
    status, told = call(lab, "/api/v1/past")

    assert status == 200
    assert (told["oldest"], told["newest"]) == (1, lab.cluster.past.newest)
    assert told["whole"]
    assert told["oldestTime"] < told["newestTime"]
    assert told["results"] == ["scheduled", "unschedulable", "error"]
    assert told["marks"] == [
        [revision_of(lab, "first"), 1, 0, 0],
        [revision_of(lab, "picky"), 0, 1, 0],
        [revision_of(lab, "last"), 1, 0, 0],
    ]


def test_many_attempts_are_counted_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("schedlab.web.past._PARTS", 2)
    marks = call(story(), "/api/v1/past")[1]["marks"]

    assert len(marks) <= 2
    assert [sum(counts) for counts in zip(*(mark[1:] for mark in marks), strict=True)] == [2, 1, 0]


def test_a_moment_and_the_attempts_around_it() -> None:
    lab = story()
    first, picky, last = (revision_of(lab, pod) for pod in ("first", "picky", "last"))
    told = call(lab, f"/api/v1/past/{picky}")[1]

    assert told["previous"]["revision"] == first
    assert told["next"]["revision"] == last
    assert told["count"] == 1
    (here,) = told["attempts"]
    assert (here["namespace"], here["pod"], here["attempt"], here["result"]) == (
        "default",
        "picky",
        1,
        "unschedulable",
    )
    assert told["time"] <= here["time"]
    assert call(lab, f"/api/v1/past/{last + 1}")[1]["next"] is None


def test_attempts_around_a_moment_can_be_chosen() -> None:
    lab = story()
    newest = lab.cluster.past.newest

    assert call(lab, f"/api/v1/past/{newest}", "result=unschedulable")[1]["previous"]["pod"] == "picky"
    assert call(lab, f"/api/v1/past/{newest}", "namespace=default&pod=first")[1]["previous"]["pod"] == "first"
    assert call(lab, f"/api/v1/past/{newest}", "namespace=other")[1]["previous"] is None


def test_attempts_of_another_cluster_have_no_place_in_the_past() -> None:
    lab, other = story(), story()
    lab.cluster.log.take_over(other.cluster.log.stories())

    assert sum(sum(mark[1:]) for mark in call(lab, "/api/v1/past")[1]["marks"]) == 3


@pytest.mark.parametrize(
    ("path", "query", "status", "text"),
    [
        ("/api/v1/past/next", "", 400, "revision: 'next' is no whole number"),
        (f"/api/v1/past/{'9' * 5000}", "", 400, "is no whole number"),
        ("/api/v1/past/0", "", 400, "no longer kept"),
        ("/api/v1/past/99999", "", 400, "has not happened yet"),
        ("/api/v1/past/5", "result=good", 400, "is none of"),
        ("/api/v1/map", "at=99999", 400, "has not happened yet"),
        ("/api/v1/map", "at=5&from=99999", 400, "has not happened yet"),
        ("/api/v1/map", "at=x", 400, "at: 'x' is "),
    ],
)
def test_mistakes(path: str, query: str, status: int, text: str) -> None:
    found, told = call(story(), path, query)

    assert (found, text in told["message"]) == (status, True)


def test_without_a_cluster_there_is_no_past() -> None:
    assert call(story(), "/api/v1/past", without_cluster=True)[0] == 404


def gathered(lines: list[Json], known: Json | None = None) -> Json:
    """Return what a client knows after some lines."""
    found: Json = {"nodes": {}, "pods": {}} if known is None else {key: dict(known[key]) for key in ("nodes", "pods")}
    for line in lines:
        found["nodes"] |= line["nodes"]
        found["pods"] |= whole_pods(line)
    return {kind: {key: one for key, one in found[kind].items() if one is not None} for kind in found}


def test_the_map_as_it_was() -> None:
    lab = story()
    picky = revision_of(lab, "picky")
    status, lines = call(lab, "/api/v1/map", f"at={picky}")

    assert status == 200
    assert (lines[-1]["complete"], lines[-1]["revision"]) == (True, picky)
    told = gathered(lines)
    assert set(told["pods"]) == {"default/first", "default/picky"}
    assert told["pods"]["default/first"]["node"] == "node-0"


def test_from_one_moment_to_another_only_what_differs_is_told() -> None:
    lab = story()
    first, last = revision_of(lab, "first"), lab.cluster.past.newest
    forth = call(lab, "/api/v1/map", f"at={last}&from={first}")[1]
    back = call(lab, "/api/v1/map", f"at={first}&from={last}")[1]

    then = gathered(call(lab, "/api/v1/map", f"at={first}")[1])
    now = gathered(call(lab, "/api/v1/map", f"at={last}")[1])
    assert gathered(forth, then) == now
    assert gathered(back, now) == then
    assert all(not line["nodes"] for line in back)


def test_a_stream_goes_on_from_a_moment() -> None:
    """What differs from then first, and then what changes."""
    lab = story()
    cluster = lab.cluster
    picky = revision_of(lab, "picky")

    async def read() -> list[Json]:
        difference = cluster.past.difference(picky, cluster.past.newest, ("nodes", "pods"))
        known = None
        while known is None:
            try:
                next(difference)
            except StopIteration as end:
                known = end.value
        lines = MapStream(cluster.registry).lines(known, cluster.past.newest)
        found = []
        async for line in lines:
            told = json.loads(line)
            found.append(told)
            if "revision" not in told:
                continue
            if len([one for one in found if "revision" in one]) == 2:
                return found
            lab.pod("new")
            lab.settle()
        return found

    found = asyncio.run(read())
    assert "default/last" in found[0]["pods"]
    assert "default/first" not in found[0]["pods"]
    assert "default/new" in gathered(found)["pods"]
    assert found[-1]["revision"] == cluster.past.newest


def test_attempts_that_only_an_archive_holds_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a restart, say: memory has none of them."""
    lab = story()
    log = lab.cluster.log
    first, picky = revision_of(lab, "first"), revision_of(lab, "picky")
    entries = list(log.newest_first())
    monkeypatch.setattr(log, "_in_order", {})
    monkeypatch.setattr(log, "newest_first", lambda *_: iter(entries))

    told = call(lab, f"/api/v1/past/{picky}")[1]
    assert (told["previous"]["revision"], told["attempts"][0]["pod"], told["next"]["pod"]) == (first, "picky", "last")
