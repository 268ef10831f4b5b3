"""What the decision log knows: attempts explained, listed page by page, and exported as tables."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from itertools import islice
from typing import Final

import orjson

from schedlab.apimachinery.time import TimeError, parse_time
from schedlab.decisions.explain import DETAILED, PodQuestion, UnknownNameError
from schedlab.decisions.log import DecisionLog
from schedlab.decisions.tables import TABLES, Query, Row, Search, rows_of_attempts
from schedlab.web.routing import Answer, Refusal, Request, Route, Stream, json_answer, paced
from schedlab.web.simulator import Simulator
from schedlab.web.whatif import ask
from schedlab.whatif.foreign import explain_foreign

_PAGE: Final = 100
_PAGE_MAX: Final = 1000
#: So many rows are made in one go, and so many attempts looked at; in between others have their turn.
_ROWS_AT_ONCE: Final = 200
_LOOKED_AT_AT_ONCE: Final = 200
#: A page with words of others is kept, never shown as one of ours.
_AS_FILE: Final = (("content-disposition", "attachment"),)
_RESULTS: Final = ("scheduled", "unschedulable", "error")


def _log(simulator: Simulator) -> DecisionLog:
    if simulator.strict:
        raise Refusal(404, "with --strict-upstream results are on the pods only, as annotations")
    return simulator.log


async def decision(simulator: Simulator, request: Request) -> Answer:
    """Explain one attempt of a pod: the newest, or `?attempt=N`; of one that others have placed, what ours would do.

    `?as=html` gives a page to keep, of what is recorded here.
    """
    form = request.word("as")
    if form not in ("", "html") or (form and simulator.document is None):
        raise Refusal(400, f"as: {form!r} cannot be had here; leave it out for JSON")
    _log(simulator)
    question = PodQuestion(
        attempt=request.number("attempt"),
        uid=request.word("uid"),
        nodes=tuple(request.query.get("node", ())),
        all_plugins=request.flag("allPlugins"),
        versus=request.word("vs"),
        detailed=request.number("detailed", DETAILED) or 0,
        formulas=request.number("formulas"),
    )
    namespace, pod = request.parameters["namespace"], request.parameters["pod"]
    if (
        not form
        and question.attempt is None
        and simulator.ask is not None
        and simulator.explainer.is_foreign(namespace, pod)
    ):
        return await ask(simulator, request, lambda cluster: explain_foreign(cluster, namespace, pod, question))
    try:
        found = await paced(simulator.explainer.explaining(namespace, pod, question))
    except UnknownNameError as error:
        raise Refusal(404, str(error), hint=error.hint) from error
    except LookupError as error:
        raise Refusal(404, str(error.args[0])) from error
    if form and simulator.document is not None:
        return Answer(simulator.document(found).encode(), "text/html; charset=UTF-8", headers=_AS_FILE)
    return json_answer(found)


async def decisions(simulator: Simulator, request: Request) -> Answer:
    """List attempts, newest first; `?limit=N` at a time, `?before=` takes `next` of the page before."""
    limit = request.number("limit", _PAGE)
    if limit is None or not 1 <= limit <= _PAGE_MAX:
        raise Refusal(400, f"limit: give a number from 1 to {_PAGE_MAX}")
    search = Search(_log(simulator), _query(request), limit=limit, before=request.number("before"))
    while search.step(_LOOKED_AT_AT_ONCE):  # noqa: ASYNC110 - others have their turn; nobody has to be waited for
        await asyncio.sleep(0)
    return json_answer({"items": search.rows, "next": search.before})


async def export(simulator: Simulator, request: Request) -> Stream:
    """Give a whole table as JSON lines, oldest attempt first."""
    name = request.parameters["table"]
    table = next((each for each in TABLES if each == name), None)
    if table is None:
        raise Refusal(404, f"there is no table {name!r}; tables are: {', '.join(TABLES)}")
    return Stream(_lines(rows_of_attempts(_log(simulator), table, _query(request))), "application/x-ndjson")


async def _lines(found: Iterator[Iterator[Row]]) -> AsyncIterator[bytes]:
    """Give rows as lines; attempts without any take their time, too."""
    for looked_at, some in enumerate(found, 1):
        while lines := b"".join(orjson.dumps(row) + b"\n" for row in islice(some, _ROWS_AT_ONCE)):
            yield lines
            await asyncio.sleep(0)
        if looked_at % _LOOKED_AT_AT_ONCE == 0:
            await asyncio.sleep(0)


def _query(request: Request) -> Query:
    result = request.word("result")
    if result and result not in _RESULTS:
        raise Refusal(400, f"result: {result!r} is none of {', '.join(_RESULTS)}")
    return Query(
        namespace=request.word("namespace"),
        pod=request.word("pod"),
        attempt=request.number("attempt"),
        node=request.word("node"),
        plugin=request.word("plugin"),
        reason=request.word("reason"),
        result=result,
        since_ns=_time(request, "since") or 0,
        until_ns=_time(request, "until"),
    )


def _time(request: Request, name: str) -> int | None:
    text = request.word(name)
    if not text:
        return None
    try:
        return parse_time(text)
    except TimeError as error:
        raise Refusal(400, f"{name}: {text!r} is no time; write one like 2026-01-31T12:00:00Z") from error


ROUTES = (
    Route("GET", "/api/v1/decisions", decisions),
    Route("GET", "/api/v1/decisions/{namespace}/{pod}", decision),
    Route("GET", "/api/v1/tables/{table}", export),
)
