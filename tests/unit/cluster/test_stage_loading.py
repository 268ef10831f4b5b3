"""Stages of files and sets are read before anything starts, and what is wrong with them is told with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from schedlab.cluster.stage_loading import SETS, load_stages
from schedlab.kernel.errors import SchedlabError

GOOD = """
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: NAME}
spec: {resourceRef: {kind: Pod}, selector: {}, next: {delete: true}}
"""


def names(*references: str | Path) -> list[str]:
    return [stage["metadata"]["name"] for stage in load_stages([str(each) for each in references])]


def test_sets_files_and_folders_are_read(tmp_path: Path) -> None:
    (tmp_path / "two.yaml").write_text(GOOD.replace("NAME", "a") + "---" + GOOD.replace("NAME", "b"))
    deeper = tmp_path / "deeper"
    deeper.mkdir()
    (deeper / "kustomization.yaml").write_text("kind: Kustomization\nresources: [one.yml]\n")
    (deeper / "one.yml").write_text(GOOD.replace("NAME", "c"))
    (deeper / "README.md").write_text("no YAML: [")

    assert names(tmp_path) == ["c", "a", "b"]
    assert names(tmp_path / "two.yaml") == ["a", "b"]
    assert names("chaos")[0] == "node-not-ready"
    assert "pod-create" in names(*SETS)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "cannot be read: No such file or directory"),
        ("a: [", "yaml: "),
        ("kind: Pod\n", "holds no Stage"),
        (GOOD.replace("v1alpha1", "v1"), "apiVersion is 'kwok.x-k8s.io/v1'"),
        (
            GOOD.replace("delete: true", "statusTemplate: '{{ x }}'"),
            'Stage NAME: spec.next.statusTemplate: line 1: function "x" not defined',
        ),
        (GOOD.replace("metadata: {name: NAME}\n", ""), "the Stage has not the form of one: 'metadata'"),
        (GOOD.replace("selector: {}", "selector: [x]"), "the Stage has not the form of one: "),
    ],
)
def test_mistake_in_a_file_is_told_with_its_place(tmp_path: Path, text: str | None, message: str) -> None:
    file = tmp_path / "stage.yaml"
    if text is not None:
        file.write_text(text)

    with pytest.raises(SchedlabError) as caught:
        load_stages([str(file)])

    assert caught.value.message.startswith(message)
    assert str(file) in caught.value.location
    assert caught.value.hint


def test_two_stages_of_one_name_are_refused(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.yaml").write_text(GOOD.replace("NAME", "same"))

    with pytest.raises(SchedlabError, match="there is a Stage same in"):
        load_stages([str(tmp_path)])
