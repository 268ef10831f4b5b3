"""What schedulers serve of themselves, over TLS: the one of `schedlab up`, and one that runs alone."""

from __future__ import annotations

import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

from tools.refresh_readme import ROOT, simulator

PROGRAMS = Path(sys.executable).parent
WAIT_S = 30


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Endpoint:
    """One secure port; the certificate is the one that the folder's authority has signed."""

    def __init__(self, folder: Path, port: int) -> None:
        self._pki, self._address = folder / "pki", f"https://127.0.0.1:{port}"

    def get(self, path: str, token: str = "") -> tuple[int, str]:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        request = urllib.request.Request(self._address + path, headers=headers)
        context = ssl.create_default_context(cafile=str(self._pki / "ca.crt"))
        try:
            with urllib.request.urlopen(request, context=context, timeout=10) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def wait(self) -> None:
        """Wait until it is ready."""
        end = time.monotonic() + WAIT_S
        while True:
            try:
                if self.get("/readyz")[0] == 200:
                    return
            except (OSError, ssl.SSLError):
                pass
            assert time.monotonic() < end, "the scheduler did not become ready"
            time.sleep(0.1)


def test_both_schedulers_serve_their_metrics() -> None:
    """Health is open; metrics need a user who may get them, also where the API server has to be asked."""
    port, other = free_port(), free_port()
    with simulator(PROGRAMS, "--nodes", "1", "--secure-port", str(port)) as environment:
        home = Path(environment["KUBECONFIG"]).parent
        own = Endpoint(home, port)
        own.wait()
        token = (home / "token").read_text().strip()
        assert own.get("/healthz") == (200, "ok")
        assert own.get("/metrics")[0] == 403
        assert "scheduler_pending_pods" in own.get("/metrics", token)[1]

        alone = (sys.executable, "-m", "schedlab", "scheduler", "--name", "alone", "--leader-elect")
        command = [*alone, "--secure-port", str(other)]
        with subprocess.Popen(
            command, cwd=ROOT, env={**os.environ, **environment}, stderr=subprocess.DEVNULL
        ) as process:
            try:
                endpoint = Endpoint(home.parent / "alone", other)
                endpoint.wait()
                assert endpoint.get("/healthz") == (200, "ok")
                assert endpoint.get("/metrics")[0] == 403
                assert endpoint.get("/metrics", "wrong")[0] == 401
                assert "scheduler_pending_pods" in endpoint.get("/metrics", token)[1]
                assert json.loads(endpoint.get("/configz", token)[1])["componentconfig"]["LeaderElection"][
                    "LeaderElect"
                ]
                process.send_signal(signal.SIGINT)
                assert process.wait(WAIT_S) == 0
            finally:
                process.kill()
