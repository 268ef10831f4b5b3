"""A real simulator and a real Chromium for tests of the web UI.

with Simulator(folder, "--nodes", "3") as simulator:
    page.goto(simulator.login_url())
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import httpx
import pytest
import yaml

from tools.build_ui import ROOT, is_built

_PROGRAM = Path(sys.executable).parent / "schedlab"
_HINT = "install it: `make browser`, or `apt-get install chromium`"
#: Nothing is fetched and nothing is asked of a desktop.
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def chromium() -> str:
    """Return the path of Chromium; where it is missing a test fails in CI and is skipped elsewhere."""
    missing = ""
    found = shutil.which("chromium")
    if found is None:
        missing = f"chromium is not installed; {_HINT}"
    elif not is_built():
        missing = "the web UI is not built from its sources as they are; `make ui` builds it"
    if missing and os.environ.get("CI"):
        pytest.fail(missing)
    if missing:
        pytest.skip(missing)
    assert found is not None
    return found


class Simulator:
    """`schedlab up` on free ports, for a `with` statement; `kill` and `start` again keep its ports."""

    def __init__(self, folder: Path, *options: str) -> None:
        self._environment = {**os.environ, "SCHEDLAB_HOME": str(folder)}
        self._options: Sequence[str] = options
        self._ports = ("0", "0")
        self._home = folder / "default"

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        self._process.terminate()
        self._end()

    def _end(self) -> None:
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._process.wait()

    def start(self) -> None:
        """Start it; returns when it answers."""
        ports = ("--apiserver-port", self._ports[0], "--port", self._ports[1])
        self._process = subprocess.Popen(
            [_PROGRAM, "up", *ports, *self._options],
            cwd=ROOT,
            env=self._environment,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline().startswith("Kubernetes API ")
        facts = json.loads((self._home / "cluster.json").read_text())
        self.url: str = facts["simulator"]
        self._ports = (facts["apiserver"].rpartition(":")[2], self.url.rpartition(":")[2])

    def kill(self) -> None:
        """End it without a chance to say goodbye."""
        self._process.kill()
        self._end()

    @property
    def pid(self) -> int:
        return self._process.pid

    def login_url(self) -> str:
        """Return a new one-time link."""
        return str(self.api("POST", "/api/v1/login-links").json()["url"])

    def run(self, *arguments: str) -> str:
        """Return what a verb of schedlab prints."""
        said = subprocess.run([_PROGRAM, *arguments], env=self._environment, capture_output=True, text=True, check=True)
        return said.stdout

    def api(self, method: str, path: str, body: Any = None, content_type: str = "application/json") -> httpx.Response:
        """Ask the simulator as the administrator; below /k8s the Kubernetes API."""
        token = (self._home / "token").read_text()
        headers = {"Authorization": f"Bearer {token}", "Content-Type": content_type}
        content = None if body is None else json.dumps(body)
        answer = httpx.request(method, f"{self.url}{path}", content=content, headers=headers, timeout=60)
        answer.raise_for_status()
        return answer

    def load(self, *files: Path) -> None:
        """Load the objects of manifests, as `schedlab import` does."""
        objects = [found for file in files for found in yaml.safe_load_all(file.read_text(encoding="utf-8")) if found]
        answer = self.api("POST", "/api/v1/objects", objects).json()
        assert answer["problems"] == [], answer
