"""A scheduler alone whose connection to the API server breaks: it loses nothing, and binds nothing twice."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from tests.e2e.scheduling import node
from tests.support.live_server import Server
from tests.support.processes import WAIT_S, Control, Copy, pod, until
from tests.support.proxy import Wire
from tools.refresh_readme import simulator

# Processes start, and a busy machine takes its time.
pytestmark = pytest.mark.timeout(300)

NODES = ("--no-scheduler", "--nodes", "3")


@contextmanager
def _wired(folder: Path, *options: str) -> Iterator[tuple[Control, Wire, Copy]]:
    """A simulator, a wire to it, and a scheduler that knows of nothing but the wire."""
    with simulator(Path(sys.executable).parent, *NODES, *options) as environment:
        config = yaml.safe_load(Path(environment["KUBECONFIG"]).read_text())
        cluster = config["clusters"][0]["cluster"]
        port = urlsplit(cluster["server"]).port
        assert port is not None
        with Wire(port) as wire:
            cluster["server"] = f"https://127.0.0.1:{wire.port}"
            kubeconfig = folder / "kubeconfig"
            kubeconfig.write_text(yaml.safe_dump(config))
            with Copy("wired", folder, environment, "--kubeconfig", str(kubeconfig), "--no-leader-elect") as copy:
                yield Control(environment), wire, copy


def _pods(prefix: str, count: int) -> list[dict[str, Any]]:
    return [pod(f"{prefix}-{number}", "10m") for number in range(count)]


def _bound_once(control: Control) -> None:
    events = control.get("events")["items"]
    counts = Counter(one["involvedObject"]["name"] for one in events if one["reason"] == "Scheduled")
    assert set(counts.values()) == {1}, counts


def test_watches_that_are_cut_lose_nothing(tmp_path: Path) -> None:
    with _wired(tmp_path) as (control, wire, copy):
        control.apply(*_pods("first", 5))
        until(lambda: len(control.bound()) == 5, "the first pods")
        before = wire.connections
        for round_ in range(5):
            control.apply(*_pods(f"round-{round_}", 10))
            time.sleep(0.03 * round_)
            wire.cut()
        until(lambda: len(control.bound()) == 55, "the pods of all rounds", 60)

        assert copy.process.poll() is None
        assert wire.connections > before
        _bound_once(control)


def test_what_was_deleted_and_compacted_meanwhile_is_noticed(tmp_path: Path) -> None:
    with _wired(tmp_path, "--compaction-interval", "1s", "--history", "0") as (control, wire, copy):
        control.apply(*_pods("first", 5), pod("big", "3"))
        until(lambda: len(control.bound()) == 6, "the first pods")
        wire.close()
        control("delete", "pod", "big", "--grace-period=0", "--force")
        control.apply(*_pods("meanwhile", 10), *(pod(f"wide-{number}", "3") for number in range(3)))
        time.sleep(4)
        wire.mend()
        # Three pods of 3 CPU fit on three nodes of 4 only where `big` is known to be gone.
        until(lambda: len(control.bound()) == 18, "the pods of all times", 60)

        assert copy.process.poll() is None
        _bound_once(control)


def test_a_watch_that_has_expired_is_followed_by_a_list(tmp_path: Path) -> None:
    """The server stays silent about new pods, and then says 410: the revision to go on from is compacted."""
    expired = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Expired", "code": 410}
    line = json.dumps({"type": "ERROR", "object": {**expired, "message": "too old resource version: 1 (2)"}}) + "\n"
    deaf: set[str] = set()

    async def silent_then_410(scope: Any, send: Any) -> bool:
        path = scope["path"]
        if b"watch=true" not in scope["query_string"] or path in deaf:
            return False
        deaf.add(path)
        headers = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await asyncio.sleep(3)
        await send({"type": "http.response.body", "body": line.encode()})
        return True

    async def story() -> None:
        server = Server()
        await server.start()
        registry = server.registry
        registry.create("nodes", registry.decode("nodes", node("a")))
        server.misbehaviour = silent_then_410
        user = {"name": "u", "user": {"token": server.access.token}}
        cluster = {"name": "c", "cluster": {"server": server.access.server}}
        context = {"name": "x", "context": {"cluster": "c", "user": "u"}}
        config = {"current-context": "x", "contexts": [context], "clusters": [cluster], "users": [user]}
        kubeconfig = tmp_path / "kubeconfig"
        kubeconfig.write_text(yaml.safe_dump(config))
        environment = {**os.environ, "SCHEDLAB_HOME": str(tmp_path)}
        options = ("--kubeconfig", str(kubeconfig), "--no-leader-elect")
        with Copy("deaf", tmp_path, environment, *options) as copy:
            await _until(lambda: "/api/v1/pods" in deaf, "the watch of pods")
            for number in range(5):
                made = pod(f"p-{number}", "10m", tolerations=[{"operator": "Exists"}])
                registry.create("pods", registry.decode("pods", made), "default")
            await asyncio.sleep(1)
            assert not any(one.view.spec.node_name for one in registry.list("pods").items)
            await _until(lambda: all(one.view.spec.node_name for one in registry.list("pods").items), "all pods")
            assert copy.process.poll() is None
        await server.stop()

    asyncio.run(story())


async def _until(holds: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + WAIT_S
    while not holds():
        assert time.monotonic() < end, f"{what} did not come"
        await asyncio.sleep(0.1)


def test_a_server_that_is_away_for_long_is_waited_for(tmp_path: Path) -> None:
    with _wired(tmp_path) as (control, wire, copy):
        control.apply(*_pods("first", 5))
        until(lambda: len(control.bound()) == 5, "the first pods")
        wire.close()
        control.apply(*_pods("meanwhile", 10))
        time.sleep(15)
        assert len(control.bound()) == 5
        wire.mend()
        until(lambda: len(control.bound()) == 15, "the pods of the time without a server", 60)

        assert copy.process.poll() is None
        assert "Failed to watch" in copy.log()
        _bound_once(control)
