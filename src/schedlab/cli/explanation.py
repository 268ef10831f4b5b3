"""What is read of an explanation to show it as text or as a page: nothing else of its JSON is decoded.

Of a big cluster that is half of the time, as each fact about a node says in values what it says in words, too.
"""

from __future__ import annotations

from typing import Any, TypedDict

import msgspec

from schedlab.kernel.errors import SchedlabError


class Fact(TypedDict):
    """What a verdict rests on, in words."""

    text: str
    fits: bool


class Entry(TypedDict, total=False):
    """A node."""

    node: str
    verdict: str
    plugins: dict[str, str]
    failedPlugin: str
    total: int
    scores: dict[str, Any]
    facts: dict[str, list[Fact]]
    factsOfNow: list[str]


class Explanation(TypedDict, total=False):
    """An explanation."""

    pod: str
    attempt: int
    attempts: list[int]
    time: str
    scheduler: str
    by: str
    result: str
    answer: str
    message: str
    selected: str
    runnerUp: Any
    choice: Any
    nominatedFirst: bool
    nodes: list[Entry]
    preemption: Any
    preFilter: Any
    customResults: Any
    versus: Any
    state: Any
    queue: Any
    moves: Any
    warnings: list[str]
    placedBy: Any


_DECODER = msgspec.json.Decoder(Explanation)


def explanation_of(answer: bytes) -> Explanation:
    """Decode an answer of the simulator; raises SchedlabError when it is none."""
    try:
        return _DECODER.decode(answer)
    except msgspec.DecodeError as error:
        raise SchedlabError(
            f"the simulator's answer is no explanation: {error}",
            hint="it may be of another version: end it (schedlab down) and start it anew (schedlab up)",
        ) from error
