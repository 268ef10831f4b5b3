"""What becomes of each format's nodes, pods and times."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from schedlab.kernel.errors import SchedlabError
from schedlab.traces.alibaba import read_alibaba
from schedlab.traces.azure import read_azure
from schedlab.traces.google import read_google
from schedlab.traces.mapped import read_mapped
from schedlab.traces.model import TimedPod
from tests.unit.traces import samples


def file(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


def requests(pod: TimedPod) -> Any:
    return pod.manifest["spec"]["containers"][0]["resources"]["requests"]


def times(pods: Any) -> list[tuple[str, float, float | None]]:
    return [(pod.manifest["metadata"]["name"], pod.at_s, pod.run_time_s) for pod in pods]


class TestAlibaba:
    @pytest.fixture
    def pods(self, tmp_path: Path) -> dict[str, TimedPod]:
        trace = read_alibaba(
            file(tmp_path, "nodes.csv", samples.ALIBABA_NODES), file(tmp_path, "pods.csv", samples.ALIBABA_PODS)
        )
        assert [node["metadata"]["name"] for node in trace.objects] == [f"openb-node-000{n}" for n in range(3)]
        plain, v100, _ = trace.objects
        assert plain["status"]["allocatable"] == {"cpu": "32000m", "memory": "262144Mi", "pods": "250"}
        assert v100["status"]["allocatable"]["alibabacloud.com/gpu-milli"] == "8000"
        assert v100["metadata"]["labels"]["alibabacloud.com/gpu-card-model"] == "V100M32"
        return {pod.manifest["metadata"]["name"]: pod for pod in trace.pods}

    def test_times_begin_at_zero_and_run_times_when_pods_were_scheduled(self, pods: dict[str, TimedPod]) -> None:
        assert times(pods.values()) == [
            ("openb-pod-0001", 0, 300),
            ("openb-pod-0002", 30, 110),
            ("openb-pod-0003", 60, 40),
            ("openb-pod-0004", 90, None),
        ]

    def test_parts_of_gpus_are_thousandths(self, pods: dict[str, TimedPod]) -> None:
        assert requests(pods["openb-pod-0001"])["alibabacloud.com/gpu-milli"] == "8000"
        assert requests(pods["openb-pod-0002"]) == {
            "cpu": "4000m",
            "memory": "15258Mi",
            "alibabacloud.com/gpu-milli": "220",
        }
        assert "alibabacloud.com/gpu-milli" not in requests(pods["openb-pod-0003"])

    def test_models_are_node_affinity(self, pods: dict[str, TimedPod]) -> None:
        affinity = pods["openb-pod-0001"].manifest["spec"]["affinity"]["nodeAffinity"]
        (term,) = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
        assert term["matchExpressions"][0]["values"] == ["V100M16", "V100M32"]
        assert "affinity" not in pods["openb-pod-0002"].manifest["spec"]

    def test_a_list_without_times_comes_at_once_and_stays(self, tmp_path: Path) -> None:
        nodes = file(tmp_path, "nodes.csv", samples.ALIBABA_NODES)
        trace = read_alibaba(nodes, file(tmp_path, "pods.csv", samples.ALIBABA_PODS_WITHOUT_TIMES))

        assert times(trace.pods) == [("openb-pod-0002", 0, None), ("openb-pod-0001", 0, None)]
        assert requests(trace.pods[1])["alibabacloud.com/gpu-milli"] == "8000"


class TestGoogle:
    def test_events_become_pods(self, tmp_path: Path) -> None:
        machines = file(tmp_path, "machines.csv", samples.GOOGLE_MACHINES)
        tasks = tmp_path / "tasks.csv.gz"
        tasks.write_bytes(gzip.compress(samples.GOOGLE_TASKS.encode()))
        trace = read_google(machines, tasks, cpu=32, memory_gib=64)

        assert [one["metadata"]["name"] for one in trace.objects] == [
            "priority-0",
            "priority-9",
            "machine-5",
            "machine-6",
        ]
        assert trace.objects[2]["status"]["allocatable"] == {"cpu": "16000m", "memory": "16338Mi", "pods": "250"}
        # The first ends after the trace, and so runs for ever; the second was evicted and ran again, for 30 s.
        assert times(trace.pods) == [("task-70-0", 0, None), ("task-70-1", 0, 30), ("task-71-0", 60, 10.5)]
        first, _, last = trace.pods
        assert requests(first) == {"cpu": "4000m", "memory": "4096Mi"}
        assert first.manifest["spec"]["priorityClassName"] == "priority-9"
        assert "podAntiAffinity" in first.manifest["spec"]["affinity"]
        assert (requests(last), "affinity" in last.manifest["spec"]) == ({"cpu": "0m", "memory": "0Mi"}, False)


class TestAzure:
    def test_machines_become_pods(self, tmp_path: Path) -> None:
        trace = read_azure(file(tmp_path, "vmtable.csv", samples.AZURE_MACHINES))

        # The first was there until the end of the trace.
        assert times(trace.pods) == [("vm-0", 0, None), ("vm-1", 300, 600), ("vm-2", 600, 600)]
        assert [requests(pod) for pod in trace.pods] == [
            {"cpu": "8", "memory": "32768Mi"},
            {"cpu": "24", "memory": "65536Mi"},
            {"cpu": "2", "memory": "4096Mi"},
        ]
        assert trace.pods[0].manifest["metadata"]["annotations"]["azure/vmid"] == "a/b+c="
        assert trace.objects == ()


class TestMapped:
    def test_columns_are_filled_in(self, tmp_path: Path) -> None:
        mapping, jobs = file(tmp_path, "mapping.yaml", samples.MAPPING), file(tmp_path, "jobs.csv", samples.JOBS)
        trace = read_mapped(mapping, jobs, file(tmp_path, "hosts.csv", samples.HOSTS))

        assert times(trace.pods) == [("job-1", 0, 120), ("job-2", 60, None)]
        one, two = trace.pods
        assert requests(one) == {"cpu": "2", "memory": "4Gi"}
        assert one.manifest["metadata"]["labels"] == {"team": "web", "from": "trace"}
        assert one.manifest["spec"]["nodeSelector"] == {"disk": "ssd"}
        # What is empty is left out.
        assert two.manifest["metadata"]["labels"] == {"from": "trace"}
        assert "nodeSelector" not in two.manifest["spec"]
        assert [node["status"]["allocatable"]["memory"] for node in trace.objects] == ["8Gi", "16Gi"]

    def test_an_end_is_as_good_as_a_run_time(self, tmp_path: Path) -> None:
        mapping = file(tmp_path, "m.yaml", samples.MAPPING.replace('runTime: "{duration}"', 'end: "{duration}"'))

        assert times(read_mapped(mapping, file(tmp_path, "jobs.csv", samples.JOBS)).pods)[0] == ("job-1", 0, 120)

    @pytest.mark.parametrize(
        ("old", "new", "words"),
        [
            ("timeUnit: 60", "timeUnits: 60", "m.yaml:3: timeUnits: there is no such field"),
            ("name: job-{id}", "name: job-{number}", "jobs.csv:1: has no column number"),
            ('at: "{submitted}"', 'at: "{team}"', "jobs.csv:2: {team} is 'web', not a number"),
            ('at: "{submitted}"', "at: inf", "jobs.csv:2: inf is 'inf', not a number"),
            ("kind: TraceMapping", "kind: Mapping", "'Mapping' is not possible"),
        ],
    )
    def test_mistakes(self, old: str, new: str, words: str, tmp_path: Path) -> None:
        mapping = file(tmp_path, "m.yaml", samples.MAPPING.replace(old, new))

        with pytest.raises(SchedlabError) as found:
            read_mapped(mapping, file(tmp_path, "jobs.csv", samples.JOBS))
        assert words in str(found.value)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("gpu_milli,", "", "pods.csv:1: has no column gpu_milli"),
        ("4000,15258", "many,15258", "pods.csv:2: cpu_milli is 'many', not a number"),
        ("4000,15258", "nan,15258", "pods.csv:2: cpu_milli is 'nan', not a number"),
        ("Running,1030", "Running,", "pods.csv:2: creation_time is '', not a number"),
        (",BE,Running,1030", ",BE,1030", "pods.csv:2: has 10 fields"),
    ],
)
def test_a_wrong_line_is_named(old: str, new: str, words: str, tmp_path: Path) -> None:
    nodes = file(tmp_path, "nodes.csv", samples.ALIBABA_NODES)
    with pytest.raises(SchedlabError) as found:
        read_alibaba(nodes, file(tmp_path, "pods.csv", samples.ALIBABA_PODS.replace(old, new, 1)))
    assert words in str(found.value)


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    broken = tmp_path / "vmtable.csv.gz"
    broken.write_bytes(b"no gzip")

    with pytest.raises(SchedlabError, match="cannot be read"):
        read_azure(broken)
