"""The recorded past: which revisions are kept, and the attempts around one."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from schedlab.apimachinery.time import format_micro_time
from schedlab.decisions.tables import Query
from schedlab.web.routing import Answer, Refusal, Request, Route, json_answer, paced
from schedlab.web.simulator import Simulator

if TYPE_CHECKING:
    from schedlab.cluster.past import Past
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
    for place, (_, attempt) in enumerate(_attempts(log, oldest), 1):
        head = attempt.packed.head
        part = oldest + (head.revision - oldest) // width * width
        marks.setdefault(part, [0] * len(_RESULTS))[_RESULTS.index(head.result)] += 1
        if place % _STEP == 0:
            yield
    return marks


def _attempts(log: DecisionLog, oldest: int) -> Iterator[tuple[PodStory, Attempt]]:
    """Yield the attempts that began at a kept revision of this cluster, newest first."""
    for _, story, attempt in log.newest_first():
        head = attempt.packed.head
        # Attempts that came with the log of another cluster have no place in the past of this one.
        if head.position < 0:
            continue
        if head.revision < oldest:
            return
        yield story, attempt


async def moment(simulator: Simulator, request: Request) -> Answer:
    """Tell of one revision: when it was, the attempts that began there, and the nearest before and after.

    `?namespace=`, `?pod=` and `?result=` choose attempts as they do in the list of decisions.
    """
    text = request.parameters["revision"]
    if not (text.isascii() and text.isdecimal()):
        raise Refusal(400, f"revision: {text!r} is not a number")
    past, revision = _past(simulator), int(text)
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
    here: list[tuple[PodStory, Attempt]] = []
    before = after = None
    found = _attempts(log, oldest)
    while some := tuple(islice(found, _STEP)):
        for story, attempt in some:
            if not query.wants(story, attempt):
                continue
            at = attempt.packed.head.revision
            if at == revision:
                here.append((story, attempt))
            elif at > revision and (after is None or at <= after[1].packed.head.revision):
                after = story, attempt
            elif at < revision and (before is None or at > before[1].packed.head.revision):
                before = story, attempt
        yield
    return {
        "attempts": [_named(*one) for one in reversed(here[-_NAMED:])],
        "count": len(here),
        "previous": None if before is None else _named(*before),
        "next": None if after is None else _named(*after),
    }


def _named(story: PodStory, attempt: Attempt) -> dict[str, Any]:
    head = attempt.packed.head
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
