"""What recording costs in bytes and time, and how long an explanation takes: the numbers of the decision log.

    python -m bench.decisions [NODES [PODS]]            default 5000 2000

Equal pods are those of one template; mixed ones differ in requests, priority, tolerations, affinity to nodes and pods, and
spreading, on nodes that differ in size, zone and taints, with every filter judging every node. Prints one line of JSON per load.

`explain` has for every form of `schedlab explain` and for the newest, middle and oldest attempts the median processor time
from the question to the text that is printed: the explanation and its JSON in the server, the JSON read and written in that
form by the client; interpreter, modules and connection are not in it. No moment is known from before. `over` names what took
longer than the goal, `calibration` is how fast the machine was just then (`schedlab.scheduler_perf.machine`).

`recording` compares runs in processes of their own, with the log and without (then no filter judges more than it has to):
which part of the processor time from creating the pods to binding them is for the record, the least of three runs each,
and how much more memory is resident afterwards per pod; the journal is kept in both. The other bytes are exact.
"""

from __future__ import annotations

import json
import multiprocessing
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, Literal, NamedTuple
from unittest import mock

from schedlab.cli.explain import EVERY_NODE, shown
from schedlab.cli.simulator_api import head_of
from schedlab.cluster.cluster import Cluster, ClusterSettings
from schedlab.cluster.driver import BatchDriver
from schedlab.cluster.memory import calm_garbage_collector, memory_bytes
from schedlab.cluster.schedulers import Surroundings, make_scheduler
from schedlab.decisions.explain import DETAILED, PodQuestion
from schedlab.kernel.clock import VirtualClock
from schedlab.kernel.randomness import SeededRandom
from schedlab.scheduler_perf.machine import calibrate
from schedlab.web.routing import json_answer


class Form(NamedTuple):
    """A form of `schedlab explain`: what is asked, and how the answer is shown."""

    question: PodQuestion
    output: Literal["text", "wide", "json", "yaml", "html"] = "text"


#: As the command line asks; -o json, yaml and wide have what keeps the pod from every node.
_FORMS = {
    "default": Form(PodQuestion()),
    "--attempt": Form(PodQuestion(attempt=1)),
    "--node": Form(PodQuestion(nodes=("node-7",), all_plugins=True)),
    "--vs": Form(PodQuestion(versus="node-7")),
    "--all-plugins": Form(PodQuestion(all_plugins=True)),
    "-o html": Form(PodQuestion(), "html"),
    "-o wide": Form(PodQuestion(detailed=EVERY_NODE, formulas=DETAILED), "wide"),
    "-o json": Form(PodQuestion(detailed=EVERY_NODE), "json"),
    "-o yaml": Form(PodQuestion(detailed=EVERY_NODE), "yaml"),
}
_GOAL_MS = 100
#: So many pods are asked about in each form.
_ASKED = 9
_ZONES = 8
_PRIORITIES = ("low", "middle", "high")
_AT_ONCE = 500
_RUNS = 3
#: Of how many pods the cost of recording is measured.
_RECORDED_MAX = 3000


def _node(number: int, *, mixed: bool) -> dict[str, Any]:
    size = (4, 8, 16, 32)[number % 4] if mixed else 32
    amounts = {"cpu": str(size), "memory": f"{4 * size}Gi", "pods": "110"}
    labels = {
        "kubernetes.io/hostname": f"node-{number}",
        "topology.kubernetes.io/zone": f"zone-{number % _ZONES}",
        "disk": ("ssd", "hdd", "nvme")[number % 3],
    }
    taints = [{"key": "dedicated", "value": "batch", "effect": "NoSchedule"}] if mixed and number % 7 == 0 else []
    taints += [{"key": "old", "effect": "PreferNoSchedule"}] if mixed and number % 5 == 0 else []
    spec = {"taints": taints} if taints else {}
    return {"metadata": {"name": f"node-{number}", "labels": labels}, "spec": spec, "status": {"allocatable": amounts}}


