"""Pods show the results that belong to their revision, and are renewed when nobody else writes them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from schedlab.api.object import StoredObject
from schedlab.client.effects import WriteEffect
from schedlab.client.protocol import Write
from schedlab.decisions import projector as projecting
from schedlab.decisions.annotations import HISTORY_KEY, PREFIX, AnnotationMode, Projection
from schedlab.decisions.log import DecisionLog
from schedlab.decisions.projector import AnnotationProjector
from tests.unit.decisions import records

SELECTED = f"{PREFIX}selected-node"


def _stored(revision: int = 9, uid: str = "uid-p", **annotations: str) -> StoredObject:
    metadata: dict[str, Any] = {"name": "p", "namespace": "default", "uid": uid}
    if annotations:
        metadata["annotations"] = annotations
    pod = {"kind": "Pod", "apiVersion": "v1", "metadata": metadata, "spec": {"containers": []}}
    return StoredObject.encode("pods", pod, revision)


class _Setting:
    """A log at some revision, a lister of one pod or none, and a projector over both."""

    def __init__(self, pod: StoredObject | None, mode: AnnotationMode = "auto") -> None:
        self.revision = 5
        self.pod = pod
        self.touched: list[tuple[str, str]] = []
        self.log = DecisionLog(newest_revision=lambda: self.revision)
        self.projector = AnnotationProjector(
            self.log, self, Projection(mode), lambda namespace, name: self.touched.append((namespace, name))
        )

    def get(self, name: str, namespace: str = "") -> object | None:
        return None if self.pod is None else self.pod.view

    def list(self, namespace: str | None = None) -> Sequence[object]:
        return [] if self.pod is None else [self.pod.view]

    def stored(self, name: str, namespace: str = "") -> StoredObject | None:
        return self.pod

    def annotations(self, stored: StoredObject) -> dict[str, str]:
        found: dict[str, str] = json.loads(self.projector.shown(stored).json())["metadata"].get("annotations", {})
        return found


def test_a_version_shows_the_attempts_that_were_complete_before_it_was_written() -> None:
    setting = _Setting(None)
    setting.log.cycle(records.failed(1))
    setting.revision = 7
    setting.log.cycle(records.scheduled(2))

    assert setting.annotations(_stored(5)) == {}
    assert len(json.loads(setting.annotations(_stored(6))[HISTORY_KEY])) == 1
    assert setting.annotations(_stored(8))[SELECTED] == ""

    setting.log.binding(records.bound(2))

    assert setting.annotations(_stored(7))[SELECTED] == ""
    assert setting.annotations(_stored(8))[SELECTED] == "c"


def test_annotations_of_others_stay_and_old_results_go() -> None:
    setting = _Setting(None)
    setting.log.cycle(records.failed(1))

    shown = setting.annotations(_stored(9, **{f"{PREFIX}result-summary": "{}", "mine": "1"}))

    assert shown["mine"] == "1"
    assert f"{PREFIX}result-summary" not in shown
    assert shown[SELECTED] == ""


def test_what_is_shown_is_the_stored_object_in_every_other_way() -> None:
    setting = _Setting(None)
    setting.log.cycle(records.failed(1))
    stored = _stored(9)

    shown = json.loads(setting.projector.shown(stored).json())
    del shown["metadata"]["annotations"]

    assert shown == json.loads(stored.json())
    assert setting.projector.shown(stored).revision == stored.revision


def test_pods_without_attempts_are_shown_as_they_are() -> None:
    stored = _stored()

    assert _Setting(None).projector.shown(stored) is stored


def test_results_do_not_come_back_with_an_update() -> None:
    setting = _Setting(None)
    setting.log.cycle(records.failed(1))
    bare: dict[str, Any] = {"metadata": {"annotations": {SELECTED: "x"}}}
    mixed: dict[str, Any] = {"metadata": {"annotations": {SELECTED: "x", "mine": "1"}}}

    setting.projector.settle(bare, _stored())
    setting.projector.settle(mixed, _stored())

    assert bare == {"metadata": {}}
    assert mixed == {"metadata": {"annotations": {"mine": "1"}}}


def test_custom_results_that_were_read_are_taken_out_too() -> None:
    setting = _Setting(None)
    setting.log.cycle(records.scheduled(custom={"their/result": "1"}))
    setting.log.binding(records.bound())
    shown = setting.annotations(_stored(9, mine="1"))
    assert shown["their/result"] == "1"
    pod = {"metadata": {"annotations": shown}}

    setting.projector.settle(pod, _stored())

    assert pod == {"metadata": {"annotations": {"mine": "1"}}}


def test_results_that_came_with_an_imported_pod_are_its_own() -> None:
    pod: dict[str, Any] = {"metadata": {"annotations": {SELECTED: "x"}}}

    _Setting(None).projector.settle(pod, _stored())

    assert pod == {"metadata": {"annotations": {SELECTED: "x"}}}


@pytest.mark.parametrize(
    ("pod", "touched"),
    [
        (_stored(5), [("default", "p")]),
        (_stored(6), []),
        (_stored(5, uid="another"), []),
        (None, []),
    ],
    ids=["not written since", "written since", "replaced", "gone"],
)
def test_a_pod_is_renewed_only_if_nothing_else_has(pod: StoredObject | None, touched: list[tuple[str, str]]) -> None:
    setting = _Setting(pod)
    setting.log.cycle(records.failed(1))

    assert setting.projector.ready()
    assert setting.projector.step() == ()
    assert not setting.projector.ready()
    assert setting.touched == touched


def test_mode_off_shows_and_renews_nothing() -> None:
    setting = _Setting(_stored(5), "off")
    setting.log.cycle(records.failed(1))
    stored = _stored(9)

    assert setting.projector.shown(stored) is stored
    assert not setting.projector.ready()


def test_texts_are_made_once_and_forgotten_at_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []

    class Counted(Projection):
        def annotations(self, *arguments: Any) -> dict[str, str]:
            made.append(1)
            return super().annotations(*arguments)

    setting = _Setting(None)
    setting.projector._projection = Counted()
    setting.log.cycle(records.failed(1))
    for _ in range(3):
        setting.annotations(_stored(9))
    assert len(made) == 1

    monkeypatch.setattr(projecting, "CACHE_BYTES_MAX", 1)
    for _ in range(3):
        setting.annotations(_stored(9, mine="1"))
    assert len(made) == 4


def test_an_answer_that_nobody_asked_for_is_a_bug() -> None:
    write = Write("patch", "pods", "default", "p")

    with pytest.raises(AssertionError, match="nobody asked"):
        _Setting(None).projector.complete(WriteEffect("t", write), None)
