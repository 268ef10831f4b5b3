"""The recorded past: which revisions are kept, and the attempts around one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from schedlab.apimachinery.time import format_micro_time
from schedlab.decisions.tables import Query
from schedlab.web.routing import Answer, Refusal, Request, Route, json_answer, paced, whole_number
from schedlab.web.simulator import Simulator

if TYPE_CHECKING:
    from schedlab.cluster.past import Past
    from schedlab.decisions.archive import Entry
    from schedlab.decisions.log import Attempt, DecisionLog, PodStory
    from schedlab.kernel.steps import Steps

#: Attempts are counted in so many equal parts of the past.
_PARTS: Final = 400
#: So many attempts of one moment are named.
_NAMED: Final = 20
#: So many attempts are looked at in one step.
_STEP: Final = 1000
_RESULTS: Final = ("scheduled", "unschedulable", "error")


def _past(simulator: Simulator) -> Past:
    if simulator.past is None:
        raise Refusal(404, "there is no cluster here, only a scheduler")
    return simulator.past


async def bounds(simulator: Simulator, _request: Request) -> Answer:
    """Tell which revisions are kept, when they were, and where between them pods were tried."""
    past = _past(simulator)
    oldest, newest = past.oldest, past.newest
    marks = await paced(_marks(simulator.log, oldest, newest))
    return json_answer(
        {
            "oldest": oldest,
            "newest": newest,
            "oldestTime": _time(past, oldest),
            "newestTime": _time(past, newest),
            "history": past.history,
            "whole": past.is_whole,
            "results": _RESULTS,
            "marks": [[revision, *counts] for revision, counts in sorted(marks.items())],
        }
    )


def _marks(log: DecisionLog, oldest: int, newest: int) -> Steps[dict[int, list[int]]]:
    """Count attempts by result, at the first revision of each part of the past in which there were some."""
    width = max(1, -(-(newest - oldest + 1) // _PARTS))
    marks: dict[int, list[int]] = {}
    for place, (_, _, attempt) in enumerate(log.newest_first(), 1):
        head = attempt.head
        if not attempt.is_own:
            continue
        if head.revision < oldest:
            break
        part = oldest + (head.revision - oldest) // width * width
        marks.setdefault(part, [0] * len(_RESULTS))[_RESULTS.index(head.result)] += 1
        if place % _STEP == 0:
            yield
    return marks


async def moment(simulator: Simulator, request: Request) -> Answer:
    """Tell of one revision: when it was, the attempts that began there, and the nearest before and after.

    `?namespace=`, `?pod=` and `?result=` choose attempts as they do in the list of decisions.
    """
    past, revision = _past(simulator), whole_number("revision", request.parameters["revision"])
    past.require(revision)
    result = request.word("result")
    if result and result not in _RESULTS:
        raise Refusal(400, f"result: {result!r} is none of {', '.join(_RESULTS)}")
    query = Query(namespace=request.word("namespace"), pod=request.word("pod"), result=result)
    return json_answer(
        {
            "revision": revision,
            "time": _time(past, revision),
            **await paced(_around(simulator.log, past.oldest, revision, query)),
        }
    )


def _around(log: DecisionLog, oldest: int, revision: int, query: Query) -> Steps[dict[str, Any]]:
    """Return the attempts at a revision, the last one before and the first one after."""
    middle = log.begun_at(revision)
    here: list[Entry] = []
    before = after = None
    for place, entry in enumerate(log.from_number(middle), 1):
        if entry[2].is_own and query.wants(entry[1], entry[2]):
            after = entry
            break
        if place % _STEP == 0:
            yield
    for place, entry in enumerate(log.newest_first(middle), 1):
        at = entry[2].revision
        if entry[2].is_own and at < oldest:
            break
        if entry[2].is_own and query.wants(entry[1], entry[2]):
            if at < revision:
                before = entry
                break
            if at == revision:
                here.append(entry)
            else:
                # It is older than what memory holds.
                after = entry
        if place % _STEP == 0:
            yield
    return {
        "attempts": [_named(*one) for one in reversed(here[-_NAMED:])],
        "count": len(here),
        "previous": None if before is None else _named(*before),
        "next": None if after is None else _named(*after),
    }


def _named(_sequence: int, story: PodStory, attempt: Attempt) -> dict[str, Any]:
    head = attempt.head
    return {
        "namespace": story.namespace,
        "pod": story.name,
        "uid": story.uid,
        "attempt": head.attempt,
        "revision": head.revision,
        "time": format_micro_time(head.started_ns),
        "result": head.result,
        "node": head.selected,
    }


def _time(past: Past, revision: int) -> str:
    """Return when a revision was, empty when that is not known."""
    time_ns = past.time_of(revision)
    return "" if time_ns is None else format_micro_time(time_ns)


ROUTES = (
    Route("GET", "/api/v1/past", bounds),
    Route("GET", "/api/v1/past/{revision}", moment),
)
