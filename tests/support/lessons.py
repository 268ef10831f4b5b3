"""Lessons of the web UI without a browser: their files, and their steps done on a virtual clock as `ui/src/learn` does."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from schedlab.apiserver.policy.bootstrap import bootstrap_access
from schedlab.kernel.errors import SchedlabError
from schedlab.laboratory import Cluster, Explanation
from tools.build_ui import ROOT

FILES: Final = sorted((ROOT / "ui" / "src" / "learn" / "lessons").glob("*.yaml"))
NAMESPACE: Final = "lesson-x7k2p"
_MARK: Final = "schedlab.dev/lesson"
_TAINT: Final = {"key": _MARK, "value": NAMESPACE, "effect": "NoSchedule"}
_TOLERATION: Final = {**_TAINT, "operator": "Equal"}
_CLUSTER_SCOPED: Final = ("Node", "PriorityClass", "ClusterRoleBinding")


def read(path: Path) -> dict[str, Any]:
    """Read a lesson with the names of a run."""
    text = path.read_text(encoding="utf-8").replace("-$RUN", NAMESPACE.removeprefix("lesson"))
    lesson: dict[str, Any] = yaml.safe_load(text)
    return lesson


def steps() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every step of every lesson with its name; its objects include those of the lesson."""
    for path in FILES:
        lesson = read(path)
        for number, step in enumerate(lesson["steps"], 1):
            yield (
                f"{path.stem}-{number}",
                {**step, "objects": [*lesson.get("objects", ()), *step.get("objects", ())]},
            )


def kept(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object that keeps to the run, as `kept` of lesson.ts does."""
    made: dict[str, Any] = copy.deepcopy(dict(given))
    if made["kind"] in _CLUSTER_SCOPED:
        labels = {**made["metadata"].get("labels", {}), _MARK: NAMESPACE}
        made["metadata"] = {**made["metadata"], "labels": labels}
    if made["kind"] == "Node":
        made["metadata"]["labels"]["kubernetes.io/hostname"] = made["metadata"]["name"]
        spec = made.get("spec", {})
        made["spec"] = {**spec, "taints": [*spec.get("taints", ()), _TAINT]}
    pod = made["spec"] if made["kind"] == "Pod" else made.get("spec", {}).get("template", {}).get("spec")
    if pod is not None:
        pod["nodeSelector"] = {**pod.get("nodeSelector", {}), _MARK: NAMESPACE}
        pod["tolerations"] = [*pod.get("tolerations", ()), _TOLERATION]
    return made


def _kept_change(given: Mapping[str, Any]) -> dict[str, Any]:
    if "uncordon" in given:
        return dict(given)
    made = {**copy.deepcopy(dict(given)), "namespace": NAMESPACE}
    if "apply" in made:
        return {**made, "apply": kept(made["apply"])}
    spec = made.get("change", {}).get("spec", {})
    if "tolerations" in spec:
        spec["tolerations"].append(_TOLERATION)
    if "taints" in spec:
        spec["taints"].append(_TAINT)
    return made


class Stage:
    """A cluster in which a step is done; `nodes` others are there as well."""

    def __init__(self, *, nodes: int, seed: int) -> None:
        self.cluster = Cluster(nodes=nodes, seed=seed)
        bootstrap_access(self.cluster.simulation.registry)
        self.cluster.simulation.run_scheduler_pods()
        self.cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
        self.cluster.run("1s")

    def make(self, objects: list[dict[str, Any]]) -> None:
        """Create objects one after the other, with time in between."""
        for given in objects:
            self.cluster.apply(kept(given), namespace=NAMESPACE)
            self.cluster.run("5s" if given["kind"] == "Deployment" else "1s")

    def outcome(self, question: Mapping[str, Any]) -> list[str]:
        """Return what the scheduler did, as `answerOf` of outcome.ts does; ties are nobody's answer."""
        told = self.first_decision(question["pod"])
        if question["asks"] == "fix":
            return [fix["name"] for fix in question["fixes"] if self._helps(fix, question["pod"])]
        if told is None:
            return ["pending"] if question["asks"] == "node" else []
        if question["asks"] == "node":
            tied = (told.data["choice"] or {"tied": []})["tied"]
            return tied if len(tied) > 1 else [told.node or "pending"]
        if question["asks"] == "plugin":
            return [told.nodes[question["node"]].plugin]
        if question["asks"] == "victims":
            victims = (told.data["preemption"] or {"victims": ()})["victims"]
            return sorted(pod.rpartition("/")[2] for pod in victims)
        totals = {name: verdict.total for name, verdict in told.nodes.items() if verdict.total is not None}
        assert len(set(totals.values())) == len(totals), f"some nodes have the same score: {totals}"
        return sorted(totals, key=lambda name: -totals[name])

    def first_decision(self, pod: str) -> Explanation | None:
        """Return the first decision about a pod; None when no scheduler took it up."""
        try:
            return self.cluster.explain(f"{NAMESPACE}/{pod}", attempt=1)
        except SchedlabError:
            return None

    def _helps(self, fix: Mapping[str, Any], pod: str) -> bool:
        done = self.cluster.what_if(*map(_kept_change, fix["changes"]), duration="30s")
        assert list(done.problems) == []
        return any(move.pod == f"{NAMESPACE}/{pod}" and move.after for move in done.moves)
