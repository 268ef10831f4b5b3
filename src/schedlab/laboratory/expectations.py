"""What a test expects of decisions; what is not so is an AssertionError that says what was decided instead, and why.

    PodExpectation(cluster, make_pod("web").req(cpu="1")).on(label="topology.kubernetes.io/zone=b")
    PodExpectation(cluster, "shop/big").pending(reason="Insufficient cpu")
    ClusterExpectation(cluster).decisions(Path("shop.decisions"))

Golden decisions are a text with one line per pod that was ever tried, in the order in which that began.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from difflib import unified_diff
from pathlib import Path
from typing import Any, Final, Self, TypeAlias

from schedlab.apimachinery import selectors
from schedlab.apimachinery.references import parse_pod
from schedlab.kernel.errors import SchedlabError
from schedlab.laboratory.cluster import Cluster, Manifest, manifest_of
from schedlab.laboratory.explanation import Explanation

#: A pod by its name, `NAME` or `NAMESPACE/NAME`, or its manifest or builder.
PodLike: TypeAlias = Manifest | str

#: About so many nodes and pods a failure says why they were not chosen.
_EXPLAINED_MAX: Final = 3


class PodExpectation:
    """What is expected of one pod. A pod that is given whole and is not there yet is applied, and the cluster comes to rest.

    Every method returns the expectation, so that they can follow each other.
    """

    def __init__(self, cluster: Cluster, pod: PodLike) -> None:
        self._cluster = cluster
        if isinstance(pod, str):
            namespace, name = parse_pod(pod, "default")
        else:
            manifest = manifest_of(pod)
            metadata = manifest.get("metadata", {})
            namespace, name = metadata.get("namespace") or "default", metadata.get("name", "")
            if not any(one["metadata"]["name"] == name for one in cluster.objects("pods", namespace=namespace)):
                cluster.apply(manifest)
                cluster.run()
        self._key = f"{namespace}/{name}"

    def on(self, *nodes: str, label: str = "") -> Self:
        """Expect the pod on one of these nodes, or on one with these labels (`disk=ssd,zone in (a,b)`); else on any."""
        __tracebackhide__ = True
        node, wanted = self._cluster.node_of(self._key), self._meant(nodes, label)
        if node not in wanted or not node:
            self._fail(f"is expected on {_named(nodes, label)}", wanted if nodes or label else ())
        return self

    def not_on(self, *nodes: str, label: str = "") -> Self:
        """Expect the pod on none of these nodes; a pod that waits is on none."""
        __tracebackhide__ = True
        if self._cluster.node_of(self._key) in self._meant(nodes, label):
            self._fail(f"is not expected on {_named(nodes, label)}", ())
        return self

    def pending(self, *, reason: str = "", plugin: str = "") -> Self:
        """Expect the pod to wait, with this text in what the scheduler says, turned down by this plugin among others."""
        __tracebackhide__ = True
        node, explanation = self._cluster.node_of(self._key), self._explanation()
        said = explanation if isinstance(explanation, str) else explanation.message
        plugins = [] if isinstance(explanation, str) else [one.plugin for one in explanation.nodes.values()]
        if node:
            self._fail("is expected to wait", ())
        elif reason not in said:
            self._fail(f"is expected to wait because of {reason!r}", ())
        elif plugin and plugin not in plugins:
            self._fail(f"is expected to be turned down by {plugin}", ())
        return self

    def _meant(self, nodes: Sequence[str], label: str) -> list[str]:
        labels = {
            node["metadata"]["name"]: node["metadata"].get("labels", {}) for node in self._cluster.objects("nodes")
        }
        for node in nodes:
            if node not in labels:
                raise SchedlabError(f"there is no node {node}", hint=f"there are: {', '.join(labels) or 'none'}")
        try:
            selector = selectors.parse(label)
        except selectors.SelectorError as error:
            raise SchedlabError(str(error), location="label", hint="write it as kubectl takes it: disk=ssd") from error
        return [name for name, found in labels.items() if (not nodes or name in nodes) and selector.matches(found)]

    def _explanation(self) -> Explanation | str:
        """Return the newest attempt, or why there is none."""
        try:
            return self._cluster.explain(self._key)
        except SchedlabError as error:
            return error.message

    def _fail(self, expected: str, wanted: Sequence[str]) -> None:
        __tracebackhide__ = True
        node, explanation = self._cluster.node_of(self._key), self._explanation()
        is_there = f"is on {node}" if node else "waits"
        lines = [f"pod {self._key} {is_there}, but {expected}"]
        if isinstance(explanation, str):
            lines.append(f"  {explanation}")
        else:
            lines.append(f"  {explanation.answer}")
            lines += [f"  {explanation.message}"] if explanation.message else []
            lines += [f"  {_why_not(explanation, name)}" for name in wanted[:_EXPLAINED_MAX]]
        raise AssertionError("\n".join(lines))


class ClusterExpectation:
    """What is expected of all decisions of a cluster. update: write golden files instead of comparing with them."""

    def __init__(self, cluster: Cluster, folder: Path = Path(), *, update: bool = False) -> None:
        self._cluster, self._folder, self._update = cluster, folder, update

    def decisions(self, file: str | Path) -> Self:
        """Expect the decisions that a golden file holds."""
        __tracebackhide__ = True
        path, now = self._folder / file, [*decision_lines(self._cluster)]
        if self._update:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(now), encoding="utf-8")
            return self
        if not path.exists():
            raise AssertionError(f"{path} is not there; --update-decisions writes it")
        golden = path.read_text(encoding="utf-8").splitlines(keepends=True)
        if now != golden:
            diff = "".join(unified_diff(golden, now, str(file), "now", n=0))
            moved = [line.partition(" ")[0] for line in now if line not in golden]
            answers = [f"{pod}: {self._cluster.explain(pod).answer}" for pod in moved[:_EXPLAINED_MAX]]
            hint = "if this is meant: --update-decisions writes the file anew"
            raise AssertionError("\n".join([f"decisions differ from {path}", diff, *answers, hint]))
        return self


def decision_lines(cluster: Cluster) -> Iterator[str]:
    """Yield the newest decision about every pod that was ever tried, one line each."""
    there = {f"{pod['metadata']['namespace']}/{pod['metadata']['name']}" for pod in cluster.objects("pods")}
    newest: dict[str, Mapping[str, Any]] = {}
    for row in cluster.table("attempts", frame="rows"):
        newest[f"{row['namespace']}/{row['pod']}"] = row
    for key, row in newest.items():
        gone = "" if key in there else " (gone)"
        what = f"-> {row['node']}" if row["result"] == "scheduled" else f"waits: {row['message']}"
        yield f"{key} {what}{gone}\n"


def _named(nodes: Sequence[str], label: str) -> str:
    names = " or ".join(nodes) or "a node"
    return f"{names} with {label}" if label else "any node" if not nodes else names


def _why_not(explanation: Explanation, node: str) -> str:
    verdict = explanation.nodes.get(node)
    if verdict is None:
        return f"{node}: was not there then"
    if verdict.verdict == "failed":
        return f"{node}: {verdict.plugin}: {', '.join(verdict.reasons)}"
    return f"{node}: passed" + ("" if verdict.total is None else f" with {verdict.total} points")
