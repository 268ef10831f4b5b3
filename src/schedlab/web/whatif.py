"""Questions that are tried on forks of the cluster, in processes of their own."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from schedlab.kernel.errors import SchedlabError
from schedlab.web.routing import Answer, Refusal, Request, Route, json_answer
from schedlab.web.simulator import Simulator
from schedlab.whatif.capacity import why_not_full
from schedlab.whatif.changes import read_changes
from schedlab.whatif.creating import refusals
from schedlab.whatif.fit import LIMIT_MAX, fit
from schedlab.whatif.help import what_would_help
from schedlab.whatif.optimum.bound import TIME_LIMIT_S, bound
from schedlab.whatif.pending import FIXES_MAX, pending
from schedlab.whatif.plan import plan_drain, plan_nodes
from schedlab.whatif.then import what_if_then
from schedlab.whatif.what_if import DEFAULT_S, what_if
from schedlab.whatif.workers import Question, WorkerError

_BUSY, _GIVEN_UP = 429, 504
_DURATION_S_MAX = 7 * 24 * 3600
#: A search by a worker must end before the worker is given up.
_TIME_LIMIT_S_MAX = 30


async def ask(simulator: Simulator, request: Request, question: Question) -> Answer:
    """Answer with what a worker finds out."""
    return json_answer(await asked(simulator, request, question))


async def asked(simulator: Simulator, request: Request, question: Question) -> Any:
    """Return what a worker finds out; nobody searches on for a client that has left."""
    if simulator.ask is None:
        raise Refusal(404, "there is no cluster here that could be forked: only a scheduler runs")
    asking = asyncio.ensure_future(simulator.ask(question))
    leaving = asyncio.ensure_future(request.gone())
    try:
        await asyncio.wait((asking, leaving), return_when=asyncio.FIRST_COMPLETED)
        if not asking.done():
            raise ConnectionResetError("the client left before the search ended")
        return await asking
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
    # The worker cannot read what is only in the file: it finds the pod's attempts in the memory it is forked with.
    simulator.log.find(namespace, pod)
    return await ask(
        simulator, request, lambda cluster: what_would_help(cluster, namespace, pod, attempt=attempt).data()
    )


async def what_if_answer(simulator: Simulator, request: Request) -> Answer:
    """Make changes on a fork and tell which pods move; the body is `{"changes": […], "forSeconds": 120, "at": REVISION}`.

    With `at` the fork begins at that revision, and the answer tells what came in truth as well.
    """
    body = await request.json()
    if not isinstance(body, dict):
        raise SchedlabError("the body is no object", hint='it is like {"changes": [{"cordon": "node-1"}]}')
    changes = read_changes(body.get("changes"))
    duration_s, revision = _duration_s(body), _revision(body)
    if revision is not None:
        return await ask(
            simulator, request, lambda cluster: what_if_then(cluster, changes, revision, duration_s).data()
        )
    return await ask(simulator, request, lambda cluster: what_if(cluster, changes, duration_s).data())


async def object_checks(simulator: Simulator, request: Request) -> Answer:
    """Tell which objects the API would refuse, were they created in their order; the body has `objects`, `namespace`."""
    body = await request.fields({"objects": list}, {"namespace": str})
    objects, namespace = body["objects"], body.get("namespace", "default")
    return await ask(simulator, request, lambda cluster: {"refusals": list(refusals(cluster, objects, namespace))})


async def pending_pods(simulator: Simulator, request: Request) -> Answer:
    """Tell which pods wait and why, and what would help; `?namespace=` chooses, `?fixes=N` groups are helped.

    `?at=REVISION`: which waited then.
    """
    namespace, fixes, at = request.word("namespace"), request.number("fixes", FIXES_MAX), request.number("at")
    assert fixes is not None
    return await ask(
        simulator, request, lambda cluster: pending(cluster, namespace, fixes_max=fixes, revision=at).data()
    )


async def not_full(simulator: Simulator, request: Request) -> Answer:
    """Tell what keeps free capacity from being used; `?at=REVISION`: what kept it then."""
    at = request.number("at")
    return await ask(simulator, request, lambda cluster: why_not_full(cluster, at).data())


async def fit_answer(simulator: Simulator, request: Request) -> Answer:
    """Tell how many of a pod fit; the body is `{"pod": {…}, "namespace": "default", "limit": 10000}`."""
    body = await request.fields({"pod": dict}, {"namespace": str, "limit": int})
    manifest, namespace, limit = body["pod"], body.get("namespace", "default"), body.get("limit", LIMIT_MAX)
    return await ask(
        simulator, request, lambda cluster: fit(cluster, manifest, namespace=namespace, limit=limit).data()
    )


async def plan_nodes_answer(simulator: Simulator, request: Request) -> Answer:
    """Tell how many nodes of a template hold a workload; the body has `workload` (a list), `template`, `namespace`."""
    body = await request.fields({"workload": list, "template": dict}, {"namespace": str})
    workload, template, namespace = body["workload"], body["template"], body.get("namespace", "default")
    return await ask(
        simulator, request, lambda cluster: plan_nodes(cluster, workload, template, namespace=namespace).data()
    )


async def plan_drain_answer(simulator: Simulator, request: Request) -> Answer:
    """Tell where pods land when nodes are emptied; the body is `{"selector": "zone=b", "forSeconds": 120}`."""
    body = await request.fields({"selector": str}, {"forSeconds": int})
    selector, duration_s = body["selector"], _duration_s(body)
    return await ask(simulator, request, lambda cluster: plan_drain(cluster, selector, duration_s=duration_s).data())


async def bound_answer(simulator: Simulator, request: Request) -> Answer:
    """Tell what no scheduler can beat; the body is `{"goal": "nodes", "timeLimit": 10}`."""
    body = await request.fields({"goal": str}, {"timeLimit": int})
    goal, limit_s = body["goal"], body.get("timeLimit", int(TIME_LIMIT_S))
    if limit_s > _TIME_LIMIT_S_MAX:
        raise SchedlabError(
            f"{limit_s} s are too long",
            location="timeLimit",
            hint=f"give {_TIME_LIMIT_S_MAX} at most, or ask a snapshot",
        )
    return await ask(simulator, request, lambda cluster: bound(cluster, goal, time_limit_s=limit_s).data())


def _duration_s(body: Mapping[str, Any]) -> int:
    duration_s = body.get("forSeconds", DEFAULT_S)
    if not isinstance(duration_s, int) or isinstance(duration_s, bool) or not 0 <= duration_s <= _DURATION_S_MAX:
        raise SchedlabError(
            f"{duration_s!r} is not a number of seconds from 0 to {_DURATION_S_MAX}",
            location="forSeconds",
            hint="leave it out for two minutes",
        )
    return duration_s


def _revision(body: Mapping[str, Any]) -> int | None:
    revision = body.get("at")
    if revision is not None and (not isinstance(revision, int) or isinstance(revision, bool)):
        raise SchedlabError(f"{revision!r} is not a revision", location="at", hint="leave it out for now")
    return revision


ROUTES = (
    Route("POST", "/api/v1/fit", fit_answer),
    Route("POST", "/api/v1/object-checks", object_checks),
    Route("POST", "/api/v1/plan/nodes", plan_nodes_answer),
    Route("POST", "/api/v1/plan/drain", plan_drain_answer),
    Route("POST", "/api/v1/bound", bound_answer),
    Route("GET", "/api/v1/pending", pending_pods),
    Route("GET", "/api/v1/why-not-full", not_full),
    Route("GET", "/api/v1/pods/{namespace}/{pod}/what-would-help", help_for),
    Route("POST", "/api/v1/what-if", what_if_answer),
)
