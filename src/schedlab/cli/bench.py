"""`schedlab bench`: how fast pods are scheduled here, and by how much that is above kube-scheduler."""

from __future__ import annotations

import json
import multiprocessing
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from schedlab.decisions.annotations import AnnotationMode
from schedlab.kernel.errors import SchedlabError
from schedlab.kernel.words import counted
from schedlab.scheduler_perf import RunOptions, TestCase, Workload, load, machine, run, shipped
from schedlab.scheduler_perf.measurement import Figures

Chosen = tuple[TestCase, Workload]


def bench(
    *workloads: str,
    file: Annotated[Path | None, Parameter(help="A scheduler_perf file of your own.")] = None,
    mode: Annotated[
        Literal["batch", "live"], Parameter(help="In process on virtual time, or over HTTPS with clients.")
    ] = "batch",
    processes: Annotated[
        Literal[1, 2], Parameter(help="With 2, the scheduler of a live run has a process of its own.")
    ] = 1,
    label: Annotated[str, Parameter(help="Without names: run the workloads with this label.")] = "performance",
    annotations: Annotated[AnnotationMode, Parameter(help="How much of each result its pod shows.")] = "auto",
    full: Annotated[bool, Parameter(help="Record every filter's verdict on every visited node.")] = True,
    whole: Annotated[
        bool, Parameter(help="With kubelets, controllers and all admission, as `schedlab up` runs them.", negative="")
    ] = False,
    param: Annotated[
        tuple[str, ...], Parameter(help="NAME=NUMBER in place of a workload's parameter; repeatable.", negative="")
    ] = (),
    repeat: Annotated[int, Parameter(help="Runs of each workload; the median is told.")] = 1,
    profile: Annotated[bool, Parameter(help="Tell where the time goes, stage by stage (batch).", negative="")] = False,
    output: Annotated[Path | None, Parameter(help="File to which each run is appended as a JSON line.")] = None,
    min_pods_per_s: Annotated[float, Parameter(help="End with 1 when a workload is slower.")] = 0.0,
    list_: Annotated[bool, Parameter(name="--list", help="Only list the workloads.", negative="")] = False,
) -> int:
    """Measure scheduling with kube-scheduler's own benchmark workloads, each run in a process of its own.

    Parameters
    ----------
    workloads
        TestCase or TestCase/Workload; without any, all that carry the label.
    """
    path = file or shipped()
    cases = load(path)
    chosen = _choose(cases, workloads, label)
    if list_:
        return _list(cases)
    options = RunOptions(
        mode=mode,
        annotations=annotations,
        full=full,
        whole=whole,
        profile=profile,
        params=_params(param),
        processes=processes,
    )
    _refuse_nonsense(options, repeat)
    calibration = machine.calibrate()
    _say(f"calibration {calibration} (kube-scheduler's figures: {machine.KUBE_SCHEDULER_CALIBRATION}), {mode}")
    enough = True
    for case, workload in chosen:
        lines = [
            line
            for _ in range(repeat)
            for line in _lines(_run_alone(path, case, workload, options), case, workload, options, calibration)
        ]
        if output is not None:
            with output.open("a", encoding="utf-8") as out:
                out.writelines(f"{json.dumps(line)}\n" for line in lines)
        enough &= _tell(case, workload, lines, min_pods_per_s)
    return 0 if enough else 1


def _refuse_nonsense(options: RunOptions, repeat: int) -> None:
    if repeat < 1:
        raise SchedlabError(f"{repeat} runs measure nothing", location="--repeat", hint="give 1 or more")
    if options.profile and options.mode == "live":
        raise SchedlabError("a live run has no profile", location="--profile", hint="use --mode batch")
    if options.processes == 2 and options.mode == "batch":
        raise SchedlabError("a batch run is one process", location="--processes", hint="use --mode live")