def _pod(number: int, random: SeededRandom, *, mixed: bool) -> dict[str, Any]:
    requests = {"cpu": "100m", "memory": "500Mi"}
    spec: dict[str, Any] = {}
    app = f"app-{random.below(40)}" if mixed else "app"
    if mixed:
        requests = {"cpu": f"{50 + random.below(400)}m", "memory": f"{64 + random.below(2000)}Mi"}
        selector = {"matchLabels": {"app": app}}
        if random.below(3) == 0:
            spec["tolerations"] = [{"key": "dedicated", "operator": "Exists"}]
        if random.below(3) == 0:
            spec["topologySpreadConstraints"] = [
                {
                    "maxSkew": 2,
                    "topologyKey": "topology.kubernetes.io/zone",
                    "whenUnsatisfiable": ("DoNotSchedule", "ScheduleAnyway")[random.below(2)],
                    "labelSelector": selector,
                }
            ]
        terms = [{"key": "disk", "operator": "In", "values": [("ssd", "hdd", "nvme")[random.below(3)]]}]
        preferred = [{"weight": 1 + random.below(100), "preference": {"matchExpressions": terms}}]
        affinity: dict[str, Any] = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}
        if random.below(3) == 0:
            term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": selector}
            affinity["podAntiAffinity"] = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
        elif random.below(3) == 0:
            term = {"topologyKey": "topology.kubernetes.io/zone", "labelSelector": selector}
            wish = [{"weight": 1 + random.below(100), "podAffinityTerm": term}]
            affinity["podAffinity"] = {"preferredDuringSchedulingIgnoredDuringExecution": wish}
        spec["affinity"] = affinity
        spec["priorityClassName"] = _PRIORITIES[random.below(len(_PRIORITIES))]
    container = {"name": "c", "image": "registry.k8s.io/pause:3.10", "resources": {"requests": requests}}
    metadata = {"name": f"p-{number}", "namespace": "default", "labels": {"app": app}}
    return {"metadata": metadata, "spec": {"containers": [container], **spec}}


def cluster_of(nodes: int, *, mixed: bool, settings: ClusterSettings) -> tuple[Cluster, BatchDriver]:
    """Return a cluster of nodes."""
    clock = VirtualClock()
    cluster = Cluster(clock, SeededRandom(1), settings)
    driver = BatchDriver(cluster.engine, clock)
    cluster.start()
    for value, name in enumerate(_PRIORITIES):
        body = cluster.registry.decode(
            "priorityclasses.scheduling.k8s.io", {"metadata": {"name": name}, "value": value * 100}
        )
        cluster.registry.create("priorityclasses.scheduling.k8s.io", body)
    for number in range(nodes):
        cluster.registry.create("nodes", cluster.registry.decode("nodes", _node(number, mixed=mixed)))
    driver.settle()
    calm_garbage_collector()
    return cluster, driver


def schedule(cluster: Cluster, driver: BatchDriver, pods: int, *, mixed_every: int) -> None:
    """Schedule the pods p-0, p-1, …; one in `mixed_every` is mixed, none if 0."""
    random, registry = SeededRandom(7), cluster.registry
    for number in range(pods):
        mixed = bool(mixed_every) and number % mixed_every == 0
        registry.create("pods", registry.decode("pods", _pod(number, random, mixed=mixed)), "default")
        if number % _AT_ONCE == 0:
            driver.settle()
    driver.settle()
    calm_garbage_collector()


def _cost(nodes: int, pods: int, *, mixed: bool, recorded: bool) -> tuple[float, int]:
    """Return the processor time of scheduling the pods, and what more memory is resident then."""

    def unrecorded(settings: Any, around: Surroundings, *configuration: Any) -> Any:
        return make_scheduler(replace(settings, full=False), replace(around, observer=None), *configuration)  # type: ignore[arg-type]  # a scheduler takes none

    with nullcontext() if recorded else mock.patch("schedlab.cluster.cluster.make_scheduler", unrecorded):
        cluster, driver = cluster_of(nodes, mixed=mixed, settings=ClusterSettings())
        before, began = memory_bytes(), time.process_time()
        schedule(cluster, driver, pods, mixed_every=int(mixed))
        return time.process_time() - began, memory_bytes() - before


