"""Assertions: made ready, and judged on a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from operator import eq, ge, gt, le, lt
from typing import TYPE_CHECKING, Final

from schedlab.kernel.words import counted
from schedlab.scenario.metrics import hint_for, metric_of
from schedlab.scenario.mistakes import Path as Place
from schedlab.scenario.model import Assertion, Scenario
from schedlab.scenario.plan import Check
from schedlab.scenario.reader import Reader

if TYPE_CHECKING:
    from schedlab.api.views.core import Node, Pod

_BOUNDS: Final[Mapping[str, tuple[str, Callable[[float, float], bool]]]] = {
    "below": ("<", lt),
    "at_most": ("<=", le),
    "at_least": (">=", ge),
    "above": (">", gt),
    "equals": ("=", eq),
}
_EXPECTATIONS: Final = ("on_nodes", "not_on_nodes", "scheduled", "pending", "count")
_SHOWN_MAX: Final = 5


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether an assertion holds, and what was found; `place` is where it stands in the file.

    pods: those that are not as they should be, `NAMESPACE/NAME`.
    """

    text: str
    place: str
    holds: bool
    found: str
    pods: tuple[str, ...] = ()


# --- Reading ---------------------------------------------------------------------------------------------------------


def compile_checks(scenario: Scenario, reader: Reader) -> list[Check]:
    """Return the assertions with what their texts mean."""
    return [_compile(("assertions", number), one, reader) for number, one in enumerate(scenario.assertions)]


def _compile(place: Place, one: Assertion, reader: Reader) -> Check:
    bounds = [name for name in _BOUNDS if getattr(one, name) is not None]
    expected = [name for name in _EXPECTATIONS if getattr(one, name) is not None]
    if (one.metric is None) == (one.pods is None):
        reader.wrong(place, "is about neither a metric nor pods, or about both", "give one of metric, pods")
    elif one.metric is not None:
        if metric_of(one.metric) is None:
            reader.wrong((*place, "metric"), f"there is no metric {one.metric}", hint_for(one.metric))
        if not bounds or expected:
            reader.wrong(place, "says not what must hold", "give below, atMost, atLeast, above or equals, nothing else")
    elif not expected or bounds:
        reader.wrong(
            place, "says not what must hold", "give onNodes, notOnNodes, scheduled, pending or count, nothing else"
        )
    selector = None
    if one.pods is not None and one.pods.selector is not None:
        selector = reader.selector((*place, "pods", "selector"), one.pods.selector)
    return Check(
        one,
        None if one.at is None else reader.moment((*place, "at"), one.at),
        _text(one, bounds, expected),
        f"{place[0]}[{place[1]}]",
        selector,
        None if one.on_nodes is None else reader.node_set((*place, "onNodes"), one.on_nodes),
        None if one.not_on_nodes is None else reader.node_set((*place, "notOnNodes"), one.not_on_nodes),
    )


def _text(one: Assertion, bounds: Iterable[str], expected: Sequence[str]) -> str:
    at = f"at {one.at}: " if one.at else ""
    if one.pods is None:
        return f"{at}{one.metric} {' and '.join(f'{_BOUNDS[name][0]} {getattr(one, name):g}' for name in bounds)}"
    named = [one.pods.namespace, one.pods.name, one.pods.selector]
    which = " ".join(part for part in named if part) or "all"
    words = {
        "count": f"are {one.count}",
        "scheduled": "are scheduled" if one.scheduled else "wait",
        "pending": f"wait for {one.pending}",
        "on_nodes": f"are on {one.on_nodes}",
        "not_on_nodes": f"are not on {one.not_on_nodes}",
    }
    return f"{at}pods {which} {', '.join(text for name, text in words.items() if name in expected)}"


# --- Judging ---------------------------------------------------------------------------------------------------------


def judge_metric(check: Check, value: float | None) -> Verdict:
    """Say whether a metric is within its bounds; one that was not measured is not."""
    if value is None:
        return Verdict(check.text, check.place, holds=False, found="it was not measured")
    bounds = [(getattr(check.assertion, name), holds) for name, (_, holds) in _BOUNDS.items()]
    holds = all(within(value, bound) for bound, within in bounds if bound is not None)
    return Verdict(check.text, check.place, holds, f"it is {value:g}")


def judge_pods(
    check: Check, pods: Iterable[Pod], nodes: Mapping[str, Node], message_of: Callable[[str], str]
) -> Verdict:
    """Say whether pods are as they should be; `message_of(uid)` is what the last attempt of a pod that waits said."""
    chosen = [pod for pod in pods if _is_meant(check, pod)]
    wanted = check.assertion.count
    if wanted is not None and len(chosen) != wanted:
        return Verdict(check.text, check.place, holds=False, found=f"there are {len(chosen)}")
    if not chosen:
        nothing_else = wanted == 0
        return Verdict(check.text, check.place, nothing_else, "there are none")
    faults = {
        f"{pod.metadata.namespace}/{pod.metadata.name}": found
        for pod in chosen
        if (found := _fault(check, pod, nodes, message_of))
    }
    if not faults:
        return Verdict(check.text, check.place, holds=True, found=counted(len(chosen), "pod"))
    more = f" and {len(faults) - _SHOWN_MAX} more" if len(faults) > _SHOWN_MAX else ""
    found = f"{'; '.join([*faults.values()][:_SHOWN_MAX])}{more}"
    return Verdict(check.text, check.place, holds=False, found=found, pods=tuple(faults))


def _is_meant(check: Check, pod: Pod) -> bool:
    wanted, metadata = check.assertion.pods, pod.metadata
    assert wanted is not None, "asked of assertions about pods only"
    return (
        wanted.namespace in (None, metadata.namespace)
        and (wanted.name is None or fnmatchcase(metadata.name, wanted.name))
        and (check.selector is None or check.selector.matches(metadata.labels))
    )


def _fault(check: Check, pod: Pod, nodes: Mapping[str, Node], message_of: Callable[[str], str]) -> str:
    """Say what is wrong with a pod, "" when nothing is."""
    node, key = pod.spec.node_name, f"{pod.metadata.namespace}/{pod.metadata.name}"
    labels = nodes[node].metadata.labels if node in nodes else {}
    one = check.assertion
    if one.scheduled is not None and bool(node) != one.scheduled:
        return f"{key} is on {node}" if node else f"{key} waits: {message_of(pod.metadata.uid)}"
    if check.on is not None and not (node and check.on.holds(node, labels)):
        return f"{key} is on {node}" if node else f"{key} waits: {message_of(pod.metadata.uid)}"
    if check.not_on is not None and node and check.not_on.holds(node, labels):
        return f"{key} is on {node}"
    if one.pending is not None:
        if node:
            return f"{key} is on {node}"
        message = message_of(pod.metadata.uid)
        return "" if one.pending in message else f"{key} waits: {message}"
    return ""
