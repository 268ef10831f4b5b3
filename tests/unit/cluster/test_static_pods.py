"""Static pods: a folder of manifests, its mirror pods, and what is wrong with a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from schedlab.cluster.static_pods import StaticPods
from tests.support.clusters import Lab


def _pod(name: str = "web", image: str = "i") -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "kube-system"},
        "spec": {"containers": [{"name": "c", "image": image}]},
    }


class World:
    """A cluster whose control plane has a folder of manifests."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lab = Lab()
        self.warnings: list[str] = []
        StaticPods(folder, self.lab.registry, self.lab.clock, self.warnings.append).start()

    def write(self, name: str, content: object) -> None:
        text = content if isinstance(content, str) else yaml.safe_dump(content)
        (self.folder / name).write_text(text)
        self.lab.run(3)


def test_a_manifest_becomes_a_pod_of_the_control_plane(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.write("web.yaml", _pod())
    pod = world.lab.registry.get("pods", "web-control-plane", "kube-system")

    assert pod.view.spec.node_name == "control-plane"
    assert pod.view.status.phase == "Running"
    assert pod.raw["metadata"]["annotations"]["kubernetes.io/config.source"] == "file"
    assert pod.raw["metadata"]["ownerReferences"][0]["kind"] == "Node"


def test_a_changed_manifest_makes_the_pod_anew_and_a_removed_one_ends_it(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.write("web.yaml", _pod())
    first = world.lab.registry.get("pods", "web-control-plane", "kube-system").uid
    world.write("web.yaml", _pod(image="j"))
    second = world.lab.registry.get("pods", "web-control-plane", "kube-system")
    (tmp_path / "web.yaml").unlink()
    world.lab.run(3)

    assert second.uid != first
    assert second.raw["spec"]["containers"][0]["image"] == "j"
    assert world.lab.names("pods") == []


def test_a_mirror_pod_that_somebody_deletes_comes_back(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.write("web.yaml", _pod())
    first = world.lab.registry.get("pods", "web-control-plane", "kube-system").uid
    world.lab.registry.delete("pods", "web-control-plane", "kube-system")
    world.lab.run(3)

    assert world.lab.registry.get("pods", "web-control-plane", "kube-system").uid != first


def test_mirror_pods_that_an_earlier_process_has_left_are_taken_over(tmp_path: Path) -> None:
    world = World(tmp_path)
    for name in ("same", "other"):
        world.write(f"{name}.yaml", _pod(name))
    before = {
        name: world.lab.registry.get("pods", f"{name}-control-plane", "kube-system").uid for name in ("same", "other")
    }
    (tmp_path / "other.yaml").write_text(yaml.safe_dump(_pod("other", image="j")))
    later = StaticPods(tmp_path, world.lab.registry, world.lab.clock, world.warnings.append)
    later.start()

    after = {name: world.lab.registry.get("pods", f"{name}-control-plane", "kube-system").uid for name in before}
    assert world.warnings == []
    assert after["same"] == before["same"]
    assert after["other"] != before["other"]


def test_two_files_of_one_name_are_told(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.write("a.yaml", _pod())
    world.write("b.yaml", _pod(image="j"))

    assert (
        world.lab.registry.get("pods", "web-control-plane", "kube-system").raw["spec"]["containers"][0]["image"] == "i"
    )
    assert [text.rpartition(": ")[2] for text in world.warnings] == ['pods "web-control-plane" already exists']


def test_what_is_wrong_with_a_file_is_told_once_and_others_run(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.write("broken.yaml", "a: [")
    world.write("service.yaml", {"kind": "Service"})
    world.write("invalid.yaml", _pod("Bad_Name"))
    world.write("web.yaml", _pod())
    world.lab.run(10)

    assert len(world.warnings) == 3
    assert all(str(tmp_path) in warning for warning in world.warnings)
    assert world.lab.names("pods") == ["web-control-plane"]


def test_a_mended_file_runs(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.write("web.yaml", "a: [")
    world.write("web.yaml", _pod())

    assert world.lab.names("pods") == ["web-control-plane"]


def test_other_pods_keep_off_the_control_plane(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.lab.create_pod("usual")
    world.lab.run()

    assert world.lab.nodes_of_pods() == {"usual": ""}
