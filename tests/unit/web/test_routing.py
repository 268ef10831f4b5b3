"""The route table: which handler gets a request, what it gets, and how answers, streams and errors leave."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from schedlab.decisions.log import DecisionLog
from schedlab.kernel.errors import SchedlabError
from schedlab.web.app import SimulatorApp
from schedlab.web.logins import Logins
from schedlab.web.routing import Answer, Refusal, Request, Route, Stream, json_answer
from schedlab.web.simulator import Simulator
from tests.unit.web.log_explainer import LogExplainer

TOKEN = "t"
LOG = DecisionLog()


async def _echo(_simulator: Simulator, request: Request) -> Answer:
    return json_answer({"parameters": dict(request.parameters), "query": request.query, "method": request.method})


async def _take(_simulator: Simulator, request: Request) -> Answer:
    return json_answer(await request.json(64), status=201)


async def _wrong(_simulator: Simulator, _request: Request) -> Answer:
    raise SchedlabError("cannot be read", location="file.yaml", hint="name another")


async def _conflict(_simulator: Simulator, _request: Request) -> Answer:
    raise Refusal(409, "it runs already", run="r-1")


async def _count(_simulator: Simulator, _request: Request) -> Stream:
    async def numbers() -> AsyncIterator[bytes]:
        for number in range(3):
            yield f"{number}\n".encode()

    return Stream(numbers(), "text/plain")


async def _endless(_simulator: Simulator, _request: Request) -> Stream:
    async def ticks() -> AsyncIterator[bytes]:
        while True:
            yield b"."
            await asyncio.sleep(0.001)

    return Stream(ticks(), "text/plain")


ROUTES = (
    Route("GET", "/api/v1/pods/{namespace}/{pod}", _echo),
    Route("GET", "/files/{path...}", _echo, needs_token=False),
    Route("POST", "/api/v1/runs", _take),
    Route("DELETE", "/api/v1/runs", _echo),
    Route("GET", "/api/v1/wrong", _wrong),
    Route("GET", "/api/v1/conflict", _conflict),
    Route("GET", "/api/v1/count", _count),
    Route("GET", "/api/v1/endless", _endless),
)


class _Client:
    """One request against the table; `leave_after` bodies it goes away."""

    def __init__(self, method: str, path: str, body: bytes = b"", leave_after: int | None = None) -> None:
        self.sent: list[dict[str, Any]] = []
        self._bodies = [body]
        self._leave_after = leave_after
        self._left = asyncio.Event()
        path, _, query = path.partition("?")
        self.scope = {
            "type": "http",
            "method": method,
            "path": path.replace("%2F", "/"),
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "headers": [(b"host", b"localhost"), (b"authorization", f"Bearer {TOKEN}".encode())],
        }

    async def receive(self) -> dict[str, Any]:
        if self._bodies:
            return {"type": "http.request", "body": self._bodies.pop(), "more_body": False}
        await self._left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        self.sent.append(message)
        if self._leave_after is not None and len(self.sent) > self._leave_after:
            self._left.set()

    @property
    def status(self) -> int:
        return int(self.sent[0]["status"])

    @property
    def body(self) -> bytes:
        return b"".join(message["body"] for message in self.sent[1:])


def _app() -> SimulatorApp:
    return SimulatorApp(Simulator(log=LOG, explainer=LogExplainer(LOG), logins=Logins(TOKEN)), routes=ROUTES)


def _ask(method: str, path: str, body: bytes = b"") -> _Client:
    async def run() -> _Client:
        client = _Client(method, path, body)
        await _app()(client.scope, client.receive, client.send)
        return client

    return asyncio.run(run())


def test_parts_of_the_path_reach_the_handler() -> None:
    answer = json.loads(_ask("GET", "/api/v1/pods/team%2Fa/web-0?node=n&node=m&reason=").body)

    assert answer["parameters"] == {"namespace": "team/a", "pod": "web-0"}
    assert answer["query"] == {"node": ["n", "m"], "reason": [""]}


def test_the_last_part_may_stand_for_the_rest() -> None:
    assert json.loads(_ask("GET", "/files/js/app.js").body)["parameters"] == {"path": "js/app.js"}
    assert _ask("GET", "/files/").status == 404


def test_head_runs_the_handler_of_get_and_has_no_body() -> None:
    client = _ask("HEAD", "/files/x")

    assert (client.status, client.body) == (200, b"")


def test_a_method_of_no_route_names_the_allowed_ones() -> None:
    client = _ask("PUT", "/api/v1/runs")

    assert client.status == 405
    assert json.loads(client.body) == {"message": "Method Not Allowed; allowed here: POST, DELETE"}


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [(b"{", 400, "the body is not JSON"), (b'"' + b"x" * 70 + b'"', 413, "the body is bigger than 64 bytes")],
)
def test_bad_bodies_are_refused(body: bytes, status: int, message: str) -> None:
    client = _ask("POST", "/api/v1/runs", body)

    assert client.status == status
    assert json.loads(client.body)["message"].startswith(message)


def test_a_body_is_read() -> None:
    client = _ask("POST", "/api/v1/runs", b'{"n":1}')

    assert (client.status, json.loads(client.body)) == (201, {"n": 1})


def test_wrong_input_is_400_with_place_and_hint() -> None:
    client = _ask("GET", "/api/v1/wrong")

    assert client.status == 400
    assert json.loads(client.body) == {"message": "cannot be read", "location": "file.yaml", "hint": "name another"}


def test_refusals_carry_their_fields() -> None:
    client = _ask("GET", "/api/v1/conflict")

    assert (client.status, json.loads(client.body)) == (409, {"message": "it runs already", "run": "r-1"})


def test_a_stream_is_sent_piece_by_piece_and_ends() -> None:
    client = _ask("GET", "/api/v1/count")

    assert client.body == b"0\n1\n2\n"
    assert not client.sent[-1].get("more_body")


def test_a_stream_ends_when_its_client_leaves() -> None:
    async def run() -> _Client:
        client = _Client("GET", "/api/v1/endless", leave_after=3)
        await asyncio.wait_for(_app()(client.scope, client.receive, client.send), 5)
        return client

    client = asyncio.run(run())

    assert len(client.sent) >= 4
    assert client.sent[-1]["more_body"]


def test_a_stream_ends_in_order_when_the_simulator_stops() -> None:
    async def run() -> _Client:
        app = _app()
        client = _Client("GET", "/api/v1/endless")
        asyncio.get_running_loop().call_later(0.02, app.stop)
        await asyncio.wait_for(app(client.scope, client.receive, client.send), 5)
        return client

    client = asyncio.run(run())

    assert client.sent[-1] == {"type": "http.response.body", "body": b""}
