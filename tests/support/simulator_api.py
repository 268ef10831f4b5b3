"""The simulator's REST API, asked in process."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import orjson

from schedlab.mirror.service import Mirroring
from schedlab.web.app import SimulatorApp
from schedlab.web.simulator import Simulator
from tests.support.clusters import Lab


class Server:
    """The REST API of a cluster, asked in process."""

    def __init__(self, *, strict: bool = False, **settings: Any) -> None:
        self.lab = Lab(**settings, strict_upstream=strict)
        cluster = self.lab.cluster
        self.mirroring = Mirroring(cluster.registry, cluster.clock, cluster)
        simulator = Simulator(log=cluster.log, explainer=cluster.explainer, mirroring=self.mirroring, strict=strict)
        self.app = SimulatorApp(simulator)

    def ask(
        self, method: str, path: str, body: object = None, *, raw: bytes | None = None, lines: int = 0
    ) -> tuple[int, Any, dict[str, str]]:
        """Return status, decoded body and headers; of a stream the first `lines`."""
        sent: list[Any] = []
        content = raw if raw is not None else b"" if body is None else orjson.dumps(body)
        plain, _, query = path.partition("?")
        scope = {
            "type": "http",
            "method": method,
            "path": plain,
            "query_string": query.encode(),
            "headers": [(b"host", b"localhost:1212")],
        }
        asyncio.run(self._run(scope, content, sent, lines))
        answer = b"".join(message.get("body", b"") for message in sent[1:])
        headers = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
        if lines:
            return sent[0]["status"], [json.loads(line) for line in answer.splitlines()], headers
        return sent[0]["status"], json.loads(answer) if answer else None, headers

    async def _run(self, scope: Any, content: bytes, sent: list[Any], lines: int) -> None:
        enough = asyncio.Event()
        waiting = [{"type": "http.request", "body": content}]

        async def receive() -> Any:
            if waiting:
                return waiting.pop()
            await enough.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            sent.append(message)
            if lines and sum(one.get("body", b"").count(b"\n") for one in sent) >= lines:
                enough.set()

        async with asyncio.timeout(20):
            await self.app(scope, receive, send)
