"""Annotations are patched onto the pod that was tried, once per change, and onto no other."""

from __future__ import annotations

from collections.abc import Sequence

from schedlab.api.object import StoredObject
from schedlab.api.views.core import Pod
from schedlab.api.views.meta import ObjectMeta
from schedlab.client.effects import Effect, WriteEffect
from schedlab.client.protocol import Outcome
from schedlab.decisions.annotations import HISTORY_KEY, PREFIX, Projection
from schedlab.decisions.log import DecisionLog
from schedlab.decisions.projector import AnnotationProjector
from tests.unit.decisions import records


class _Pods:
    """A lister of one pod, or none."""

    def __init__(self, pod: Pod | None) -> None:
        self.pod = pod

    def get(self, name: str, namespace: str = "") -> Pod | None:
        return self.pod

    def list(self, namespace: str | None = None) -> Sequence[Pod]:
        return [] if self.pod is None else [self.pod]

    def stored(self, name: str, namespace: str = "") -> StoredObject | None:
        return None


def _pod(uid: str = "uid-p", **annotations: str) -> Pod:
    return Pod(metadata=ObjectMeta(name="p", namespace="default", uid=uid, annotations=annotations))


def _write(effects: Sequence[Effect]) -> WriteEffect:
    [effect] = effects
    assert isinstance(effect, WriteEffect)
    return effect


def test_changes_before_the_write_are_written_once() -> None:
    log = DecisionLog()
    projector = AnnotationProjector(log, _Pods(_pod()), Projection())
    log.cycle(records.failed(1))
    log.cycle(records.failed(2))

    effect = _write(projector.step())

    assert not projector.ready()
    body = effect.write.body
    assert isinstance(body, dict)
    assert body["metadata"]["uid"] == "uid-p"
    assert HISTORY_KEY in body["metadata"]["annotations"]
    assert projector.complete(effect, Outcome()) == ()


def test_key_that_is_no_longer_written_is_removed() -> None:
    log = DecisionLog()
    stale = f"{PREFIX}result-summary"
    projector = AnnotationProjector(log, _Pods(_pod(**{stale: "{}", "mine": "1"})), Projection())
    log.cycle(records.failed())

    body = _write(projector.step()).write.body

    assert isinstance(body, dict)
    assert body["metadata"]["annotations"][stale] is None
    assert "mine" not in body["metadata"]["annotations"]


def test_pod_that_is_gone_or_replaced_is_left_alone() -> None:
    for pod in (None, _pod(uid="another")):
        log = DecisionLog()
        projector = AnnotationProjector(log, _Pods(pod), Projection())
        log.cycle(records.failed())

        assert projector.step() == ()


def test_mode_off_never_becomes_ready() -> None:
    log = DecisionLog()
    projector = AnnotationProjector(log, _Pods(_pod()), Projection("off"))
    log.cycle(records.failed())

    assert not projector.ready()
