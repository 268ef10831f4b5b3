"""What the decision log knows."""

from __future__ import annotations

from schedlab.decisions.explain import DETAILED, PodQuestion
from schedlab.web.routing import Answer, Refusal, Request, Route, json_answer
from schedlab.web.simulator import Simulator


async def decision(simulator: Simulator, request: Request) -> Answer:
    """Explain one attempt of a pod: the newest, or `?attempt=N`."""
    question = PodQuestion(
        attempt=request.number("attempt"),
        nodes=tuple(request.query.get("node", ())),
        all_plugins=request.flag("allPlugins"),
        versus=request.word("vs"),
        detailed=request.number("detailed", DETAILED) or 0,
    )
    try:
        found = simulator.explainer.explain(request.parameters["namespace"], request.parameters["pod"], question)
    except LookupError as error:
        raise Refusal(404, str(error.args[0])) from error
    return json_answer(found)


ROUTES = (Route("GET", "/api/v1/decisions/{namespace}/{pod}", decision),)
