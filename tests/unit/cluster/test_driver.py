"""The engine steps parts in turn and feeds outcomes back; the batch driver jumps from timer to timer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from schedlab.api.object import StoredObject
from schedlab.client.effects import CallEffect, CallOutcome, Effect, ReadEffect, WriteEffect
from schedlab.client.protocol import Completion, Outcome, Watch, WatchEvent, Write
from schedlab.cluster.driver import BatchDriver, Engine
from schedlab.kernel.clock import SECOND_NS, VirtualClock
from schedlab.kernel.errors import InvariantError


class _Client:
    """Answers every write at once, or keeps the completions for later."""

    def __init__(self, *, later: bool = False) -> None:
        self.later = later
        self.writes: list[Write] = []
        self.waiting: list[Completion] = []

    def submit(self, write: Write, done: Completion | None = None) -> None:
        self.writes.append(write)
        if done is None:
            return
        if self.later:
            self.waiting.append(done)
        else:
            done(Outcome())

    def get(self, resource: str, name: str, namespace: str = "") -> StoredObject:
        raise NotImplementedError

    def read(self, resource: str, name: str, namespace: str, done: Completion) -> None:
        self.waiting.append(done)

    def list(self, resource: str, namespace: str = "") -> tuple[Sequence[StoredObject], int]:
        raise NotImplementedError

    def watch(self, resource: str, since: int, handler: Callable[[WatchEvent], None]) -> Watch:
        raise NotImplementedError


class _Part:
    """Returns the effects it was given, one step each, and notes what it hears."""

    def __init__(self, name: str, story: list[str], *steps: Sequence[Effect]) -> None:
        self.name, self.story, self.steps = name, story, list(steps)

    def ready(self) -> bool:
        return bool(self.steps)

    def step(self) -> Sequence[Effect]:
        self.story.append(f"{self.name} step")
        return self.steps.pop(0)

    def complete(self, effect: Effect, outcome: object) -> Sequence[Effect]:
        self.story.append(f"{self.name} heard {type(outcome).__name__} for {effect.token}")
        return ()


def _write(token: str) -> WriteEffect:
    return WriteEffect(token, Write("create", "pods", "default", token))


def _settle(*parts: tuple[Any, _Client]) -> None:
    engine = Engine()
    for part, client in parts:
        engine.add(part, client)
    BatchDriver(engine, VirtualClock()).settle()


def test_parts_take_turns_and_hear_of_outcomes_first() -> None:
    story: list[str] = []
    client = _Client()
    _settle(
        (_Part("a", story, [_write("a1")], []), client),
        (_Part("b", story, []), client),
    )

    assert story == ["a step", "a heard Outcome for a1", "b step", "a step"]


def test_outcomes_that_nobody_waits_for_are_not_told() -> None:
    story: list[str] = []
    client = _Client()
    _settle((_Part("a", story, [WriteEffect(None, Write("create", "events", "default", "e"))]), client))

    assert story == ["a step"]
    assert [write.name for write in client.writes] == ["e"]


def test_what_follows_from_a_write_is_done_before_the_next_one() -> None:
    class Follows(_Part):
        def complete(self, effect: Effect, outcome: object) -> Sequence[Effect]:
            return [_write("follows")] if effect.token == "one" else ()

    client = _Client()
    _settle((Follows("a", [], [_write("one"), _write("two")]), client))

    assert [write.name for write in client.writes] == ["one", "follows", "two"]


def test_outcome_may_come_later() -> None:
    story: list[str] = []
    client, engine = _Client(later=True), Engine()
    engine.add(_Part("a", story, [_write("a1")]), client)
    driver = BatchDriver(engine, VirtualClock())

    driver.settle()
    assert not engine.busy()
    client.waiting[0](Outcome())
    assert engine.busy()
    driver.settle()

    assert story == ["a step", "a heard Outcome for a1"]


def test_without_a_network_calls_are_answered_with_an_error() -> None:
    heard: list[object] = []

    class Caller(_Part):
        def complete(self, effect: Effect, outcome: object) -> Sequence[Effect]:
            heard.append(outcome)
            return ()

    _settle((Caller("a", [], [CallEffect("t", "http://example.com/x", b"{}", SECOND_NS)]), _Client()))

    [outcome] = heard
    assert isinstance(outcome, CallOutcome)
    assert "makes no network calls" in outcome.error


def test_unknown_effect_is_a_bug() -> None:
    with pytest.raises(InvariantError, match="no driver for effect Effect of _Part"):
        _settle((_Part("a", [], [Effect("t")]), _Client()))


def test_batch_driver_settles_at_every_timer() -> None:
    story: list[str] = []
    clock, engine = VirtualClock(0), Engine()
    part = _Part("a", story)
    engine.add(part, _Client())
    for second in (1, 2):
        clock.at(second * SECOND_NS, lambda: part.steps.append([]))
    driver = BatchDriver(engine, clock)

    driver.run_for(SECOND_NS)
    assert story == ["a step"]
    driver.run_until(10 * SECOND_NS)

    assert story == ["a step", "a step"]
    assert clock.now_ns() == 10 * SECOND_NS


def test_cluster_that_never_rests_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    class Restless(_Part):
        def ready(self) -> bool:
            return True

        def step(self) -> Sequence[Effect]:
            return ()

    monkeypatch.setattr(BatchDriver, "STEPS_PER_INSTANT_MAX", 100)
    with pytest.raises(InvariantError, match="still busy after 100 steps"):
        _settle((Restless("a", []), _Client()))


def test_a_read_is_answered_when_its_answer_comes() -> None:
    story: list[str] = []
    client = _Client()
    engine = Engine()
    engine.add(_Part("a", story, [ReadEffect("lease", "leases", "ns", "name")]), client)
    while engine.step():
        pass
    client.waiting.pop()(Outcome())
    engine.step()

    assert story == ["a step", "a heard Outcome for lease"]


def test_a_removed_part_is_neither_stepped_nor_answered() -> None:
    story: list[str] = []
    client = _Client(later=True)
    engine = Engine()
    dying = _Part("dying", story, [_write("first"), _write("second")], [])
    engine.add(dying, client)
    engine.add(_Part("other", story, []), client)
    engine.step()
    engine.step()
    engine.remove(dying)
    client.waiting.pop()(Outcome())
    while engine.step():
        pass

    assert story == ["dying step", "other step"]
    assert [write.name for write in client.writes] == ["first"]
    assert not engine.busy()


def test_suspended_parts_rest_until_they_are_resumed() -> None:
    story: list[str] = []
    client = _Client()
    engine = Engine()
    urgent, usual = _Part("urgent", story, []), _Part("usual", story, [])
    engine.add(urgent, client, first=True)
    engine.add(usual, client)
    engine.suspend([urgent])
    while engine.step():
        pass
    busy = engine.busy()
    engine.resume()
    engine.step()

    assert story == ["usual step", "urgent step"]
    assert not busy
