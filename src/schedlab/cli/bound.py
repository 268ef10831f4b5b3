"""`schedlab bound GOAL`: what no scheduler can beat, beside what the cluster's own has achieved."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from schedlab.cli.asked_cluster import RUNNING, AskedCluster
from schedlab.cli.kube_context import NameOption
from schedlab.cli.options import read_seconds
from schedlab.kernel.errors import SchedlabError
from schedlab.kernel.words import counted


def bound(
    goal: Literal["nodes", "pods"],
    *,
    cluster: AskedCluster = RUNNING,
    scenario: Annotated[
        Path | None,
        Parameter(help="A scenario, whose cluster is asked as it is at the end, in place of a running one."),
    ] = None,
    seed: Annotated[int | None, Parameter(help="With --scenario: seed in place of its own.")] = None,
    time_limit: Annotated[
        str, Parameter(help="About how long to search; counted in work of the solver, so that answers repeat.")
    ] = "10s",
    output: Annotated[Literal["text", "json"], Parameter(name=["--output", "-o"], help="Form of the answer.")] = "text",
    name: NameOption = None,
) -> int:
    """Prove how few nodes the pods that are placed need, or how many of all pods could be placed.

    Needs the extra `optimum`. The cluster itself is not touched.

    Parameters
    ----------
    goal
        nodes: the fewest that hold all placed pods; pods: the most that can have a node.
    """
    seconds = read_seconds(time_limit, "--time-limit")
    if scenario is not None:
        if cluster.files or cluster.config is not None:
            raise SchedlabError(
                "a scenario has its own cluster", location="--scenario", hint="leave --from and --config out"
            )
        answer = _at_the_end(scenario, seed, goal, seconds)
    elif seed is not None:
        raise SchedlabError("only a scenario has a seed", location="--seed", hint="name one: --scenario")
    else:
        answer = cluster.ask(
            name,
            "/api/v1/bound",
            {"goal": goal, "timeLimit": seconds},
            lambda made: made.bound(goal, time_limit=seconds),
        )
    print(json.dumps(answer, indent=2) if output == "json" else bound_text(answer))
    return 0


def _at_the_end(file: Path, seed: int | None, goal: Literal["nodes", "pods"], seconds: int) -> dict[str, Any]:
    # Imported only here: questions to a running cluster need nothing of it.
    from schedlab.scenario.experiment import Experiment
    from schedlab.scenario.opening import open_runs
    from schedlab.scenario.source import Source
    from schedlab.whatif.optimum.bound import bound as ask

    runs = open_runs(Source(file), seed=seed)
    if len(runs) != 1 or not isinstance(runs[0], Experiment):
        raise SchedlabError(
            "is a file of scheduler_perf", location=str(file), hint="name a scenario, or ask a snapshot: --from"
        )
    runs[0].run()
    return ask(runs[0].cluster, goal, time_limit_s=seconds).data()


def bound_text(answer: Mapping[str, Any]) -> str:
    """Return the text of a bound."""
    return "\n".join(_lines(answer))


def _lines(answer: Mapping[str, Any]) -> Iterator[str]:
    yield _answer_line(answer)
    best, proven = answer["best"], answer["bound"]
    if best != answer["achieved"] and not _is_told(answer):
        what = (
            f"A placement on {counted(best, 'node')}"
            if answer["goal"] == "nodes"
            else f"A placement of {counted(best, 'pod')}"
        )
        yield f"{what} that meets what is counted is known."
    if not answer["proven"]:
        yield f"What is best lies between {min(best, proven)} and {max(best, proven)}: a gap of {_gap(best, proven)}."
    yield ""
    yield (
        f"{counted(answer['pods'], 'pod')} of {_kinds(answer['groups'])} and {counted(answer['nodes'], 'node')} of {_kinds(answer['classes'])}, "
        f"{'every node by itself' if answer['exact'] else 'equal nodes together: there are too many for each by itself'}"
    )
    yield f"counted   {'; '.join(answer['modelled'])}"
    if answer["left_out"]:
        yield f"left out  {'; '.join(answer['left_out'])}"
        yield "          Without it more is possible: the bound holds, but what is best may lie on this side of it."
    if not answer["repeatable"]:
        yield "The search was ended before its time: another time it may come farther."


def _answer_line(answer: Mapping[str, Any]) -> str:
    achieved, best = answer["achieved"], answer["best"]
    if answer["goal"] == "nodes":
        line, verb = (
            f"The scheduler uses {achieved} of {counted(answer['nodes'], 'node')} for {counted(answer['pods'], 'pod')}",
            "use fewer",
        )
        enough = f"{best} are enough"
    else:
        line, verb = f"The scheduler has placed {achieved} of {counted(answer['pods'], 'pod')}", "place more"
        enough = f"{best} can be placed"
    if answer["bound"] == achieved:
        return f"{line}; no scheduler can {verb}."
    if not _is_told(answer):
        return f"{line}; no scheduler can {verb} than {answer['bound']}."
    return f"{line}; {enough}, and no scheduler can {verb}."


def _is_told(answer: Mapping[str, Any]) -> bool:
    """Whether the best placement is known, and is one for all that filters demand."""
    return bool(answer["proven"]) and not answer["left_out"]


def _gap(best: int, proven: int) -> str:
    return f"{abs(best - proven) / max(best, proven, 1):.1%}"


def _kinds(count: int) -> str:
    return f"{count} kind{'' if count == 1 else 's'}"