def _run_alone(path: Path, case: TestCase, workload: Workload, options: RunOptions) -> list[Figures]:
    """Run in a fresh process: memory and the garbage of other runs are not counted in."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, context) as pool:
        return pool.submit(run, path, case, workload, options).result()


def _choose(cases: Sequence[TestCase], names: Sequence[str], label: str) -> list[Chosen]:
    if not names:
        found = [(case, one) for case in cases for one in case.workloads if label in {*case.labels, *one.labels}]
        if not found:
            raise SchedlabError(f"no workload has the label {label!r}", location="--label", hint="see --list")
        return found
    by_name = {case.name: case for case in cases}
    chosen = []
    for name in names:
        head, _, size = name.partition("/")
        if head not in by_name:
            raise SchedlabError(f"there is no test case {head!r}", hint=f"choose from {', '.join(by_name)}")
        chosen.append((by_name[head], by_name[head].workload(size)))
    return chosen


def _params(texts: Sequence[str]) -> tuple[tuple[str, int], ...]:
    found = []
    for text in texts:
        name, equals, number = text.partition("=")
        if not name or not equals or not number.isdecimal():
            raise SchedlabError(f"{text!r} is no NAME=NUMBER", location="--param", hint="write initNodes=500")
        found.append((name, int(number)))
    return tuple(found)


def _lines(
    figures: Sequence[Figures], case: TestCase, workload: Workload, options: RunOptions, calibration: float
) -> list[dict[str, Any]]:
    """Return a JSON line for each stretch that a run measured."""
    made = []
    for each in figures:
        average = each.pods_per_second.get("Average", 0.0)
        own_size = workload == case.workload() and not options.params
        ratio = machine.ratio(case.name, average, calibration) if own_size else None
        bound, selector = case.threshold(workload)
        reached = each.bucket(selector)
        missed = reached is not None and bound and (reached > bound if selector.expect_lower else reached < bound)
        made.append(
            {
                "workload": f"{case.name}/{workload.name}{f'/{each.name}' if each.name else ''}",
                "mode": options.mode,
                "processes": options.processes,
                "when": datetime.now(tz=UTC).isoformat(timespec="seconds"),
                "params": {**workload.params, **dict(options.params)},
                "annotations": options.annotations,
                "full": options.full,
                "whole": options.whole,
                "pods": each.pods,
                "seconds": each.seconds,
                "setupSeconds": each.setup_seconds,
                "podsPerSecond": dict(each.pods_per_second),
                "cycleMicroseconds": dict(each.cycle_us),
                "cpuMicrosecondsPerPod": each.cpu_us_per_pod,
                "clientCpuMicrosecondsPerPod": each.client_cpu_us_per_pod,
                "stageMicrosecondsPerPod": dict(each.stages_us),
                **each.facts,
                "calibration": calibration,
                "ratio": None if ratio is None else round(ratio, 2),
                "ratioByProcessorTime": _ratio_by_cpu(case.name, each, calibration) if own_size else None,
                "threshold": bound or None,
                "belowThreshold": bool(missed),
                "machine": machine.describe(),
            }
        )
    return made


def _ratio_by_cpu(test_case: str, figures: Figures, calibration: float) -> float | None:
    """Return the ratio as it were if nothing else ran on the machine."""
    if not figures.cpu_us_per_pod:
        return None
    ratio = machine.ratio(test_case, 1e6 / figures.cpu_us_per_pod, calibration)
    return None if ratio is None else round(ratio, 2)


def _tell(case: TestCase, workload: Workload, lines: Sequence[Mapping[str, Any]], least: float) -> bool:
    """Print what a workload came to; say whether that is enough."""
    if not lines:
        _say(f"{case.name}/{workload.name}: nothing is measured, no operation has collectMetrics")
        return True
    lines = sorted(lines, key=lambda line: float(line["podsPerSecond"].get("Average", 0.0)))
    line = lines[len(lines) // 2]
    rates = [float(each["podsPerSecond"].get("Average", 0.0)) for each in lines]
    rate, cycle = line["podsPerSecond"], line["cycleMicroseconds"]
    ratio = "" if line["ratio"] is None else f" = {line['ratio']:.1f} R"
    by_cpu = "" if line["ratioByProcessorTime"] is None else f" = {line['ratioByProcessorTime']:.1f} R"
    clients = f", clients {line['clientCpuMicrosecondsPerPod']:.0f}" if line["mode"] == "live" else ""
    spread = f" (median of {len(rates)}: {rates[0]:.0f} to {rates[-1]:.0f})" if len(rates) > 1 else ""
    _say(f"{line['workload']}: {median(rates):.0f} pods/s{ratio}{spread}")
    _say(
        f"  pods/s p50 {rate.get('Perc50', 0):.0f}, p95 {rate.get('Perc95', 0):.0f}, p99 {rate.get('Perc99', 0):.0f}; "
        f"cycle us p50 {cycle.get('Perc50', 0):.0f}, p95 {cycle.get('Perc95', 0):.0f}, p99 {cycle.get('Perc99', 0):.0f}; "
        f"cpu {line['cpuMicrosecondsPerPod']:.0f} us/pod{by_cpu}{clients}"
    )
    _say(
        f"  memory {line['memoryPeakMiB']} MiB at most, {counted(line['attempts'], 'attempt')} recorded at "
        f"{line['recordedBytesPerAttempt']} bytes, set-up {line['setupSeconds']:.1f} s"
    )
    for stage, cost in line["stageMicrosecondsPerPod"].items():
        _say(f"  {cost:8.1f} us  {stage}")
    if line["belowThreshold"]:
        _say(f"  misses its threshold of {line['threshold']}")
    if rates[len(rates) // 2] < least:
        _say(f"  slower than the {least:.0f} pods/s asked for")
        return False
    return not line["belowThreshold"]


def _list(cases: Sequence[TestCase]) -> int:
    for case in cases:
        for workload in case.workloads:
            labels = f"  [{', '.join([*case.labels, *workload.labels])}]" if case.labels or workload.labels else ""
            _say(f"{case.name}/{workload.name}{labels}")
    return 0


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
