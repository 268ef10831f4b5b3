"""Scenarios as tests: found by their names, judged, told with answers, with exit codes and JUnit XML."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from schedlab.cli import main
from schedlab.kernel.errors import SchedlabError
from schedlab.scenario.decision_tests import find_tests, run_test

HEAD = """\
apiVersion: schedlab.dev/v1alpha1
kind: Scenario
cluster:
  nodes: [{count: 2}]
  pods:
  - template:
      metadata: {name: web, labels: {app: web}}
      spec: {containers: [{name: c, image: i, resources: {requests: {cpu: "1"}}}]}
  - template:
      metadata: {name: big}
      spec: {containers: [{name: c, image: i, resources: {requests: {cpu: "5"}}}]}
stop: {at: 5m}
"""
HOLDS = HEAD + "assertions:\n- {pods: {name: web}, scheduled: true}\n- {metric: pods_pending, equals: 1}\n"
FAILS = HEAD + "assertions:\n- {pods: {name: web}, scheduled: true}\n- {pods: {name: big}, scheduled: true}\n"
MISTAKEN = HEAD + "assertion: []\n"
PACKED = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles: [{schedulerName: other}]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """One test that holds, one that does not, and a file that is none."""
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "test_holds.yaml").write_text(HOLDS)
    (tmp_path / "big_test.yaml").write_text(FAILS)
    (tmp_path / "nodes.yaml").write_text("kind: Node\n")
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as exit_:
        main(["test", *map(str, arguments)])
    out, err = capsys.readouterr()
    assert isinstance(exit_.value.code, int)
    return exit_.value.code, out, err


def test_tests_are_found_by_their_names(folder: Path) -> None:
    found = [file.relative_to(folder).as_posix() for file in find_tests([folder])]

    assert found == ["big_test.yaml", "deep/test_holds.yaml"]
    assert find_tests([folder / "nodes.yaml"]) == [folder / "nodes.yaml"]
    assert find_tests([folder, folder / "big_test.yaml"]) == find_tests([folder])


def test_a_folder_without_tests_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SchedlabError, match="no tests are there"):
        find_tests([tmp_path])


def test_a_failure_names_its_line_and_answers(folder: Path) -> None:
    outcome = run_test(folder / "big_test.yaml")

    (failure,) = outcome.failures
    assert outcome.assertions == 2
    assert failure.place == f"{folder / 'big_test.yaml'}:15"
    assert failure.found.startswith("default/big waits: 0/2 nodes are available: 2 Insufficient cpu.")
    assert failure.answers[0].startswith("default/big: big fits on none of 2 nodes: NodeResourcesFit turns down 2")


def test_a_scenario_that_asserts_nothing_is_no_test(tmp_path: Path) -> None:
    (tmp_path / "test_nothing.yaml").write_text(HEAD)

    with pytest.raises(SchedlabError, match="asserts nothing"):
        run_test(tmp_path / "test_nothing.yaml")


def test_another_configuration_can_be_tested(folder: Path, tmp_path: Path) -> None:
    """No profile has the name that the pods ask for, so they wait."""
    (tmp_path / "other.yaml").write_text(PACKED)

    outcome = run_test(folder / "deep" / "test_holds.yaml", tmp_path / "other.yaml")
    assert [failure.answers for failure in outcome.failures] == [
        (
            "default/web: pod default/web asks for the scheduler 'default-scheduler', which is not here; schedulers here: other",
        ),
        (),
    ]


class TestVerb:
    def test_all_hold(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        code, out, err = run(capsys, folder / "deep")

        assert (code, err) == (0, "")
        assert out == f"ok    {folder}/deep/test_holds.yaml  2 assertions\n1 of 1 test holds\n"

    def test_one_fails(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        code, out, err = run(capsys, folder)

        assert (code, err) == (1, "")
        assert (
            f"FAIL  {folder}/big_test.yaml  2 assertions\n  {folder}/big_test.yaml:15: pods big are scheduled: " in out
        )
        assert "    default/big: big fits on none of 2 nodes" in out
        assert out.endswith("1 of 2 tests hold, 1 failed\n")

    def test_a_mistake_keeps_no_other_test_from_running(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (folder / "test_a_mistake.yaml").write_text(MISTAKEN)
        code, out, err = run(capsys, folder)

        assert code == 2
        assert f"{folder}/test_a_mistake.yaml:13: assertion: there is no such field" in err
        assert "hint: did you mean assertions?" in err
        assert out.endswith("1 of 3 tests hold, 1 failed, 1 cannot be used\n")

    def test_junit(self, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (folder / "test_a_mistake.yaml").write_text(MISTAKEN)
        run(capsys, folder, "--junit", tmp_path / "out.xml")

        (suite,) = ET.parse(tmp_path / "out.xml").getroot()
        assert {name: suite.get(name) for name in ("tests", "failures", "errors")} == {
            "tests": "3",
            "failures": "1",
            "errors": "1",
        }
        kinds = {Path(case.get("name", "")).name: [child.tag for child in case] for case in suite}
        assert kinds == {"big_test.yaml": ["failure"], "test_a_mistake.yaml": ["error"], "test_holds.yaml": []}

    def test_a_file_that_is_not_there(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        code, _, err = run(capsys, tmp_path / "none.yaml")

        assert code == 2
        assert "cannot be read" in err

    def test_a_report_that_cannot_be_written(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        code, _, err = run(capsys, folder / "deep", "--junit", folder / "no" / "out.xml")

        assert code == 2
        assert "hint: name another file: --junit" in err
