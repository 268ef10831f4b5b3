"""Plugins whose reasons are never the same: what they said is known for as long as the attempts are, and no longer."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from schedlab.cluster.decision_file import DecisionFile
from schedlab.decisions.log import DecisionLog
from schedlab.decisions.rendering import filter_result
from schedlab.scheduler.framework import status
from schedlab.scheduler.framework.status import REASONS, NodeStatuses, ReasonTable, unschedulable
from schedlab.testing.builders import make_node, make_pod
from tests.unit.scheduler.fake_cluster import BASIC_PLUGINS, FakeCluster, configuration, profile
from tests.unit.scheduler.runtime.fake_plugins import FakePlugin, registry_of

NODES = 4
PAGE = 200


@pytest.fixture(autouse=True)
def _small_pages(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Other tests go on with the pages that they had."""
    monkeypatch.setattr(status, "_PAGE_TEXTS", PAGE)
    before = dict(REASONS.__dict__)
    REASONS.turn()
    yield
    REASONS.__dict__.update(before)


def held() -> int:
    """How many texts are known."""
    return sum(len(page.texts) for page in REASONS._held.values() if len(page.texts) < 2 * PAGE)


class Counting:
    """A cluster in which a plugin says of every node how often it has been asked; pods are gone after one attempt."""

    def __init__(self, log: DecisionLog, *, array_form: bool) -> None:
        numbers = count()

        def said(pod: Any, node: Any) -> Any:
            return unschedulable(f"{pod.name} is no. {next(numbers)} on {node.name}")

        # Nothing that happens makes a pod be tried again.
        methods: dict[str, Any] = {"events_to_register": tuple, "filter": lambda _state, pod, node: said(pod, node)}
        if array_form:
            methods["filter_nodes"] = lambda _state, pod, table, rows: NodeStatuses.of(
                [said(pod, info) for info in table.infos[rows]]
            )
        self.cluster = FakeCluster(
            configuration(profile(*BASIC_PLUGINS, "Counting")),
            registry=registry_of(FakePlugin("Counting", **methods)),
            observer=log,
        )
        self.cluster.add(*(make_node(f"node-{number}").capacity(cpu="9", pods="9") for number in range(NODES)))
        self.log = log

    def attempt(self, number: int) -> str:
        """Try a pod; return its message."""
        name = f"pod-{number}"
        self.cluster.add(make_pod(name).uid(name))
        self.cluster.run()
        message: str = self.cluster.pod(name).status.conditions[0].message
        self.cluster.remove("pods", name)
        return message


def log_in(folder: Path | None, bytes_max: int) -> Iterator[DecisionLog]:
    if folder is None:
        yield DecisionLog(bytes_max)
        return
    file = DecisionFile(folder, bytes_max=bytes_max)
    yield DecisionLog(bytes_max, archive=file)
    file.close()


@pytest.mark.parametrize("array_form", [False, True], ids=["scalar", "array form"])
@pytest.mark.parametrize("in_file", [False, True], ids=["memory", "file"])
def test_memory_is_bounded_by_the_limit_of_the_log(tmp_path: Path, *, in_file: bool, array_form: bool) -> None:
    for log in log_in(tmp_path if in_file else None, 100_000):
        counting = Counting(log, array_form=array_form)
        gc.collect()
        texts = []
        for number in range(2000):
            counting.attempt(number)
            if isinstance(log.archive, DecisionFile) and number % 20 == 0:
                # What waits to be written is known, too, and how much that is depends on the machine.
                log.archive.flush()
            texts.append(held())

        assert max(texts) < 6 * PAGE
        assert log.forgotten_pods > 0 or in_file


@pytest.mark.parametrize("array_form", [False, True], ids=["scalar", "array form"])
@pytest.mark.parametrize("in_file", [False, True], ids=["memory", "file"])
def test_every_attempt_that_is_kept_has_its_own_reasons(tmp_path: Path, *, in_file: bool, array_form: bool) -> None:
    messages = {}
    for log in log_in(tmp_path if in_file else None, 10_000_000):
        counting = Counting(log, array_form=array_form)
        for number in range(1000):
            messages[f"pod-{number}"] = counting.attempt(number)

    for again in log_in(tmp_path, 10_000_000) if in_file else (log,):
        stories = {story.name: story for story in again.every_story()}
        assert stories.keys() == messages.keys()
        for number in range(0, 1000, 7):
            [attempt] = again.story(f"pod-{number}").attempts  # type: ignore[union-attr]
            record = attempt.cycle()
            assert record.failure_message == messages[f"pod-{number}"]
            told = filter_result(record)
            for name in (f"node-{each}" for each in range(NODES)):
                assert f' on {name}"' in told


def test_ids_are_used_again_when_nobody_holds_their_page() -> None:
    table = ReasonTable()
    numbers = count()

    def fill() -> list[int]:
        table.turn()
        return [table.id_of((f"text {next(numbers)}",)) for _ in range(3)]

    first = fill()
    pages = table.pages
    for _ in range(5):
        fill()

    assert [table.texts(each) for each in first] == [("text 0",), ("text 1",), ("text 2",)]
    del pages
    assert any(set(first) & set(fill()) for _ in range(3))


def test_no_text_has_the_id_zero_on_every_page() -> None:
    table = ReasonTable()
    for _ in range(4):
        table.turn()
        assert (table.id_of(()), table.texts(0)) == (0, ())


def test_page_is_full_also_of_long_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(status, "_PAGE_CHARACTERS", 1000)
    table = ReasonTable()
    table.id_of(("x" * 400, "y" * 500))
    assert not table.is_full
    table.id_of(("x" * 100,))
    assert table.is_full
    table.turn()
    assert not table.is_full


def test_more_texts_in_one_cycle_than_a_page_has_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(status, "_PLACE", 7)
    monkeypatch.setattr(status, "_PAGE_BITS", 3)
    table = ReasonTable()
    ids = [table.id_of((str(number),)) for number in range(12)]

    assert [table.texts(each) for each in ids] == [(str(number),) for number in range(12)]
