"""What tests expect of decisions: each expectation holds when it should, and else says what was decided and why."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from schedlab import Cluster
from schedlab.kernel.errors import SchedlabError
from schedlab.laboratory.expectations import ClusterExpectation, PodExpectation
from schedlab.testing import make_node, make_pod


@pytest.fixture
def lab() -> Cluster:
    """A small and a large node in two zones; `web` is on the large one, `big` fits nowhere, `gated` was never tried."""
    made = Cluster(
        make_node("small").zone("a").capacity(cpu="2", memory="4Gi", pods="10"),
        make_node("large").zone("b").capacity(cpu="4", memory="8Gi", pods="10"),
        make_pod("web").req(cpu="1"),
        make_pod("big").req(cpu="5"),
        make_pod("gated").scheduling_gates("quota"),
    )
    made.run()
    return made


@pytest.mark.parametrize(
    "holds",
    [
        lambda expect: expect("web").on(),
        lambda expect: expect("web").on("large"),
        lambda expect: expect("default/web").on("small", "large"),
        lambda expect: expect("web").on(label="topology.kubernetes.io/zone=b"),
        lambda expect: expect("web").on("large", label="topology.kubernetes.io/zone in (a,b)").not_on("small"),
        lambda expect: expect("web").not_on(label="topology.kubernetes.io/zone=a"),
        lambda expect: expect("big").not_on("small").not_on("large"),
        lambda expect: expect("big").pending(),
        lambda expect: expect("big").pending(reason="Insufficient cpu", plugin="NodeResourcesFit"),
        lambda expect: expect("gated").pending(reason="scheduling gates to be removed: quota"),
        lambda expect: expect(make_pod("next").req(cpu="1")).on("large"),
        lambda expect: expect(make_pod("web").req(cpu="9")).on("large"),
    ],
)
def test_what_is_so_may_be_expected(lab: Cluster, holds: Callable[[Callable[..., PodExpectation]], object]) -> None:
    holds(lambda pod: PodExpectation(lab, pod))


@pytest.mark.parametrize(
    ("fails", "lines"),
    [
        (
            lambda expect: expect("web").on("small"),
            [
                "pod default/web is on large, but is expected on small",
                "  Scheduled on large with 454 points, 20 ahead of small (434).",
                "  small: passed with 434 points",
            ],
        ),
        (
            lambda expect: expect("web").on(label="topology.kubernetes.io/zone=a"),
            ["pod default/web is on large, but is expected on a node with topology.kubernetes.io/zone=a"],
        ),
        (
            lambda expect: expect("big").on("small"),
            [
                "pod default/big waits, but is expected on small",
                "  big fits on none of 2 nodes: NodeResourcesFit turns down 2",
                "  0/2 nodes are available: 2 Insufficient cpu.",
                "  small: NodeResourcesFit: Insufficient cpu",
            ],
        ),
        (lambda expect: expect("big").on(), ["pod default/big waits, but is expected on any node"]),
        (lambda expect: expect("web").not_on("large"), ["pod default/web is on large, but is not expected on large"]),
        (lambda expect: expect("web").pending(), ["pod default/web is on large, but is expected to wait"]),
        (
            lambda expect: expect("big").pending(reason="Insufficient memory"),
            ["pod default/big waits, but is expected to wait because of 'Insufficient memory'"],
        ),
        (
            lambda expect: expect("big").pending(plugin="TaintToleration"),
            ["pod default/big waits, but is expected to be turned down by TaintToleration"],
        ),
        (
            lambda expect: expect("gated").on(),
            ["pod default/gated waits, but is expected on any node", "waits for its scheduling gates to be removed"],
        ),
    ],
)
def test_what_is_not_so_is_told_with_the_reasons(
    lab: Cluster, fails: Callable[[Callable[..., PodExpectation]], object], lines: list[str]
) -> None:
    with pytest.raises(AssertionError) as found:
        fails(lambda pod: PodExpectation(lab, pod))
    told = str(found.value)

    assert [line for line in lines if line not in told] == []


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda expect: expect("web").on("lareg"), "there is no node lareg\nhint: there are: large, small"),
        (lambda expect: expect("web").on(label="a=(b"), "hint: write it as kubectl takes it"),
        (lambda expect: expect("none").on(), 'pods "none" not found'),
        (lambda expect: expect("a/b/c").on(), "names no pod"),
    ],
)
def test_a_mistake_in_an_expectation_is_no_failure(
    lab: Cluster, wrong: Callable[[Callable[..., PodExpectation]], object], words: str
) -> None:
    """A name that is wrong must not pass as `not_on`, nor read like a wrong decision."""
    with pytest.raises(SchedlabError) as found:
        wrong(lambda pod: PodExpectation(lab, pod))

    assert words in str(found.value)


class TestGolden:
    def test_a_file_is_written_when_asked_and_then_compared(self, lab: Cluster, tmp_path: Path) -> None:
        ClusterExpectation(lab, tmp_path, update=True).decisions("golden/all")
        lines = (tmp_path / "golden" / "all").read_text().splitlines()

        assert lines[0] == "default/web -> large"
        assert lines[1].startswith("default/big waits: 0/2 nodes are available: 2 Insufficient cpu.")
        assert len(lines) == 2
        ClusterExpectation(lab, tmp_path).decisions("golden/all")

    def test_another_decision_is_shown_with_its_answer(self, lab: Cluster, tmp_path: Path) -> None:
        (tmp_path / "all").write_text("default/web -> small\n")

        with pytest.raises(AssertionError) as found:
            ClusterExpectation(lab, tmp_path).decisions("all")
        told = str(found.value)
        assert "-default/web -> small\n+default/web -> large" in told
        assert "default/web: Scheduled on large with 454 points" in told
        assert "--update-decisions writes the file anew" in told

    def test_pods_that_are_gone_stay_in_the_file(self, lab: Cluster, tmp_path: Path) -> None:
        lab.delete("pod/web")
        lab.run()
        ClusterExpectation(lab, tmp_path, update=True).decisions("all")

        assert (tmp_path / "all").read_text().startswith("default/web -> large (gone)\n")

    def test_a_file_that_is_not_there_is_no_success(self, lab: Cluster, tmp_path: Path) -> None:
        with pytest.raises(AssertionError, match="--update-decisions writes it"):
            ClusterExpectation(lab, tmp_path).decisions("all")
        assert not (tmp_path / "all").exists()
