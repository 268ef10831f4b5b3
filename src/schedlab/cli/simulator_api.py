"""Asking the running simulator of a cluster through its REST API."""

from __future__ import annotations

import gc
import http.client
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
import orjson

from schedlab.cluster.home import Home
from schedlab.kernel.errors import SchedlabError

_TIMEOUT_S = 30
#: Longer than the server lets a search take, so that it is the server who says so.
_SEARCH_TIMEOUT_S = 150
_BAD_REQUEST = 400


def get(home: Home, path: str) -> tuple[int, dict[str, Any]]:
    """Return the status and the decoded body of an answer; raises SchedlabError when there is none."""
    return _call(home, "GET", path, None, _TIMEOUT_S)


class Head(msgspec.Struct, rename="camel"):
    """What is looked at of an answer that is passed on: who has placed the pod if not we, what is wrong, and what to do."""

    placed_by: Any = None
    message: str = ""
    hint: str = ""


def fetch(home: Home, path: str) -> tuple[int, Head, bytes]:
    """Return the status, the head and the body of an answer; raises SchedlabError when there is none."""
    with _answer(home, "GET", path, None, _TIMEOUT_S) as answer:
        content = answer.read() or b"{}"
        return answer.status, head_of(content), content


def head_of(content: bytes) -> Head:
    """Return the head of an answer; raises msgspec.DecodeError when it is no JSON object."""
    return msgspec.json.decode(content, type=Head)


def ask(home: Home, method: str, path: str, body: object = None) -> dict[str, Any]:
    """Return the answer to a question that may take its time; raises SchedlabError for every other outcome.

    A body of bytes is sent as it is, any other one as JSON.
    """
    status, answer = _call(home, method, path, body, _SEARCH_TIMEOUT_S)
    _raise_for_status(status, answer, path)
    return answer


def stream(home: Home, method: str, path: str, body: object = None) -> Iterator[dict[str, Any]]:
    """Yield the lines of an answer as they come; raises SchedlabError when there is none."""
    with _answer(home, method, path, body, _SEARCH_TIMEOUT_S) as answer:
        if answer.status >= _BAD_REQUEST:
            _raise_for_status(answer.status, orjson.loads(answer.read()), path)
        while line := answer.readline():
            yield orjson.loads(line)


def download(home: Home, path: str) -> bytes:
    """Return the body of an answer as it is; raises SchedlabError when there is none."""
    with _answer(home, "GET", path, None, _SEARCH_TIMEOUT_S) as answer:
        content = answer.read()
        if answer.status >= _BAD_REQUEST:
            _raise_for_status(answer.status, orjson.loads(content), path)
        return content


def _raise_for_status(status: int, answer: dict[str, Any], path: str) -> None:
    message = str(answer.get("message", answer))
    if status == _BAD_REQUEST:
        raise SchedlabError(message, location=answer.get("location", ""), hint=answer.get("hint", ""))
    if status > _BAD_REQUEST:
        raise SchedlabError(message, location=path, hint=answer.get("hint") or "schedlab status tells how it is")


def _call(home: Home, method: str, path: str, body: object, timeout_s: float) -> tuple[int, dict[str, Any]]:
    with _answer(home, method, path, body, timeout_s) as answer:
        content = answer.read()
        return answer.status, decoded(content) if content else {}


def decoded(content: bytes) -> Any:
    """Return what JSON says."""
    with uncollected():
        return orjson.loads(content)


@contextmanager
def uncollected() -> Iterator[None]:
    """Keep the collector from looking at what is made meanwhile: there are no cycles in what JSON says."""
    is_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if is_enabled:
            gc.enable()


@contextmanager
def _answer(home: Home, method: str, path: str, body: object, timeout_s: float) -> Iterator[http.client.HTTPResponse]:
    """Ask, and wait for the head of the answer; an answer that is no JSON is told, too."""
    facts = home.read_cluster()
    if "simulator" not in facts:
        raise SchedlabError(
            "this is an API server alone: no scheduler of ours works on it",
            location=str(home.path),
            hint=f"start a whole cluster: {_up(home)}",
        )
    address = str(facts["simulator"]).removeprefix("http://")
    connection = http.client.HTTPConnection(address, timeout=timeout_s)
    sent = body if body is None or isinstance(body, bytes) else json.dumps(body)
    try:
        connection.request(method, path, sent, headers={"Authorization": f"Bearer {home.token()}"})
        yield connection.getresponse()
    except (OSError, http.client.HTTPException) as error:
        raise SchedlabError(
            f"the simulator does not answer: {error}", location=f"http://{address}", hint=f"start it: {_up(home)}"
        ) from error
    except (json.JSONDecodeError, msgspec.DecodeError) as error:
        raise SchedlabError(
            "what answers there is not a schedlab simulator",
            location=f"http://{address}",
            hint=f"another program may have taken the port; start the simulator again: {_up(home)}",
        ) from error
    finally:
        connection.close()


def _up(home: Home) -> str:
    """Return what starts a cluster of that name."""
    name = home.path.name
    return "schedlab up" if name == "default" else f"schedlab up --name {name}"
