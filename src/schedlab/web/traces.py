"""The ways of pods, step by step."""

from __future__ import annotations

from schedlab.web.routing import Answer, Refusal, Request, Route, json_answer
from schedlab.web.simulator import Simulator


async def trace(simulator: Simulator, request: Request) -> Answer:
    """Tell the whole way of a pod: requests, queue, cycles, binding, kubelet, what is reserved for it."""
    namespace, name = request.parameters["namespace"], request.parameters["pod"]
    found = None if simulator.trace is None else simulator.trace(namespace, name)
    if found is None:
        raise Refusal(404, f"nothing is known of a pod {namespace}/{name}")
    return json_answer(found)


ROUTES = (Route("GET", "/api/v1/trace/{namespace}/{pod}", trace),)
