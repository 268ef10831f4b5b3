"""What may be chosen: the examples, or the files of a folder; and which files a text may name."""

from __future__ import annotations

from pathlib import Path

import pytest

from schedlab.kernel.errors import SchedlabError
from schedlab.scenario.catalog import Catalog, catalog_of
from schedlab.scenario.source import Source


def test_examples_are_offered_with_what_they_are_about() -> None:
    found = {one.name: one for one in catalog_of(None, "").files()}

    assert found["first-steps.yaml"].about == "Three nodes, a deployment, a pod too large for any of them."
    assert found["packing.yaml"].is_configuration
    assert not found["rolling-load.yaml"].is_configuration


def test_a_folder_is_looked_at_anew_each_time(tmp_path: Path) -> None:
    catalog = catalog_of(tmp_path, "--scenarios")
    (tmp_path / "a.yaml").write_text("# One\n# thing\nkind: Scenario\n", encoding="utf-8")
    (tmp_path / "broken.yaml").write_bytes(b"\xff")
    (tmp_path / "notes.txt").write_text("no scenario", encoding="utf-8")

    assert [(one.name, one.about) for one in catalog.files()] == [("a.yaml", "One thing")]


def test_what_is_no_folder_is_told(tmp_path: Path) -> None:
    with pytest.raises(SchedlabError, match="is no folder"):
        catalog_of(tmp_path / "none", "--scenarios")


def test_an_unknown_name_is_told_with_those_that_there_are() -> None:
    with pytest.raises(SchedlabError, match=r"there is no \.\./x") as found:
        catalog_of(None, "").find("../x", "scenario")
    assert "first-steps.yaml" in found.value.hint


def test_a_folder_that_went_away_is_empty(tmp_path: Path) -> None:
    assert Catalog([tmp_path / "gone"], tmp_path / "gone").files() == []


@pytest.mark.parametrize("given", ["/etc/passwd", "../secret.yaml", "below/../../secret.yaml"])
def test_a_text_names_files_of_its_folder_only(tmp_path: Path, given: str) -> None:
    inside = Source(tmp_path / "scenarios" / "s.yaml", "", tmp_path / "scenarios")

    with pytest.raises(SchedlabError, match="is not in the folder of scenarios"):
        inside.beside(given)
    assert inside.beside("below/pod.yaml") == tmp_path / "scenarios" / "below" / "pod.yaml"
