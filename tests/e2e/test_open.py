"""`schedlab up --open` opens the web UI in the browser, and another port leads to it."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

PROGRAM = Path(sys.executable).parent / "schedlab"


def free_port() -> int:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return int(bound.getsockname()[1])


@contextmanager
def running(folder: Path, *options: str, browser: str = "true") -> Iterator[str]:
    """Start schedlab with a program as the browser; yields the address of the simulator."""
    environment = {**os.environ, "SCHEDLAB_HOME": str(folder), "BROWSER": browser}
    command = [str(PROGRAM), "up", "--apiserver-port", "0", "--port", "0", *options]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline().startswith("Kubernetes API ")
            yield str(json.loads((folder / "default" / "cluster.json").read_text())["simulator"])
        finally:
            process.terminate()


def written(file: Path) -> str:
    """Return what a file holds once something has been written."""
    for _ in range(100):
        if file.exists() and file.read_text().endswith("\n"):
            return file.read_text().strip()
        time.sleep(0.1)
    raise AssertionError(file)


def test_the_browser_gets_a_link_of_its_own(tmp_path: Path) -> None:
    """It opens a session; the link that is printed can still be used."""
    opened, browser = tmp_path / "opened", tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" >> {opened}\n')
    browser.chmod(0o755)
    with running(tmp_path, "--open", browser=str(browser)) as url:
        address, _, link = written(opened).partition("/#/login/")
        answer = httpx.post(f"{url}/api/v1/session", json={"link": link})

    assert address == url
    assert answer.status_code == 200
    assert answer.json()["csrfToken"]


def test_a_port_that_leads_to_the_page(tmp_path: Path) -> None:
    port = free_port()
    with running(tmp_path, "--redirect-port", str(port)) as url:
        answer = httpx.get(f"http://127.0.0.1:{port}/", headers={"Host": f"localhost:{port}"})
        page = httpx.get(f"http://127.0.0.1:{port}/", follow_redirects=True)

    assert (answer.status_code, answer.headers["location"]) == (302, url)
    assert page.status_code == 200
    assert str(page.url).startswith(url)
