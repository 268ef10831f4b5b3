"""The namespace controller empties a deleted namespace, pods first, and lets it go."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from schedlab.apimachinery.errors import NotFound
from schedlab.client.effects import Effect, WriteEffect
from schedlab.client.informers import Informers
from schedlab.client.inprocess import InProcessClient
from schedlab.client.protocol import Outcome
from schedlab.controllers.namespace import NamespaceController
from schedlab.kernel.clock import VirtualClock
from schedlab.kernel.randomness import SeededRandom
from schedlab.registry import DeleteOptions, Registry, bootstrap
from schedlab.store import Store


class Setting:
    """A registry, the controller on it, and a driver that notes what was written."""

    def __init__(self) -> None:
        self.registry = Registry(Store(), VirtualClock(), SeededRandom(1), admission=["NamespaceLifecycle"])
        bootstrap(self.registry)
        self.client = InProcessClient(self.registry, "controller/1.0")
        self.controller = NamespaceController(Informers(self.client), self.registry.resources)
        self.written: list[str] = []
        self.create("namespaces", {"metadata": {"name": "x"}}, "")

    def create(self, resource: str, obj: dict[str, object], namespace: str = "x") -> None:
        self.registry.create(resource, self.registry.decode(resource, obj), namespace)

    def settle(self) -> None:
        while self.controller.ready():
            self.carry_out(self.controller.step())

    def carry_out(self, effects: Sequence[Effect]) -> None:
        for effect in effects:
            assert isinstance(effect, WriteEffect)
            write = effect.write
            self.written.append(f"{write.verb} {write.resource}{'/' * bool(write.subresource)}{write.subresource}")
            outcomes: list[Outcome] = []
            self.client.submit(write, outcomes.append)
            self.carry_out(self.controller.complete(effect, outcomes[0]))

    @property
    def gone(self) -> bool:
        try:
            self.registry.get("namespaces", "x")
        except NotFound:
            return True
        return False


@pytest.fixture
def setting() -> Setting:
    return Setting()


def pod(**spec: object) -> dict[str, object]:
    return {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}


def test_empty_namespace_goes_at_once(setting: Setting) -> None:
    """Nothing to delete: only the finalizer is taken away."""
    setting.registry.delete("namespaces", "x")
    setting.settle()

    assert setting.written == ["update namespaces/finalize"]
    assert setting.gone


def test_living_namespaces_are_left_alone(setting: Setting) -> None:
    """A namespace that nobody deleted is no business of the controller."""
    setting.create("configmaps", {"metadata": {"name": "c"}})
    setting.settle()

    assert setting.written == []


def test_pods_go_before_the_rest(setting: Setting) -> None:
    """A pod that takes its time keeps what it may use; when it has gone, everything goes."""
    setting.create("configmaps", {"metadata": {"name": "c"}})
    setting.create("pods", pod(nodeName="n"))
    setting.registry.delete("namespaces", "x")
    setting.settle()
    first = list(setting.written)
    setting.registry.delete("pods", "p", "x", DeleteOptions(grace_period_seconds=0))
    setting.settle()

    assert first == ["delete pods"]
    assert setting.written[1:] == ["delete configmaps", "update namespaces/finalize"]
    assert setting.gone


def test_finalizers_of_others_are_waited_for(setting: Setting) -> None:
    """Content that somebody holds keeps the namespace until it is let go."""
    setting.create("configmaps", {"metadata": {"name": "c", "finalizers": ["a.b/c"]}})
    setting.registry.delete("namespaces", "x")
    setting.settle()
    held = not setting.gone
    setting.registry.patch("configmaps", "c", "merge", b'{"metadata":{"finalizers":null}}', "x")
    setting.settle()

    assert held
    assert setting.gone
