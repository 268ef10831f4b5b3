"""`schedlab explain` against a small HTTP server: pod names, answers, and simulators that are not there."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from schedlab import cli
from schedlab.cluster.home import Home
from schedlab.decisions.explain import explain
from schedlab.decisions.log import DecisionLog
from tests.unit.decisions import records


@contextmanager
def _server(status: int, body: bytes) -> Iterator[tuple[str, list[dict[str, str]]]]:
    asked: list[dict[str, str]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append({"path": self.path, "authorization": self.headers["Authorization"]})
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Keep test output clean."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.setenv("SCHEDLAB_HOME", str(tmp_path))
    home = Home.of("default")
    home.prepare()
    return home


def _explanation() -> dict[str, Any]:
    log = DecisionLog()
    log.cycle(records.scheduled())
    log.binding(records.bound())
    story = log.find("default", "p")
    assert story is not None
    return explain(story)


def _run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as caught:
        cli.main(arguments)
    assert isinstance(caught.value.code, int)
    return caught.value.code


def test_explanation_is_asked_for_with_the_token(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    with _server(200, json.dumps(_explanation()).encode()) as (url, asked):
        home.write_cluster({"simulator": url})
        assert _run("explain", "pod/p", "-n", "shop", "--attempt", "1") == 0

    assert asked == [{"path": "/api/v1/decisions/shop/p?attempt=1", "authorization": f"Bearer {home.token()}"}]
    assert "Scheduled on c with 370 points" in capsys.readouterr().out


def test_a_scheduler_beside_the_cluster_explains_its_own_decisions(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is asked only while it runs, and only when it works on the same API server."""
    beside, elsewhere = Home.of("beside"), Home.of("elsewhere")
    missing = json.dumps({"message": "pod default/p waits for its scheduler second"}).encode()
    with _server(404, missing) as (url, _), _server(200, json.dumps(_explanation()).encode()) as (other, asked):
        home.write_cluster({"apiserver": "https://127.0.0.1:1", "simulator": url})
        for one, server in ((elsewhere, "https://127.0.0.1:2"), (beside, "https://127.0.0.1:1")):
            one.prepare()
            one.write_cluster({"server": server, "simulator": other})
        with elsewhere.hold():
            assert _run("explain", "pod/p") == 1
        assert "waits for its scheduler second" in capsys.readouterr().err
        with beside.hold():
            assert _run("explain", "pod/p") == 0

    assert len(asked) == 1
    assert "scheduler default-scheduler (schedlab scheduler --name beside)" in capsys.readouterr().out


def test_json_is_the_answer_as_it_came(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    explanation = _explanation()
    with _server(200, json.dumps(explanation).encode()) as (url, _):
        home.write_cluster({"simulator": url})
        assert _run("explain", "p", "-o", "json") == 0

    assert json.loads(capsys.readouterr().out) == explanation


def test_an_earlier_pod_of_the_same_name_is_named_by_its_uid(home: Home) -> None:
    with _server(200, json.dumps(_explanation()).encode()) as (url, asked):
        home.write_cluster({"simulator": url})
        assert _run("explain", "p", "--attempt", "1", "--uid", "u-1") == 0

    assert asked[0]["path"] == "/api/v1/decisions/default/p?attempt=1&uid=u-1"


def test_pod_without_an_attempt_is_told_in_one_line(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    with _server(404, b'{"message": "pod default/p has not been tried yet"}') as (url, _):
        home.write_cluster({"simulator": url})
        assert _run("explain", "p") == 1

    assert capsys.readouterr().err == "error: pod default/p has not been tried yet\n"


def test_unknown_name_is_bad_input(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    with _server(404, b'{"message": "there was no node n in attempt 1", "hint": "ask for another"}') as (url, _):
        home.write_cluster({"simulator": url})
        assert _run("explain", "p", "--node", "n") == 2

    assert capsys.readouterr().err == "error: there was no node n in attempt 1\nhint: ask for another\n"


def test_simulator_that_ended_says_how_to_start_it(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    with _server(200, b"") as (url, _):
        home.write_cluster({"simulator": url})

    assert _run("explain", "p") == 2
    err = capsys.readouterr().err
    assert "the simulator does not answer" in err
    assert "hint: start it: schedlab up" in err


def test_another_program_on_the_port_is_recognised(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    with _server(200, b"<html>") as (url, _):
        home.write_cluster({"simulator": url})
        assert _run("explain", "p") == 2

    assert "not a schedlab simulator" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--node", "a"), "error: --node: says nothing of what would help"),
        (("--vs", "a"), "error: --vs: says nothing of what would help"),
        (("--all-plugins",), "error: --all-plugins: says nothing of what would help"),
        (("-o", "html"), "error: -o: a search has no form html"),
        (("-o", "wide"), "error: -o: a search has no form wide"),
    ],
)
def test_options_that_mean_nothing_to_a_search_are_refused(
    home: Home, capsys: pytest.CaptureFixture[str], options: tuple[str, ...], message: str
) -> None:
    with _server(200, b"{}") as (url, asked):
        home.write_cluster({"simulator": url})
        assert _run("explain", "p", "--what-would-help", *options) == 2

    assert asked == []
    assert capsys.readouterr().err.startswith(message)


def test_a_question_that_the_server_does_not_understand_is_bad_input(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    with _server(400, b'{"message": "attempt: is no whole number"}') as (url, _):
        home.write_cluster({"simulator": url})
        assert _run("explain", "p", "--attempt", "-1") == 2

    assert capsys.readouterr().err == "error: attempt: is no whole number\n"
