"""A server to be measured: the program users start, in a process and a folder of its own."""

from __future__ import annotations

import json
import os
import signal
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

_START_S_MAX = 60.0
_STOP_S_MAX = 60.0
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_VERBS = {"apiserver": ("apiserver",), "up": ("up", "--port", "0")}


@dataclass(frozen=True)
class Server:
    """A running server: where it is, and what it has used."""

    host: str
    port: int
    token: str
    tls: ssl.SSLContext
    pid: int
    folder: Path

    def cpu_s(self) -> float:
        """Return the processor time that the server has taken so far, all threads together."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS_PER_S

    def memory_bytes(self) -> int:
        """Return the resident memory of the server."""
        pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    def peak_memory_bytes(self) -> int:
        """Return the most resident memory that the server has had."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0]) << 10


@contextmanager
def running(verb: str = "apiserver", *arguments: str, durable: bool = False) -> Iterator[Server]:
    """Run a server while the block lasts; `durable` keeps its objects in a folder."""
    with tempfile.TemporaryDirectory(prefix="schedlab-bench-") as place:
        folder = Path(place)
        kept = ("--data-dir", str(folder / "data")) if durable else ()
        command = [sys.executable, "-m", "schedlab", *_VERBS[verb], "--apiserver-port", "0", *kept, *arguments]
        with (folder / "output").open("wb") as output:
            process = subprocess.Popen(  # noqa: S603 - the program under measurement, with arguments of this file
                command, env={**os.environ, "SCHEDLAB_HOME": place}, stdout=output, stderr=subprocess.STDOUT
            )
        try:
            yield _await(process, folder)
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(_STOP_S_MAX)
            except subprocess.TimeoutExpired:
                process.kill()
                raise


def _await(process: subprocess.Popen[bytes], folder: Path) -> Server:
    """Wait until the server answers."""
    facts = folder / "default" / "cluster.json"
    deadline_s = time.monotonic() + _START_S_MAX
    while not facts.exists():
        if process.poll() is not None or time.monotonic() > deadline_s:
            raise SystemExit(f"the server did not start:\n{(folder / 'output').read_text()}")
        time.sleep(0.02)
    address = urlsplit(json.loads(facts.read_text())["apiserver"])
    assert address.hostname is not None
    assert address.port is not None
    home = folder / "default"
    tls = ssl.create_default_context(cafile=str(home / "pki" / "ca.crt"))
    return Server(address.hostname, address.port, (home / "token").read_text().strip(), tls, process.pid, folder)
