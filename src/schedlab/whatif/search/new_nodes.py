"""One more node like those that there are, with the extended resources that no node has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from schedlab.api.object import StoredObject
from schedlab.api.rules.node_affinity import required_node_affinity
from schedlab.api.rules.taints import DO_NOT_SCHEDULE, find_untolerated
from schedlab.scheduler.framework.amounts import Resource
from schedlab.whatif.search.edits import Edit, Suggestion
from schedlab.whatif.trial import changed

if TYPE_CHECKING:
    from schedlab.api.object import Object
    from schedlab.api.views.core import Node
    from schedlab.whatif.search.case import Case

_COST: Final = 90
_TEMPLATES_MAX: Final = 5
_HOSTNAME: Final = "kubernetes.io/hostname"
_NODES: Final = "nodes"


def suggest(case: Case) -> Iterator[Suggestion]:
    """Yield one more node of the kind that there are most of, among those that would take the pod.

    Where none would, a node gets as much of extended resources as the pod asks for.
    """
    kinds = _kinds(case)
    # One after the other, since mixed clusters have as many kinds as nodes.
    for guesses in (
        ([add_node(sample, new_node(sample))] for sample in kinds if _may_take(case, sample.view)),
        ([_with_more(sample, lacking)] for sample in kinds if (lacking := _lacking_extended(case, sample.view))),
    ):
        found = case.first(guesses, _TEMPLATES_MAX)
        if found is not None:
            yield found
            return


def _kinds(case: Case) -> Sequence[StoredObject]:
    """Return one node of each kind, the most frequent first."""
    counts: dict[tuple[Any, ...], int] = {}
    samples: dict[tuple[Any, ...], str] = {}
    for info in case.table.infos:
        node = info.node
        labels = tuple(sorted(item for item in node.metadata.labels.items() if item[0] != _HOSTNAME))
        kind = (tuple(sorted(node.status.allocatable.items())), labels, node.spec.taints)
        counts[kind] = counts.get(kind, 0) + 1
        samples.setdefault(kind, info.name)
    lister = case.trial.listers.lister(_NODES)
    ranked = sorted(samples, key=lambda kind: -counts[kind])
    return [stored for kind in ranked if (stored := lister.stored(samples[kind])) is not None]


def _lacking(case: Case, node: Node) -> dict[str, int]:
    """Return what an empty node has too little of, with what the pod asks for."""
    free = Resource.of_list(node.status.allocatable)
    amounts = {"cpu": free.milli_cpu, "memory": free.memory, "ephemeral-storage": free.ephemeral_storage, **free.scalar}
    return {name: amount for name, amount in case.pod.requests.items() if amount > amounts.get(name, 0)}


def _lacking_extended(case: Case, node: Node) -> dict[str, int]:
    """Return the same if it is all of extended resources, and nothing else keeps the pod from such a node."""
    lacking = _lacking(case, node)
    return lacking if all("/" in name for name in lacking) and _lets_in(case, node) else {}


def _may_take(case: Case, node: Node) -> bool:
    return not _lacking(case, node) and _lets_in(case, node)


def _lets_in(case: Case, node: Node) -> bool:
    pod = case.pod
    taints = [taint for taint in node.spec.taints if not taint.key.startswith("node.kubernetes.io/")]
    return find_untolerated(taints, pod.pod.spec.tolerations, DO_NOT_SCHEDULE) is None and required_node_affinity(
        pod.pod
    ).matches(node)


def new_node(sample: StoredObject) -> StoredObject:
    """Return a node like another one, empty, well and with a name of its own."""
    raw = sample.thaw()
    name = f"{sample.name}-copy"
    labels = raw["metadata"].get("labels") or {}
    if _HOSTNAME in labels:
        labels[_HOSTNAME] = name
    raw["metadata"] = {"name": name, "labels": labels, "uid": name}
    spec = raw.get("spec") or {}
    taints = [taint for taint in spec.get("taints") or () if not taint["key"].startswith("node.kubernetes.io/")]
    raw["spec"] = {"taints": taints} if taints else {}
    status = raw.get("status") or {}
    raw["status"] = {key: status[key] for key in ("capacity", "allocatable") if key in status}
    return StoredObject.encode(_NODES, raw, sample.revision)


def _with_more(sample: StoredObject, amounts: dict[str, int]) -> Edit:
    """Return the edit that adds a node with so much of some resources."""

    def give(node: Object) -> None:
        for key in ("capacity", "allocatable"):
            node["status"].setdefault(key, {}).update((name, str(amount)) for name, amount in amounts.items())

    edit = add_node(sample, changed(new_node(sample), give))
    what = " and ".join(f"{amount} {name}" for name, amount in amounts.items())
    return replace(edit, summary=f"{edit.summary}, with {what}")


def add_node(sample: StoredObject, made: StoredObject) -> Edit:
    """Return the edit that adds a node."""
    manifest = _manifest(made.raw)
    return Edit(
        "new-node",
        f"one more node like {sample.name}",
        _COST,
        new_node=made,
        changes=({"apply": manifest},),
        details={"like": sample.name, "manifest": manifest},
    )


def _manifest(raw: Object) -> Object:
    meta = {key: raw["metadata"][key] for key in ("name", "labels") if raw["metadata"].get(key)}
    return {"apiVersion": "v1", "kind": "Node", "metadata": meta, "spec": raw["spec"], "status": raw["status"]}
