"""What shadow schedulers would have done."""

from __future__ import annotations

from typing import Final

from schedlab.web.routing import Answer, Request, Route, json_answer
from schedlab.web.simulator import Simulator


async def shadows(simulator: Simulator, request: Request) -> Answer:
    """Tell of every shadow how far it agrees, and the pods that it would have put elsewhere; `?pod=NAMESPACE/NAME`: one."""
    pod = request.word("pod")
    return json_answer({"shadows": [shadow.as_json(pod) for shadow in simulator.shadows]})


ROUTES: Final = (Route("GET", "/api/v1/shadows", shadows),)
