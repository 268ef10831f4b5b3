"""Complete snapshots: every object, its revision and every decision go through one file."""

from __future__ import annotations

import asyncio
import io
import zipfile
from typing import Any

import pytest

from schedlab.kernel.errors import SchedlabError
from schedlab.mirror.complete_snapshot import read_complete
from schedlab.mirror.kept_state import stored_resources
from schedlab.mirror.service import Mirroring
from tests.support.clusters import Lab


def _mirroring(lab: Lab) -> Mirroring:
    cluster = lab.cluster
    return Mirroring(cluster.registry, cluster.clock, cluster)


def _saved(lab: Lab) -> bytes:
    async def save() -> bytes:
        return b"".join([chunk async for chunk in _mirroring(lab).export_complete()])

    return asyncio.run(save())


def _load(lab: Lab, content: bytes, *, replace: bool = False) -> Any:
    loaded = asyncio.run(_mirroring(lab).load_complete(content, replace=replace))
    lab.run()
    return loaded


def _contents(lab: Lab) -> dict[str, Any]:
    """Return all objects but for events, of which the parts of a cluster that was loaded make new ones."""
    found = {}
    for resource in stored_resources(lab.registry):
        if resource.startswith("events"):
            continue
        for obj in lab.registry.list(resource).items:
            raw = obj.thaw()
            raw["metadata"].pop("resourceVersion", None)
            found[f"{resource} {obj.key}"] = raw
    return found


def _busy_lab() -> Lab:
    lab = Lab(nodes=3)
    lab.create("namespaces", {"metadata": {"name": "shop"}})
    template = {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": 2, "selector": {"matchLabels": {"app": "a"}}, "template": template}
    lab.create("deployments.apps", {"metadata": {"name": "web"}, "spec": spec}, "shop")
    lab.create("secrets", {"metadata": {"name": "s"}, "data": {"k": "dg=="}}, "shop")
    lab.create_pod("stuck", nodeSelector={"disk": "ssd"})
    lab.run()
    return lab


def test_nothing_is_lost_in_an_empty_cluster() -> None:
    lab, copy = _busy_lab(), Lab(seed=7)
    content = _saved(lab)
    loaded = _load(copy, content, replace=True)

    assert loaded.problems == []
    assert _contents(copy) == _contents(lab)
    assert set(lab.names("events")) <= set(copy.names("events"))


def test_objects_have_the_revisions_they_had_and_come_in_their_order() -> None:
    lab = _busy_lab()
    snapshot = read_complete(_saved(lab))
    pods = [kept for kept in snapshot.objects if kept.resource == "pods"]

    assert snapshot.revision == lab.registry.revision
    assert {kept.object["metadata"]["name"]: kept.revision for kept in pods} == {
        obj.name: obj.revision for obj in lab.registry.list("pods").items
    }
    assert [kept.revision for kept in pods] == sorted(kept.revision for kept in pods)


def test_decisions_are_known_and_shown_where_they_were_not_made() -> None:
    lab, copy = _busy_lab(), Lab(seed=7)
    _load(copy, _saved(lab), replace=True)
    there, here = lab.cluster.log.find("default", "stuck"), copy.cluster.log.find("default", "stuck")
    shown = copy.registry.resource("pods").shown(copy.registry.get("pods", "stuck", "default")).raw["metadata"]

    assert there is not None
    assert here is not None
    assert here.attempts[0].cycle().failure_message == there.attempts[0].cycle().failure_message
    assert [move.place for move in here.moves][: len(there.moves)] == [move.place for move in there.moves]
    assert "filter-result" in " ".join(shown["annotations"])
    for obj in lab.registry.list("pods", "shop").items:
        story = copy.cluster.log.story(obj.uid)
        assert story is not None
        assert story.attempts[-1].cycle().selected == obj.view.spec.node_name


def test_loading_twice_changes_nothing() -> None:
    lab, copy = _busy_lab(), Lab(seed=7)
    content = _saved(lab)
    _load(copy, content, replace=True)
    before, placed = _contents(copy), [obj.uid for obj in copy.registry.list("pods", "shop").items]
    _load(copy, content, replace=True)

    assert _contents(copy) == before
    for uid in placed:
        story = copy.cluster.log.story(uid)
        assert story is not None
        assert len(story.attempts) == 1


def test_what_is_there_already_stays_unless_it_is_to_be_replaced() -> None:
    content = _saved(_busy_lab())
    merged, replaced = Lab(seed=7), Lab(seed=8)
    for lab in (merged, replaced):
        lab.create("namespaces", {"metadata": {"name": "mine"}})
    _load(merged, content)
    _load(replaced, content, replace=True)

    assert {"mine", "shop"} <= set(merged.names("namespaces"))
    assert "shop" in replaced.names("namespaces")
    assert "mine" not in replaced.names("namespaces")


def test_merging_brings_back_what_has_changed_and_leaves_what_is_new_with_decisions_of_both() -> None:
    lab = _busy_lab()
    content = _saved(lab)
    old = lab.registry.get("pods", "stuck", "default")
    lab.create_pod("mine")
    lab.registry.patch("nodes", "node-0", "merge", {"spec": {"unschedulable": True}})
    lab.registry.patch("deployments.apps", "web", "merge", {"spec": {"replicas": 5}}, "shop")
    lab.run()
    loaded = _load(lab, content)

    assert loaded.problems == []
    assert lab.registry.get("deployments.apps", "web", "shop").raw["spec"]["replicas"] == 2
    assert not lab.registry.get("nodes", "node-0").view.spec.unschedulable
    assert lab.registry.get("pods", "stuck", "default").uid == old.uid
    assert lab.nodes_of_pods()["mine"]
    for name in ("mine", "stuck"):
        story = lab.cluster.log.find("default", name)
        assert story is not None
        assert story.attempts


def _zip(**files: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in files.items():
            archive.writestr(name.replace("_", "."), content)
    return out.getvalue()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"PK\x03\x04", "no complete snapshot"),
        (_zip(other_txt=b""), "no complete snapshot"),
        (_zip(cluster_json=b'{"format":2}'), "format 2"),
        (_zip(cluster_json=b'{"format":1}', objects_jsonl=b"{}"), "no complete snapshot"),
    ],
)
def test_a_file_that_is_not_whole_is_refused_before_anything_is_changed(content: bytes, said: str) -> None:
    lab = Lab()
    before = lab.registry.revision

    with pytest.raises(SchedlabError, match=said):
        _load(lab, content)
    assert lab.registry.revision == before


def test_a_file_that_was_cut_off_is_refused() -> None:
    with pytest.raises(SchedlabError, match="no complete snapshot"):
        read_complete(_saved(_busy_lab())[:-100])
