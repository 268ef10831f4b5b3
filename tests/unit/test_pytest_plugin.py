"""The pytest plugin as a project of its own uses it."""

from __future__ import annotations

import tomllib
from importlib import import_module

import pytest

import schedlab.testing  # noqa: F401 - so that projects in this process need not import it again
from tests.architecture.source_tree import REPOSITORY

pytest_plugins = ["pytester"]

HEAD = """
import pytest
from schedlab import Cluster
from schedlab.testing import make_node, make_pod

NODES = [make_node(name).capacity(cpu="2", pods="9") for name in ("a", "b")]
"""


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    """A project with the plugin, as strict as one can be."""
    pytester.makeini(
        "[pytest]\naddopts = -p schedlab.pytest_plugin -p no:randomly -p no:xdist --strict-markers\n"
        "filterwarnings = error\n"
    )
    return pytester


def test_fixtures_are_there_without_an_import(project: pytest.Pytester) -> None:
    """An empty cluster without a marker, what the marker says with one, and expectations about it."""
    project.makepyfile(
        HEAD
        + """
def test_empty(cluster, expect):
    assert cluster.objects("nodes") == []
    expect(make_pod("web")).pending(reason="no nodes available")

@pytest.mark.cluster(*NODES)
def test_marker(expect):
    expect(make_pod("web").req(cpu="1")).on("a", "b")

@pytest.mark.cluster(nodes=2)
def test_plain(cluster, expect):
    expect(make_pod("web").node_selector({"topology.kubernetes.io/zone": "zone-b"})).on(label="topology.kubernetes.io/zone=zone-b")

def test_own_cluster(expect):
    expect(make_pod("web"), Cluster(nodes=1)).on("node-0")
"""
    )

    project.runpytest().assert_outcomes(passed=4)


def test_files_and_configurations_are_relative_to_the_test(project: pytest.Pytester) -> None:
    """Not to the folder that pytest was started in."""
    folder = project.mkdir("tests")
    (folder / "nodes.yaml").write_text(
        "apiVersion: v1\nkind: Node\nmetadata: {name: only}\nstatus: {allocatable: {cpu: '4', pods: '9'}}\n"
    )
    (folder / "scheduler.yaml").write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "profiles: [{schedulerName: mine}]\n"
    )
    (folder / "test_it.py").write_text(
        HEAD
        + """
@pytest.mark.cluster(make_pod("early").scheduler_name("mine"), files="nodes.yaml", config="scheduler.yaml")
def test_it(expect):
    expect("early").on("only")
    expect(make_pod("web")).pending(reason="asks for the scheduler 'default-scheduler'")
"""
    )

    project.runpytest().assert_outcomes(passed=1)


SCENARIO = """
apiVersion: schedlab.dev/v1alpha1
kind: Scenario
cluster: {nodes: [{count: 1}]}
loads:
- name: load
  arrivals: {every: 10s}
  count: 5
  pods: [{runTime: 30s, template: {spec: {containers: [{name: c, image: i, resources: {requests: {cpu: "2"}}}]}}}]
"""


def test_metrics_of_a_scenario_are_compared(project: pytest.Pytester) -> None:
    """Two fit beside each other; the third waits until the first ends. Unknown names are mistakes."""
    (project.path / "load.yaml").write_text(SCENARIO)
    project.makepyfile(
        HEAD
        + """
@pytest.fixture
def run(run_scenario):
    return run_scenario("load.yaml")

def test_holds(expect, run):
    assert expect(run).metric("wait_max") < 60
    assert expect(run).metric("pods_finished") >= 5
    assert expect(run).metric("wait_p50") >= 0
    assert expect(run).metric("pods_pending") <= 0
    assert expect(run).metric("attempts") > 4

def test_fails(expect, run):
    expect(run).metric("wait_max") < 0.001

def test_unknown(expect, run):
    expect(run).metric("wait_p98") < 1

def test_not_measured(expect, run):
    expect(run).metric("fragmentation_gpu_mean") < 1
"""
    )

    result = project.runpytest()

    result.assert_outcomes(passed=1, failed=3)
    result.stdout.fnmatch_lines_random(
        [
            "E*AssertionError: load, seed 1: wait_max is *, but is expected to be < 0.001",
            "E*SchedlabError: there is no metric wait_p98",
            "E*AssertionError: load: fragmentation_gpu_mean was not measured",
        ]
    )


def test_a_failure_shows_the_answer_and_the_line_of_the_test(project: pytest.Pytester) -> None:
    """The frames of the plugin are hidden."""
    project.makepyfile(
        HEAD
        + """
@pytest.mark.cluster(*NODES)
def test_it(expect):
    expect(make_pod("big").req(cpu="3")).on("a")
"""
    )

    result = project.runpytest()

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            '>*expect(make_pod("big").req(cpu="3")).on("a")',
            "E*AssertionError: pod default/big waits, but is expected on a",
            "E*big fits on none of 2 nodes: NodeResourcesFit turns down 2 *",
            "E*a: NodeResourcesFit: Insufficient cpu",
        ]
    )
    result.stdout.no_fnmatch_line("*laboratory/expectations.py*")


def test_a_mistake_in_a_test_is_one_message_at_its_line(project: pytest.Pytester) -> None:
    """Neither our frames nor what went before the message; --full-trace shows them."""
    project.makepyfile(
        HEAD
        + """
def test_it(cluster):
    cluster.apply(make_pod("UPPER"))
"""
    )

    result = project.runpytest("-p", "no:cacheprovider")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ['>*cluster.apply(make_pod("UPPER"))', 'E*SchedlabError: objects?0?: Pod "UPPER" is invalid: *', "E*hint: *"]
    )
    result.stdout.no_fnmatch_line("*whatif/changes.py*")
    result.stdout.no_fnmatch_line("*another exception*")
    project.runpytest("--full-trace").stdout.fnmatch_lines(["*whatif/changes.py*"])


def test_golden_files_are_written_with_the_option_only(project: pytest.Pytester) -> None:
    """Missing: fails. With --update-decisions: written, passes. Then it is compared."""
    project.makepyfile(
        HEAD
        + """
@pytest.mark.cluster(*NODES)
def test_it(cluster, expect):
    cluster.apply(make_pod("web").req(cpu="1"))
    cluster.run()
    expect(cluster).decisions("golden.txt")
"""
    )

    project.runpytest().assert_outcomes(failed=1)
    project.runpytest("--update-decisions").assert_outcomes(passed=1)
    golden = project.path / "golden.txt"
    assert golden.read_text().startswith("default/web -> ")
    project.runpytest().assert_outcomes(passed=1)
    golden.write_text("default/web -> c\n")
    result = project.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*-default/web -> c", "*default/web: Scheduled on *"])


def test_the_entry_point_names_the_plugin() -> None:
    """Its name is the module's, so that -p and the entry point together load it once."""
    with (REPOSITORY / "pyproject.toml").open("rb") as file:
        points = tomllib.load(file)["project"]["entry-points"]["pytest11"]

    assert points == {"schedlab.pytest_plugin": "schedlab.pytest_plugin"}
    assert import_module("schedlab.pytest_plugin").pytest_addoption
