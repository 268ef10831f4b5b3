"""The answers of HTTP extenders, read as kube-scheduler reads them: keys in any case, values of the right types.

Mirrors: staging/src/k8s.io/kube-scheduler/extender/v1/types.go (v1.36), and how encoding/json finds the fields of a struct.
Differs: what is wrong with a value is told in other words than encoding/json's.
"""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

import msgspec

from schedlab.api.views.core import Node

Int64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]


class NodeList(msgspec.Struct):
    """Whole nodes."""

    items: tuple[Node, ...] = ()


class FilterAnswer(msgspec.Struct, rename="pascal"):
    """ExtenderFilterResult; `nodes` and `node_names` are None when they were not sent."""

    nodes: NodeList | None = None
    node_names: tuple[str, ...] | None = None
    failed_nodes: dict[str, str] = {}
    failed_and_unresolvable_nodes: dict[str, str] = {}
    error: str = ""


class HostPriority(msgspec.Struct, rename="pascal"):
    """A node's score."""

    host: str = ""
    score: Int64 = 0


class MetaPod(msgspec.Struct):
    """A victim."""

    uid: str = msgspec.field(default="", name="UID")


class MetaVictims(msgspec.Struct):
    """The victims on one node."""

    pods: tuple[MetaPod, ...] = msgspec.field(default=(), name="Pods")
    pdb_violations: Int64 = msgspec.field(default=0, name="NumPDBViolations")


class PreemptionAnswer(msgspec.Struct, rename="pascal"):
    """ExtenderPreemptionResult: victims by node."""

    node_name_to_meta_victims: dict[str, MetaVictims] = {}


class BindingAnswer(msgspec.Struct, rename="pascal"):
    """ExtenderBindingResult."""

    error: str = ""


Answer = TypeVar("Answer")


def read_filter(result: Any) -> FilterAnswer | str:
    """Return the decoded JSON of an answer; a text says what is wrong with it. No answer (null) is an empty one."""
    named = _named(result, FilterAnswer)
    if isinstance(named, dict):
        if "Nodes" in named:
            named["Nodes"] = _named(named["Nodes"], NodeList)
        for field in ("FailedNodes", "FailedAndUnresolvableNodes"):
            if isinstance(named.get(field), dict):
                named[field] = {node: "" if text is None else text for node, text in named[field].items()}
    return _convert(named, FilterAnswer)


def read_scores(result: Any) -> list[HostPriority] | str:
    """Return the scores of an answer; a text says what is wrong with it."""
    return _convert([] if result is None else _each_named(result, HostPriority), list[HostPriority])


def read_preemption(result: Any) -> PreemptionAnswer | str:
    """Return the victims of an answer; a text says what is wrong with it."""
    named = _named(result, PreemptionAnswer)
    if isinstance(named, dict) and isinstance(named.get("NodeNameToMetaVictims"), dict):
        victims = named["NodeNameToMetaVictims"]
        named["NodeNameToMetaVictims"] = {node: _named_victims(each) for node, each in victims.items()}
    return _convert(named, PreemptionAnswer)


def _named_victims(victims: Any) -> Any:
    named = _named(victims, MetaVictims)
    if isinstance(named, dict) and "Pods" in named:
        named["Pods"] = _each_named(named["Pods"], MetaPod)
    return named


def read_binding(result: Any) -> BindingAnswer | str:
    """Return the result of an answer; a text says what is wrong with it."""
    return _convert(_named(result, BindingAnswer), BindingAnswer)


def _named(raw: Any, kind: type[msgspec.Struct]) -> Any:
    """Give the keys of a mapping the case of a struct's; the last of several that are one counts, unless it is null.

    Nothing (null) is an empty mapping.
    """
    if raw is None:
        return {}
    if not isinstance(raw, dict):
        return raw
    names = {name.lower(): name for name in kind.__struct_encode_fields__}
    return {names.get(key.lower(), key): value for key, value in raw.items() if value is not None}


def _each_named(raw: Any, kind: type[msgspec.Struct]) -> Any:
    return [_named(each, kind) for each in raw] if isinstance(raw, list) else raw


def _convert(named: Any, kind: type[Answer]) -> Answer | str:
    try:
        return msgspec.convert(named, kind)
    except msgspec.ValidationError:
        # Nulls deep inside are rare, and whole nodes are much to go through.
        pass
    try:
        return msgspec.convert(_without_nulls(named), kind)
    except msgspec.ValidationError as wrong:
        return f"json: cannot read the answer: {wrong}"


def _without_nulls(raw: Any) -> Any:
    if isinstance(raw, dict):
        return {key: _without_nulls(value) for key, value in raw.items() if value is not None}
    return [_without_nulls({} if each is None else each) for each in raw] if isinstance(raw, list) else raw
