"""Scenario files are read strictly: each mistake is told with its line and what to do, all at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from schedlab.kernel.errors import SchedlabError
from schedlab.scenario.file import read_scenario
from schedlab.scenario.mistakes import MistakesError

HEAD = "apiVersion: schedlab.dev/v1alpha1\nkind: Scenario\n"
CONFIG = "apiVersion: kubescheduler.config.k8s.io/v1, kind: KubeSchedulerConfiguration,"
POD = "{template: {spec: {containers: [{name: a, image: a}]}}}"


def read(folder: Path, body: str) -> None:
    file = folder / "s.yaml"
    file.write_text(HEAD + body, encoding="utf-8")
    read_scenario(file)


@pytest.mark.parametrize(
    ("body", "line", "message", "hint"),
    [
        ("sed: 1\n", 3, "sed: there is no such field", "did you mean seed?"),
        ("cluster:\n  nodes:\n  - {cout: 1}\n", 5, "cluster.nodes[0].cout: there is no such field", "count?"),
        ("seed: 1.5\n", 3, "seed: is 1.5, not a number", ""),
        ("seed: -1\n", 3, "seed: is -1", "give 0 or more"),
        ("cluster: [1]\n", 3, "cluster: is a list, not a mapping", ""),
        ("cluster:\n  nodes:\n  - {count: 1000000000}\n", 5, "count: is 1000000000", "give 100000 at most"),
        (
            "cluster:\n  pods:\n  - {count: 2, template: {spec: {containers: [{name: c, image: c, ports: [{}]}]}}}\n",
            5,
            'cluster.pods[0].template: Pod "object" is invalid: spec.containers[0].ports[0].containerPort: Required value',
            "correct what the API server refuses",
        ),
        (
            "operations:\n- at: 1m\n  create: {apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: []}}\n",
            4,
            'operations[0]: Pod "p" is invalid: spec.containers: Required value',
            "correct what the API server refuses",
        ),
        (
            "operations:\n- at: 1m\n  addNodes: {template: {metadata: {labels: {a: '!'}}}}\n",
            4,
            'operations[0]: Node "node-0" is invalid: metadata.labels',
            "correct what the API server refuses",
        ),
        ("stop: {when: never}\n", 3, "stop.when: 'never' is not possible", "write one of"),
        ("stop: {at: 10}\n", 3, "stop.at: is 10, not a text", "put it in quotes"),
        ("stop: {at: soon}\n", 3, "stop.at: 'soon' is no duration", "write one like"),
        ("stop: {at: 0s}\n", 3, "stop.at: 0s is no time at all", "give a longer one"),
        ("metrics: {every: -5s}\n", 3, "metrics.every: -5s is negative", ""),
        ("operations:\n- at: 1s\n", 4, "operations[0]: nothing is to be done", "give one of create"),
        ("operations:\n- {at: 1s, drain: a, cordon: b}\n", 4, "operations[0]: drain and cordon is to be done", ""),
        ("operations:\n- {at: 25h, start: a}\n", 4, "operations[0].at: 25h is after the end", "stop.at later"),
        ("operations:\n- {at: 1s, start: web}\n", 4, "operations[0].start: there is no load web", "add it to loads"),
        ("operations:\n- {at: 1s, drain: node-0, replicas: 3}\n", 4, "operations[0].replicas: does not go with", ""),
        ("operations:\n- {at: 1s, scale: deployment/web, replicas: 3}\n", 4, "there is no deployment/web", "none"),
        ("operations:\n- {at: 1s, delete: poddy/web}\n", 4, "there is no kind 'poddy'", ""),
        ("operations:\n- {at: 1s, delete: web}\n", 4, "'web' names no object", "KIND/NAME"),
        (
            "cluster: {nodes: [{count: 2}]}\noperations:\n- {at: 1s, fail: node-3}\n",
            5,
            "operations[0].fail: no node is called node-3",
            "did you mean node-",
        ),
        ("operations:\n- {at: 1s, drain: 'zone=a'}\n", 4, "no node has the labels zone=a", "there are: none"),
        ("cluster: {snapshot: no.json}\n", 3, "cannot be read", "snapshot save"),
        ("cluster: {files: [none.yaml]}\n", 3, "cannot be read", "files or folders"),
        ("cluster: {objects: [{kind: Pod}]}\n", 3, "cluster.objects[0]: is no manifest", "apiVersion"),
        (
            "cluster: {objects: [{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: shop}}]}\n",
            3,
            "there is no namespace shop",
            "cluster.objects",
        ),
        (
            f"loads:\n- {{name: a, arrivals: {{}}, pods: [{POD}]}}\n",
            4,
            "loads[0].arrivals: nothing is given",
            "poisson, every, trace",
        ),
        (f"loads:\n- {{name: a, arrivals: {{poisson: fast}}, pods: [{POD}]}}\n", 4, "'fast' is no rate", "30/m"),
        (
            f"loads:\n- {{name: a, arrivals: {{every: 1s}}, from: 5s, until: 5s, pods: [{POD}]}}\n",
            4,
            "loads[0].until: 5s is not after from (5s)",
            "",
        ),
        (
            "cluster: {pods: [{count: 2, runTime: gauss(1), template: {spec: {}}}]}\n",
            3,
            "cluster.pods[0].runTime: 'gauss' is not one of",
            "distributions",
        ),
        (
            "cluster: {pods: [{count: 2, template: {metadata: {name: a}}}]}\n",
            3,
            "all pods have one name",
            "{{.Index}}",
        ),
        (
            "cluster: {nodes: [{template: {metadata: {name: 'n-{{.Idx}}'}}}]}\n",
            3,
            "there is no value for .Idx",
            ".Index",
        ),
        (
            "cluster: {nodes: [{count: 2, template: {metadata: {name: n}}}]}\n",
            3,
            "2 nodes have 1 names",
            "{{.Index}}",
        ),
        ("assertions:\n- {metric: wait_p9, below: 1}\n", 4, "there is no metric wait_p9", "did you mean wait_p99?"),
        ("assertions:\n- {metric: requested_mean, below: 1}\n", 4, "there is no metric", "requested_mean.cpu"),
        ("assertions:\n- {metric: wait_p99}\n", 4, "assertions[0]: says not what must hold", "below"),
        ("assertions:\n- {below: 3}\n", 4, "is about neither a metric nor pods", ""),
        ("assertions:\n- {pods: {selector: 'a in'}, scheduled: true}\n", 4, "assertions[0].pods.selector", "kubectl"),
        (
            f"schedulerConfig: {{{CONFIG} profiles: [{{plugins: {{filter: {{enabled: [{{name: Nope}}]}}}}}}]}}\n",
            3,
            "Nope",
            "",
        ),
        ("featureGates: {Nope: true}\n", 3, "unrecognized feature gate: Nope", ""),
    ],
)
def test_mistake_is_told_with_its_line(tmp_path: Path, body: str, line: int, message: str, hint: str) -> None:
    with pytest.raises(MistakesError) as caught:
        read(tmp_path, body)

    told = str(caught.value)
    assert f"s.yaml:{line}: " in told
    assert message in told
    assert hint in told


def test_all_mistakes_are_told_in_the_order_of_the_file(tmp_path: Path) -> None:
    with pytest.raises(MistakesError) as caught:
        read(tmp_path, "stop: {at: soon}\nassertions:\n- {metric: x, below: 1}\noperations:\n- {at: 1s, start: web}\n")

    assert [mistake.path[0] for mistake in caught.value.mistakes] == ["stop", "assertions", "operations"]
    assert str(caught.value).count("\nerror: ") == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- 1\n", "holds list, not a Scenario"),
        ("a: [\n", "yaml"),
        ("a: 1\n---\nb: 2\n", "holds 2 documents"),
        ("a: 1\na: 2\n", "already set"),
    ],
)
def test_file_that_is_no_scenario_is_refused(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "s.yaml"
    file.write_text(text, encoding="utf-8")

    with pytest.raises(SchedlabError, match=r"s\.yaml") as caught:
        read_scenario(file)

    assert message in str(caught.value)


def test_trace_is_read_with_the_line_of_its_mistake(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("at,runTime,cpu\n0,10s,1\n5,1m,2\n3,5,1\n", encoding="utf-8")

    with pytest.raises(MistakesError, match=r"t\.csv:4: 3 is before the line above"):
        read(tmp_path, f"loads:\n- {{name: a, arrivals: {{trace: t.csv}}, pods: [{POD}]}}\n")
