"""Questions that are tried on forks of the cluster, in processes of their own."""

from __future__ import annotations

import asyncio

from schedlab.web.routing import Answer, Refusal, Request, Route, json_answer
from schedlab.web.simulator import Simulator
from schedlab.whatif.help import what_would_help
from schedlab.whatif.workers import Question, WorkerError

_BUSY, _GIVEN_UP = 429, 504


async def ask(simulator: Simulator, request: Request, question: Question) -> Answer:
    """Answer with what a worker finds out; nobody searches on for a client that has left."""
    if simulator.ask is None:
        raise Refusal(404, "there is no cluster here that could be forked: only a scheduler runs")
    asking = asyncio.ensure_future(simulator.ask(question))
    leaving = asyncio.ensure_future(request.gone())
    try:
        await asyncio.wait((asking, leaving), return_when=asyncio.FIRST_COMPLETED)
        if not asking.done():
            raise ConnectionResetError("the client left before the search ended")
        return json_answer(await asking)
    except WorkerError as error:
        raise Refusal(_BUSY if error.busy else _GIVEN_UP, str(error)) from error
    finally:
        asking.cancel()
        leaving.cancel()
        await asyncio.gather(asking, leaving, return_exceptions=True)


async def help_for(simulator: Simulator, request: Request) -> Answer:
    """Tell which smallest changes would let a pod be scheduled; `?attempt=N`: would have, then."""
    namespace, pod = request.parameters["namespace"], request.parameters["pod"]
    attempt = request.number("attempt")
    return await ask(
        simulator, request, lambda cluster: what_would_help(cluster, namespace, pod, attempt=attempt).data()
    )


ROUTES = (Route("GET", "/api/v1/pods/{namespace}/{pod}/what-would-help", help_for),)
