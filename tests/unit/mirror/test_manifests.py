"""Dumps, folders and output of other programs, read without a cluster."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent
from typing import Any

import orjson
import pytest

from schedlab.kernel.errors import SchedlabError
from schedlab.mirror.manifests import load_objects, read_objects
from schedlab.mirror.snapshot import Loaded
from tests.support.clusters import Lab

NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "n", "uid": "node-uid", "resourceVersion": "5"},
    "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}},
}
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p", "namespace": "default", "uid": "pod-uid"},
    "spec": {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]},
    "status": {"phase": "Running"},
}


def _list(kind: str, *items: dict[str, Any]) -> dict[str, Any]:
    """A typed list, whose items carry no kind."""
    bare = [{key: value for key, value in item.items() if key not in ("kind", "apiVersion")} for item in items]
    return {"apiVersion": "v1", "kind": kind, "metadata": {}, "items": bare}


def _write(file: Path, *documents: Any) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    if file.suffix == ".json":
        file.write_bytes(b"\n".join(map(orjson.dumps, documents)))
    else:
        file.write_text("\n---\n".join(orjson.dumps(document).decode() for document in documents))


def _of_kubectl(folder: Path) -> None:
    """`kubectl get nodes,pods -A -o yaml`."""
    _write(folder / "all.yaml", {"apiVersion": "v1", "kind": "List", "items": [POD, NODE]})


def _of_cluster_info(folder: Path) -> None:
    """`kubectl cluster-info dump --output-directory`, with logs beside."""
    _write(folder / "nodes.json", _list("NodeList", NODE))
    _write(folder / "default/pods.json", _list("PodList", POD))
    _write(folder / "default/events.json", _list("EventList"))
    (folder / "default/p").mkdir()
    (folder / "default/p/logs.txt").write_text("==== START logs ====\nx: [y\n")


def _of_must_gather(folder: Path) -> None:
    """A must-gather: a file per cluster-scoped object, lists per namespace, and much that is no object."""
    _write(folder / "image/cluster-scoped-resources/core/nodes/n.yaml", NODE)
    _write(folder / "image/namespaces/default/core/pods.yaml", _list("PodList", POD))
    _write(folder / "image/namespaces/default/pods/p/p.yaml", POD)
    (folder / "image/namespaces/default/pods/p/broken.yaml").write_text("a: [b\n")
    (folder / "timestamp").write_text("2026-01-01")


def _of_kwok(folder: Path) -> None:
    """`kwokctl snapshot save --format k8s`: documents one after the other."""
    _write(folder / "cluster.yaml", NODE, POD)


@pytest.mark.parametrize("dump", [_of_kubectl, _of_cluster_info, _of_must_gather, _of_kwok])
def test_a_dump_makes_the_cluster_that_was_dumped(tmp_path: Path, dump: Any) -> None:
    dump(tmp_path)
    lab, loaded = Lab(), Loaded()
    objects, warnings = read_objects([tmp_path])
    for _ in load_objects(lab.registry, objects, loaded):
        pass
    lab.run()

    assert loaded.problems == []
    assert lab.nodes_of_pods() == {"p": "n"}
    assert lab.registry.get("nodes", "n").uid == "node-uid"
    assert lab.registry.get("pods", "p", "default").view.status.phase == "Running"
    assert [warning for warning in warnings if "broken.yaml" not in warning] == []


def test_output_of_helm_and_kustomize_is_applied_like_manifests(tmp_path: Path) -> None:
    file = tmp_path / "rendered.yaml"
    file.write_text(
        dedent(
            """
            ---
            # Source: web/templates/empty.yaml
            ---
            # Source: web/templates/deployment.yaml
            apiVersion: apps/v1
            kind: Deployment
            metadata:
              name: web
              labels: {helm.sh/chart: web-1.0.0}
            spec:
              replicas: 2
              selector: {matchLabels: {app: web}}
              template:
                metadata: {labels: {app: web}}
                spec:
                  containers: [{name: c, image: i}]
            ---
            # Source: web/templates/namespace.yaml
            apiVersion: v1
            kind: Namespace
            metadata: {name: shop}
            """
        )
    )
    lab, loaded = Lab(nodes=1), Loaded()
    objects, warnings = read_objects([file])
    for _ in load_objects(lab.registry, objects, loaded):
        pass
    lab.run()

    assert (loaded.problems, warnings) == ([], [])
    assert "shop" in lab.names("namespaces")
    assert len(lab.nodes_of_pods()) == 2


def test_a_file_that_is_named_and_cannot_be_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "broken.yaml").write_text("a: [b\n")

    with pytest.raises(SchedlabError):
        read_objects([tmp_path / "broken.yaml"])
    with pytest.raises(SchedlabError):
        read_objects([tmp_path / "missing.yaml"])


def test_kinds_that_nobody_knows_are_named_and_the_rest_is_loaded(tmp_path: Path) -> None:
    _write(tmp_path / "a.yaml", {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}}, NODE)
    lab, loaded = Lab(), Loaded()
    for _ in load_objects(lab.registry, read_objects([tmp_path])[0], loaded):
        pass

    assert lab.names("nodes") == ["n"]
    assert [problem.partition(":")[0] for problem in loaded.problems] == ["Widget w"]
