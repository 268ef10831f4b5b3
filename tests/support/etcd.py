"""A real etcd for tests: started on free ports of this machine, killed and started again when a test says so."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import pytest

from schedlab.backends.etcd_client import EtcdClient, EtcdRefusedError, EtcdTLS, EtcdUnreachableError
from schedlab.backends.etcd_keys import KeySpace

PROGRAM = "etcd"
HINT = "install it: `make etcd`, or `apt-get install etcd-server`"
_START_S_MAX = 20.0


def program() -> str:
    """Return the path of etcd; where it is missing a test fails in CI and is skipped elsewhere."""
    found = shutil.which(PROGRAM)
    if found is None:
        if os.environ.get("CI"):
            pytest.fail(f"etcd is not installed; {HINT}")
        pytest.skip(f"etcd is not installed; {HINT}")
    return found


class Etcd:
    """An etcd of one member with a folder of its own, for a `with` statement."""

    def __init__(
        self, folder: Path, options: Sequence[str] = (), *, scheme: str = "http", tls: EtcdTLS | None = None
    ) -> None:
        self._folder = folder
        self._options = options
        self._tls = EtcdTLS() if tls is None else tls
        self._port, self._peer_port = free_ports(2)
        self.url = f"{scheme}://127.0.0.1:{self._port}"
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        self.kill()

    def start(self) -> None:
        """Start it on the folder, and wait until it answers."""
        peer = f"http://127.0.0.1:{self._peer_port}"
        command = [program(), "--data-dir", str(self._folder / "etcd"), "--name", "one"]
        command += ["--listen-client-urls", self.url, "--advertise-client-urls", self.url]
        command += ["--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer]
        command += ["--initial-cluster", f"one={peer}", "--logger", "zap", *self._options]
        with (self._folder / "etcd.log").open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
        deadline = time.monotonic() + _START_S_MAX
        while True:
            try:
                self.call("KV", "Range", key=b"nothing")
            except (EtcdUnreachableError, EtcdRefusedError):
                if self._process.poll() is not None or time.monotonic() > deadline:
                    self.kill()
                    raise AssertionError((self._folder / "etcd.log").read_text()) from None
            else:
                return

    def kill(self) -> None:
        """End it as a crash would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def pause(self) -> None:
        """Let it stand still."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """Let it run again."""
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def call(self, stub: str, method: str, **fields: Any) -> Any:
        """Ask etcd for something, without schedlab."""
        client = EtcdClient((self.url,), self._tls)
        request = getattr(client.rpc, "CompactionRequest" if method == "Compact" else f"{method}Request")
        try:
            return client.call(stub, method, request(**fields), patience_s=0.5)
        finally:
            client.close()

    def pairs(self, prefix: str = "/registry") -> dict[str, bytes]:
        """Every key under a prefix, and its value."""
        start, end = KeySpace(prefix).range
        return {pair.key.decode(): pair.value for pair in self.call("KV", "Range", key=start, range_end=end).kvs}


def free_ports(count: int) -> list[int]:
    """Return ports that nobody listens on."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports
