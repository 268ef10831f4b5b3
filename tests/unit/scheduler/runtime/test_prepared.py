"""Pod-local plugins are asked once for pods that are made alike; the others every time, in their places."""

from __future__ import annotations

from typing import Any

from schedlab.scheduler.framework.interface import CycleState
from schedlab.scheduler.framework.status import SKIP, Status
from schedlab.scheduler.runtime.prepared import Known, Recorder
from schedlab.testing.builders import make_pod


class _Plugin:
    def __init__(self, name: str, *, is_local: bool | Exception | None) -> None:
        self.name = name
        if is_local is not None:
            self.is_pod_local = lambda _: self._say(is_local)

    @staticmethod
    def _say(answer: bool | Exception) -> bool:  # noqa: FBT001 - what the plugin is to say
        if isinstance(answer, Exception):
            raise answer
        return answer


def _steps(*answers: tuple[_Plugin, Status | None, dict[object, Any]], plain: bool = True) -> list[Any]:
    """The steps after each plugin has answered and written."""
    state = CycleState()
    recorder = Recorder(make_pod().obj(), state)
    for plugin, status, written in answers:
        state.write_all(written)
        recorder.note(plugin, status, skips=status is SKIP, is_plain=plain)
    return list(recorder.steps)


def test_plugins_in_a_row_become_one_step() -> None:
    first, second = _Plugin("First", is_local=True), _Plugin("Second", is_local=True)
    other, last = _Plugin("Other", is_local=None), _Plugin("Last", is_local=True)

    steps = _steps((first, None, {"a": 1}), (second, SKIP, {}), (other, None, {"b": 2}), (last, None, {"c": 3}))

    assert [step if step is other else "known" for step in steps] == ["known", other, "known"]
    state, record, skip = CycleState(), dict[str, Status | None](), list[str]()
    for step in steps:
        if isinstance(step, Known):
            step.apply(state, record, skip)
    assert state.values() == {"a": 1, "c": 3}
    assert record == {"First": None, "Second": SKIP, "Last": None}
    assert skip == ["Second"]


def test_what_a_plugin_that_is_asked_writes_is_not_taken_for_anothers() -> None:
    """Also where it writes again what another has written."""
    other, local = _Plugin("Other", is_local=False), _Plugin("Local", is_local=True)

    steps = _steps((local, None, {"a": 1}), (other, None, {"a": 2, "b": 3}), (local, None, {}))

    assert steps[0].values == {"a": 1}
    assert steps[2].values == {}


def test_plugin_that_cannot_say_or_does_more_is_asked() -> None:
    """A rejection or an error is not remembered."""
    raises, local = _Plugin("Raises", is_local=ValueError("?")), _Plugin("Local", is_local=True)

    assert _steps((raises, None, {})) == [raises]
    assert _steps((local, None, {}), plain=False) == [local]


def test_nodes_that_a_plugin_leaves_are_remembered_unless_it_skips() -> None:
    state, pod = CycleState(), make_pod().obj()
    recorder = Recorder(pod, state)
    recorder.note(_Plugin("Names", is_local=True), None, skips=False, is_plain=True, names=("a", "b"))
    recorder.note(_Plugin("Skips", is_local=True), SKIP, skips=True, is_plain=True, names=("c",))

    [known] = recorder.steps
    assert known.named == {"Names": ("a", "b")}


def test_nothing_is_recorded_where_nobody_asks() -> None:
    [known] = _steps((_Plugin("Local", is_local=True), SKIP, {}))
    skip: list[str] = []

    known.apply(CycleState(), None, skip)

    assert skip == ["Local"]
