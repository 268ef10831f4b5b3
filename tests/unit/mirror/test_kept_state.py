"""Going back to the start."""

from __future__ import annotations

from schedlab.mirror.kept_state import KeptState
from tests.support.clusters import Lab


def test_what_came_since_is_gone_and_what_went_is_back_with_its_uid() -> None:
    lab = Lab(nodes=3)
    lab.run()
    uid = lab.registry.get("nodes", "node-1").uid
    state = KeptState.of(lab.registry)
    lab.create("namespaces", {"metadata": {"name": "shop"}})
    lab.create_pod("a")
    lab.create("configmaps", {"metadata": {"name": "m", "finalizers": ["example.com/never"]}}, "default")
    lab.registry.delete("nodes", "node-1")
    lab.registry.patch("nodes", "node-2", "merge", {"metadata": {"labels": {"new": "label"}}})
    lab.run()

    state.restore()
    lab.run()

    assert lab.names("nodes") == ["node-0", "node-1", "node-2"]
    assert lab.registry.get("nodes", "node-1").uid == uid
    assert "new" not in lab.registry.get("nodes", "node-2").labels
    assert lab.names("pods") == []
    assert "shop" not in lab.names("namespaces")
    assert "m" not in lab.names("configmaps")


def test_the_scheduler_goes_on_with_what_is_there_again() -> None:
    lab = Lab(nodes=1)
    lab.run()
    state = KeptState.of(lab.registry)
    for number in range(40):
        lab.create_pod(f"old-{number}")
    lab.run()
    state.restore()
    for number in range(40):
        lab.create_pod(f"new-{number}")
    lab.run()

    assert set(lab.nodes_of_pods().values()) == {"node-0"}


def test_nothing_is_written_when_nothing_has_changed() -> None:
    lab = Lab(nodes=1)
    state = KeptState.of(lab.registry)
    revision = lab.registry.revision

    state.restore()

    assert lab.registry.revision == revision
