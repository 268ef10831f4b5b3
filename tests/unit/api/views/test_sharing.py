"""Views of pods share what is equal in them, and say the same as before."""

from __future__ import annotations

from typing import Any

from schedlab.api.object import StoredObject
from schedlab.api.views import sharing
from schedlab.api.views.sharing import SharedParts


def _pod(name: str, image: str = "web:1", **labels: str) -> StoredObject:
    spec: dict[str, Any] = {
        "nodeName": "n",
        "containers": [{"name": "c", "image": image, "resources": {"requests": {"cpu": "1"}}}],
        "tolerations": [{"key": "k", "operator": "Exists"}],
        "nodeSelector": {"disk": "ssd"},
    }
    conditions = [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}]
    metadata = {"name": name, "namespace": "default", "uid": name, "labels": labels}
    obj = {"kind": "Pod", "apiVersion": "v1", "metadata": metadata, "spec": spec, "status": {"conditions": conditions}}
    return StoredObject.encode("pods", obj, 1)


def test_equal_parts_are_held_once_and_views_stay_what_they_were() -> None:
    first, second = _pod("a", app="web"), _pod("b", app="web")
    parts = SharedParts()
    parts.put_into(first.view)
    parts.put_into(second.view)

    assert second.view == _pod("b", app="web").view
    assert second.view.metadata.labels is first.view.metadata.labels
    for name in ("containers", "tolerations", "node_selector", "node_name"):
        assert getattr(second.view.spec, name) is getattr(first.view.spec, name)
    assert second.view.status.conditions is first.view.status.conditions


def test_what_differs_stays_apart() -> None:
    first, second = _pod("a", app="web"), _pod("b", image="web:2", app="db")
    parts = SharedParts()
    parts.put_into(first.view)
    parts.put_into(second.view)

    assert second.view == _pod("b", image="web:2", app="db").view
    assert first.view == _pod("a", app="web").view


def test_the_number_of_parts_is_limited() -> None:
    parts = SharedParts()
    for number in range(sharing._ENTRIES_MAX + 1):
        parts.put_into(_pod("a", image=f"web:{number}").view)

    assert len(parts._parts) <= sharing._ENTRIES_MAX
