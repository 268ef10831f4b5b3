"""`schedlab decisions` against a small HTTP server: pages, tables, files, and wrong options."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pyarrow.parquet as pq
import pytest

from schedlab import cli
from schedlab.cluster.home import Home


def _row(sequence: int) -> dict[str, Any]:
    return {
        "sequence": sequence,
        "time": f"2026-01-01T00:00:{sequence:02}.000000Z",
        "namespace": "shop",
        "pod": f"p{sequence}",
        "attempt": 1,
        "result": "unschedulable",
        "node": "",
        "message": "0/1 nodes are available: " + "x" * 100,
        "plugins": [],
    }


ROWS = [_row(number) for number in range(1, 8)]


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """A simulator with seven attempts that gives three at a time; yields what it was asked."""
    seen: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(self.path)
            url = urlsplit(self.path)
            query = {key: values[0] for key, values in parse_qs(url.query).items()}
            self.send_response(400 if query.get("since") == "never" else 200)
            self.end_headers()
            self.wfile.write(self.answer(url.path, query))

        def answer(self, path: str, query: dict[str, str]) -> bytes:
            if query.get("since") == "never":
                return b'{"message": "since: \'never\' is no time"}'
            if path.startswith("/api/v1/tables/"):
                return b"".join(json.dumps(row).encode() + b"\n" for row in ROWS)
            before = int(query.get("before", 99))
            some = [row for row in reversed(ROWS) if row["sequence"] < before][: min(int(query["limit"]), 3)]
            following = some[-1]["sequence"] if some and some[-1]["sequence"] > 1 else None
            return json.dumps({"items": some, "next": following}).encode()

        def log_message(self, format: str, *args: object) -> None:
            """Keep test output clean."""

    monkeypatch.setenv("SCHEDLAB_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    home = Home.of("default")
    home.prepare()
    home.write_cluster({"simulator": f"http://127.0.0.1:{server.server_port}"})
    try:
        yield seen
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as caught:
        cli.main(arguments)
    assert isinstance(caught.value.code, int)
    return caught.value.code


def test_attempts_are_listed_newest_first_and_messages_cut(
    asked: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert _run("decisions", "--limit", "2", "-n", "shop", "--plugin", "NodeAffinity") == 0

    lines = capsys.readouterr().out.splitlines()
    assert asked == ["/api/v1/decisions?namespace=shop&plugin=NodeAffinity&limit=2"]
    assert lines[0].split() == ["TIME", "POD", "ATTEMPT", "RESULT", "NODE", "MESSAGE"]
    assert [line.split()[1] for line in lines[1:]] == ["shop/p7", "shop/p6"]
    assert lines[1].endswith("x…")


def test_as_many_pages_as_needed_are_asked_for(asked: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert _run("decisions", "--limit", "0", "-o", "json") == 0

    found = json.loads(capsys.readouterr().out)
    assert [row["sequence"] for row in found] == [7, 6, 5, 4, 3, 2, 1]
    assert [parse_qs(urlsplit(path).query).get("before") for path in asked] == [None, ["5"], ["2"]]


def test_json_lines_are_whole_tables(asked: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert _run("decisions", "--table", "verdicts", "--node", "n1", "-o", "jsonl") == 0

    assert asked == ["/api/v1/tables/verdicts?node=n1"]
    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()] == ROWS


def test_parquet_files_have_the_same_rows(asked: list[str], tmp_path: Path) -> None:
    file = tmp_path / "out.parquet"

    assert _run("decisions", "-o", "parquet", "--file", str(file)) == 0

    assert asked == ["/api/v1/tables/attempts?"]
    assert pq.read_table(file).to_pylist() == ROWS


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-o", "parquet"), "-o parquet: Parquet is no text"),
        (("--limit", "-1"), "--limit: -1 attempts cannot be listed"),
        (("--limit", "5", "--table", "scores"), "--limit: whole tables have no limit"),
        (("--limit", "5", "-o", "jsonl"), "--limit: whole tables have no limit"),
        (("--since", "never"), "since: 'never' is no time"),
        (("--since", "never", "-o", "jsonl"), "since: 'never' is no time"),
        (("-o", "jsonl", "--file", "/nowhere/x"), "/nowhere/x: cannot be written: No such file or directory"),
    ],
)
def test_wrong_options_say_what_is_wrong(
    asked: list[str], capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str
) -> None:
    assert _run("decisions", *arguments) == 2

    assert message in capsys.readouterr().err
