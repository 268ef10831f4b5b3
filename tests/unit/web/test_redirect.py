"""What leads from another port to the web UI."""

from __future__ import annotations

import asyncio
from collections.abc import MutableMapping
from typing import Any

from schedlab.web.redirect import Redirect


def asked(kind: str) -> list[MutableMapping[str, Any]]:
    sent: list[MutableMapping[str, Any]] = []

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    async def receive() -> MutableMapping[str, Any]:
        raise AssertionError

    asyncio.run(Redirect("http://127.0.0.1:1212")({"type": kind, "path": "/any"}, receive, send))
    return sent


def test_everybody_is_sent_to_the_page() -> None:
    begin, body = asked("http")

    assert (begin["status"], dict(begin["headers"])[b"location"]) == (302, b"http://127.0.0.1:1212")
    assert body["body"] == b""


def test_what_is_no_request_is_left_alone() -> None:
    assert asked("websocket") == []