def _recording(nodes: int, pods: int, *, mixed: bool) -> dict[str, Any]:
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, spawn, max_tasks_per_child=1) as pool:
        found = {
            recorded: [pool.submit(_cost, nodes, pods, mixed=mixed, recorded=recorded) for _ in range(_RUNS)]
            for recorded in (True, False)
        }
        (with_s, with_bytes), (without_s, without_bytes) = (
            tuple(min(column) for column in zip(*(one.result() for one in some), strict=True))
            for some in found.values()
        )
    return {
        "microsecondsPerPod": round(with_s / pods * 1e6),
        "withoutMicrosecondsPerPod": round(without_s / pods * 1e6),
        "partOfTime": round(1 - without_s / with_s, 3),
        "residentBytesPerPod": int(with_bytes - without_bytes) // pods,
    }


def run(nodes: int, pods: int, *, mixed: bool) -> dict[str, Any]:
    """Schedule the pods and return what their records take."""
    recording = _recording(nodes, min(pods, _RECORDED_MAX), mixed=mixed)
    cluster, driver = cluster_of(nodes, mixed=mixed, settings=ClusterSettings())
    schedule(cluster, driver, pods, mixed_every=int(mixed))
    attempts = [attempt for story in cluster.log.stories() for attempt in story.attempts]
    packed = [attempt.kept.blob for attempt in attempts if attempt.kept.blob]
    blobs = {id(blob): blob for blob in packed}
    return {
        "load": "mixed" if mixed else "equal",
        "nodes": nodes,
        "pods": pods,
        "attempts": len(attempts),
        "arraysBytesPerAttempt": sum(map(len, blobs.values())) // max(len(packed), 1),
        "countedBytesPerPod": cluster.log.size_bytes // pods,
        "recording": recording,
        "explain": _explain(cluster, pods),
    }


def _explain(cluster: Cluster, pods: int) -> dict[str, Any]:
    """Return how long each form takes, of pods one beside the other that nobody has asked about."""
    count = _ASKED * len(_FORMS)
    firsts = {"newest": pods - count, "middle": (pods - count) // 2, "oldest": 0}
    found: dict[str, dict[str, float]] = {when: {} for when in firsts}
    over = []
    for place, (name, form) in enumerate(_FORMS.items()):
        for when, first in firsts.items():
            begin = first + _ASKED * place
            found[when][name] = taken = _explain_ms(cluster, range(begin, begin + _ASKED), form)
            over += [f"{name} {when}"] if taken > _GOAL_MS else []
    return {"goalMilliseconds": _GOAL_MS, "over": over, "calibration": calibrate(), "milliseconds": found}


def _explain_ms(cluster: Cluster, numbers: range, form: Form) -> float:
    """Return the median of the processor time of server and client."""
    times = []
    for number in numbers:
        began = time.process_time()
        answer = json_answer(cluster.explainer.explain("default", f"p-{number}", form.question))
        head_of(answer.body)
        text = shown(
            answer.body,
            form.output,
            one_node=bool(form.question.nodes),
            all_plugins=form.question.all_plugins and not form.question.nodes,
        )
        times.append(time.process_time() - began)
        assert text, "an explanation without words"
    return round(sorted(times)[len(times) // 2] * 1000, 1)


def main(arguments: list[str]) -> None:
    """Run both loads."""
    nodes, pods = (int(text) for text in (*arguments, *("5000", "2000")[len(arguments) :]))
    for mixed in (False, True):
        sys.stdout.write(json.dumps(run(nodes, pods, mixed=mixed)) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
