"""For any stored pod: binding it by splicing bytes gives the bytes that decoding and encoding all of it gives."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from schedlab.api.object import StoredObject
from schedlab.registry.pods import Pods
from tests.support.registries import new_registry

PODS = Pods(new_registry()._core)
texts = st.sampled_from(("x", '"', '},"status":{', '"nodeName":"n"', "ü", ""))
conditions = st.fixed_dictionaries(
    {"type": st.sampled_from(("PodScheduled", "Ready")), "status": st.sampled_from(("True", "False"))},
    optional={"lastTransitionTime": st.just("2026-01-01T00:00:00Z"), "message": texts},
)
statuses = st.fixed_dictionaries(
    {"phase": st.just("Pending")},
    optional={"conditions": st.lists(conditions, max_size=2), "nominatedNodeName": st.just("n"), "message": texts},
)
specs = st.fixed_dictionaries(
    {"containers": st.lists(st.fixed_dictionaries({"name": texts, "args": st.lists(texts, max_size=2)}), max_size=2)},
    optional={"nodeSelector": st.dictionaries(texts, texts, max_size=2), "priority": st.integers(-5, 5)},
)


added = st.dictionaries(st.sampled_from(("a", "b")), texts, max_size=2)


@st.composite
def pods(draw: st.DrawFn) -> StoredObject:
    metadata: dict[str, Any] = {"name": "p", "namespace": "d", "uid": "u", "annotations": {"a": draw(texts)}}
    if draw(st.booleans()):
        metadata["labels"] = draw(added)
    if draw(st.booleans()):
        metadata["managedFields"] = [{"manager": draw(texts)}]
    parts = {"spec": draw(specs), "status": draw(statuses)}
    order = draw(st.permutations(list(parts)))
    body = {key: parts[key] for key in order}
    return StoredObject.encode("pods", {"kind": "Pod", "apiVersion": "v1", "metadata": metadata, **body}, 7)


@given(pods(), texts.filter(bool), added, added)
def test_spliced_binding_is_the_whole_one(
    pod: StoredObject, node: str, labels: dict[str, str], annotations: dict[str, str]
) -> None:
    """Where splicing is not certain to be right, it is not tried."""
    metadata = {"name": "p", "labels": labels, "annotations": annotations}
    binding = {"metadata": metadata, "target": {"name": node}}
    spliced = PODS._spliced(pod, binding)

    if spliced is not None:
        assert spliced.json() == PODS._bound(pod, binding).json()
        assert spliced.view == StoredObject(*spliced.identity, spliced.revision, *spliced.segments).view


def test_plain_pods_are_spliced() -> None:
    """The short way is taken for what is usual, and not for pods that it does not know how to refuse or change."""
    pod = StoredObject.encode(
        "pods", {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "p"}, "spec": {"a": {}}, "status": {}}, 7
    )
    plain: dict[str, Any] = {"metadata": {"name": "p"}, "target": {"name": "n"}}

    assert PODS._spliced(pod, plain) is not None
    assert PODS._spliced(pod, {**plain, "metadata": {"name": "p", "labels": {"a": "b"}}}) is not None
    for text in (b'{"nodeName":"x"}', b'{"schedulingGates":[]}'):
        assert PODS._spliced(pod.with_body(lambda body, text=text: body.replace(b"{}", text, 1)), plain) is None  # type: ignore[misc]
