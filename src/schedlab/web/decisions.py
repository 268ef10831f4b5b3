"""What the decision log knows."""

from __future__ import annotations

from schedlab.decisions.explain import explain
from schedlab.web.routing import Answer, Refusal, Request, Route, json_answer
from schedlab.web.simulator import Simulator


async def decision(simulator: Simulator, request: Request) -> Answer:
    """Explain one attempt of a pod: the newest, or `?attempt=N`."""
    namespace, pod = request.parameters["namespace"], request.parameters["pod"]
    attempt = request.number("attempt")
    story = simulator.log.find(namespace, pod)
    if story is None:
        raise Refusal(404, simulator.untried(namespace, pod))
    try:
        return json_answer(explain(story, attempt))
    except LookupError as error:
        raise Refusal(404, str(error.args[0])) from error


ROUTES = (Route("GET", "/api/v1/decisions/{namespace}/{pod}", decision),)
