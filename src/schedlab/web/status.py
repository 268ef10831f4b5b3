"""Whether the simulator is well, and what it holds."""

from __future__ import annotations

from schedlab.web.routing import Answer, Request, Route, json_answer
from schedlab.web.simulator import Simulator


async def healthz(_simulator: Simulator, _request: Request) -> Answer:
    """Say that there is somebody."""
    return Answer(b"ok", "text/plain; charset=UTF-8")


async def status(simulator: Simulator, _request: Request) -> Answer:
    """Tell what the cluster holds and uses."""
    return json_answer(simulator.status())


ROUTES = (
    Route("GET", "/healthz", healthz, needs_token=False),
    Route("GET", "/api/v1/status", status),
)
