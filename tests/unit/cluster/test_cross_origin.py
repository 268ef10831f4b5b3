"""Pages of other origins: who may use the server, and what their browsers are told."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from schedlab.cluster.cross_origin import CrossOrigin, check_origins
from schedlab.kernel.errors import SchedlabError

PAGE = "http://localhost:3000"


class Inner:
    """Answers 200 and notes the headers that reach it."""

    def __init__(self) -> None:
        self.seen: list[dict[bytes, bytes]] = []

    def stop(self) -> None:
        """Nothing is streamed."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        assert receive is None
        self.seen.append(dict(scope["headers"]))
        await send({"type": "http.response.start", "status": 200, "headers": [(b"x", b"y")]})
        await send({"type": "http.response.body", "body": b"ok"})


def _ask(app: Any, method: str = "GET", **headers: str) -> tuple[int, dict[bytes, bytes]]:
    answers: list[Any] = []

    async def send(message: Any) -> None:
        answers.append(message)

    encoded = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "method": method, "path": "/", "headers": encoded}
    asyncio.run(app(scope, None, send))
    return answers[0]["status"], dict(answers[0]["headers"])


def test_an_allowed_page_may_read_the_answer() -> None:
    inner = Inner()
    status, headers = _ask(CrossOrigin(inner, (PAGE,)), origin=PAGE, host="localhost:1212")

    assert status == 200
    assert headers[b"access-control-allow-origin"] == PAGE.encode()
    assert headers[b"access-control-allow-credentials"] == b"true"
    assert headers[b"vary"] == b"Origin"
    assert headers[b"x"] == b"y"
    assert b"origin" not in inner.seen[0]


def test_another_page_is_handed_on_as_it_is() -> None:
    inner = Inner()
    _, headers = _ask(CrossOrigin(inner, (PAGE,)), origin="http://evil.example")

    assert b"access-control-allow-origin" not in headers
    assert inner.seen[0][b"origin"] == b"http://evil.example"


def test_an_empty_list_allows_every_page() -> None:
    _, headers = _ask(CrossOrigin(Inner(), ()), origin="http://any.example")

    assert headers[b"access-control-allow-origin"] == b"http://any.example"


def test_a_preflight_is_answered_before_the_server() -> None:
    inner = Inner()
    wanted = {"access-control-request-method": "PATCH", "access-control-request-headers": "content-type"}
    status, headers = _ask(CrossOrigin(inner, (PAGE,)), "OPTIONS", origin=PAGE, **wanted)

    assert status == 204
    assert b"PATCH" in headers[b"access-control-allow-methods"]
    assert headers[b"access-control-allow-headers"] == b"content-type"
    assert inner.seen == []


def test_requests_without_origin_are_not_touched() -> None:
    _, headers = _ask(CrossOrigin(Inner(), (PAGE,)), host="localhost")

    assert headers == {b"x": b"y"}


@pytest.mark.parametrize("origin", ["localhost:3000", "ftp://a", "*", ""])
def test_what_is_no_origin_is_refused(origin: str) -> None:
    with pytest.raises(SchedlabError, match="is no origin"):
        check_origins((origin,), "--cors-allowed-origins")
