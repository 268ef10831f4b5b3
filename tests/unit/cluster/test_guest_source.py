"""The code of guests comes from files and web servers."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from schedlab.cluster.guest_source import fetch


@pytest.fixture
def server() -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = self.path == "/guest.wasm"
            self.send_response(200 if found else 404)
            self.end_headers()
            self.wfile.write(b"code" if found else b"not here")

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as serving:
        threading.Thread(target=serving.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{serving.server_address[1]}"
        serving.shutdown()


def test_file_by_absolute_and_relative_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "guest.wasm").write_bytes(b"code")
    monkeypatch.chdir(tmp_path)

    assert fetch(f"file://{tmp_path}/guest.wasm") == b"code"
    assert fetch("file://./guest.wasm") == b"code"


def test_web_server(server: str) -> None:
    assert fetch(f"{server}/guest.wasm") == b"code"


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("guest.wasm", "invalid URL: guest.wasm"),
        ("ftp://x/guest.wasm", "unsupported URL scheme: ftp"),
        ("file://./absent.wasm", "No such file or directory"),
        ("http://127.0.0.1:1/guest.wasm", "refused"),
        ("http://[", "error reading guestURL"),
    ],
)
def test_what_cannot_be_read(url: str, words: str) -> None:
    with pytest.raises(ValueError, match="wasm: error reading guestURL") as caught:
        fetch(url)

    assert words in str(caught.value)


def test_answer_that_is_no_success(server: str) -> None:
    with pytest.raises(ValueError, match=f'received 404 status code from "{server}/absent.wasm"'):
        fetch(f"{server}/absent.wasm")
