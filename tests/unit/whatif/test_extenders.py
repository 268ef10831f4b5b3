"""HTTP extenders are asked on a fork what they think, and never told to bind."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

from schedlab.cluster.fork_caller import NOT_BOUND, ForkCaller
from schedlab.whatif.changes import read_changes
from schedlab.whatif.help import what_would_help
from schedlab.whatif.what_if import what_if
from tests.unit.whatif.whatif_cluster import Json, Lab


@contextmanager
def extender() -> Iterator[tuple[str, list[str]]]:
    """Run an extender that lets nodes pass whose name begins with "good"; yield its address and what it is asked."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(self.path)
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            names = body.get("NodeNames") or body.get("nodenames") or []
            good = [name for name in names if name.startswith("good")]
            failed = {name: "not good" for name in names if name not in good}
            answer: dict[str, Any] = {"NodeNames": good, "FailedNodes": failed}
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(answer).encode())

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


def config(address: str, **more: Any) -> Json:
    one = {"urlPrefix": address, "filterVerb": "filter", "nodeCacheCapable": True, **more}
    kind = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    return {**kind, "extenders": [one]}


def lab_with(address: str, **more: Any) -> Lab:
    """Return a cluster that asks the extender, as a live one does, but only on forks: its own scheduler rests."""
    lab = Lab(scheduler_config=config(address, **more))
    lab.cluster.caller = ForkCaller(lab.cluster.scheduler.extenders)
    lab.node("good-1", cpu="1")
    lab.node("bad-1", cpu="8")
    lab.settle()
    return lab


def test_suggestions_are_those_that_the_extender_agrees_with() -> None:
    with extender() as (address, asked):
        lab = lab_with(address)
        lab.pod("p", cpu="2")

        found = what_would_help(lab.cluster, "default", "p")
        request = next(one for one in found.suggestions if one.kind == "request")
        assert (request.summary, request.node) == ("ask for 1 cpu instead of 2", "good-1")
        assert set(asked) == {"/filter"}


def test_nobody_is_asked_to_bind_for_a_fork() -> None:
    with extender() as (address, asked):
        lab = lab_with(address, bindVerb="bind")
        lab.pod("p", cpu="500m")
        found = what_if(lab.cluster, read_changes([{"uncordon": "good-1"}]), 30)

        assert "/filter" in asked
        assert "/bind" not in asked
        assert found.moves == ()


def test_a_cluster_without_a_network_asks_nobody() -> None:
    with extender() as (address, asked):
        lab = Lab(nodes=1, scheduler_config=config(address))
        lab.pod("p")
        found = what_would_help(lab.cluster, "default", "p")

        assert "extenders are not called on a fork" in found.message
        assert asked == []


def test_the_refusal_names_its_reason() -> None:
    assert "fork" in NOT_BOUND
