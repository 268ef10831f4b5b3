"""From the replicas that metrics ask for to those that are wanted now: not too fast, not to and fro, not too many.

    recommendation ──► stabilised by the recommendations before ──► no faster than the policies allow ──► min, max

Mirrors: normalizeDesiredReplicas, normalizeDesiredReplicasWithBehaviors and what they call of
pkg/controller/podautoscaler/horizontal.go (v1.36).
Differs: nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from schedlab.kernel.clock import SECOND_NS

DOWNSCALE_STABILIZATION_S: Final = 300
_UP_FACTOR: Final = 2.0
_UP_MIN: Final = 4.0
_INT32_MAX: Final = 2**31 - 1

#: A direction of an autoscaler's behavior.
Rules = Mapping[str, Any]


@dataclass(slots=True)
class Moment:
    """A number of replicas at some time: recommended then, or added or taken then."""

    replicas: int
    when_ns: int


@dataclass(slots=True)
class History:
    """What is remembered of one autoscaler."""

    recommendations: list[Moment] = field(default_factory=list)
    added: list[Moment] = field(default_factory=list)
    taken: list[Moment] = field(default_factory=list)


class Limits(NamedTuple):
    """Between which numbers replicas are to stay, and how many there are."""

    least: int
    most: int
    current: int


class Verdict(NamedTuple):
    """A condition of an autoscaler: whether it is true, and why."""

    status: bool
    reason: str
    message: str


class Normalized(NamedTuple):
    """The wanted replicas, and the conditions AbleToScale and ScalingLimited."""

    replicas: int
    able: Verdict
    limited: Verdict


_READY: Final = Verdict(status=True, reason="ReadyForNewScale", message="recommended size matches current size")
_WITHIN: Final = ("DesiredWithinRange", "the desired count is within the acceptable range")
_UP_LIMIT: Final = ("ScaleUpLimit", "the desired replica count is increasing faster than the maximum scale rate")
_DOWN_LIMIT: Final = ("ScaleDownLimit", "the desired replica count is decreasing faster than the maximum scale rate")
_TOO_MANY: Final = ("TooManyReplicas", "the desired replica count is more than the maximum replica count")
_TOO_FEW: Final = ("TooFewReplicas", "the desired replica count is less than the minimum replica count")
_HIGHER: Final = (
    "ScaleDownStabilized",
    "recent recommendations were higher than current one, applying the highest recent recommendation",
)
_LOWER: Final = (
    "ScaleUpStabilized",
    "recent recommendations were lower than current one, applying the lowest recent recommendation",
)


def normalize(history: History, limits: Limits, proposed: int, now_ns: int) -> Normalized:
    """Return the wanted replicas of an autoscaler that says nothing of its behavior."""
    cutoff_ns = now_ns - DOWNSCALE_STABILIZATION_S * SECOND_NS
    stable = max([proposed, *(each.replicas for each in history.recommendations if each.when_ns >= cutoff_ns)])
    _record(history.recommendations, Moment(proposed, now_ns), cutoff_ns)
    able = _READY if stable == proposed else Verdict(True, *_HIGHER)
    fastest = int(max(_UP_FACTOR * limits.current, _UP_MIN))
    most, why = (fastest, _UP_LIMIT) if limits.most > fastest else (limits.most, _TOO_MANY)
    if stable < limits.least:
        return _limited(limits.least, stable, able, _TOO_FEW)
    if stable > most:
        return _limited(most, stable, able, why)
    return _limited(stable, stable, able, _WITHIN)


def normalize_with_behavior(
    history: History, limits: Limits, proposed: int, behavior: Mapping[str, Rules], now_ns: int
) -> Normalized:
    """Return the wanted replicas of an autoscaler with rules for both directions."""
    stable = _stabilize(history, limits.current, proposed, behavior, now_ns)
    why = _LOWER if proposed >= limits.current else _HIGHER
    able = _READY if stable == proposed else Verdict(True, *why)
    if stable > limits.current:
        fastest = max(_highest(history, limits.current, behavior["scaleUp"], now_ns), limits.current)
        most, why = (fastest, _UP_LIMIT) if limits.most > fastest else (limits.most, _TOO_MANY)
        if stable > most:
            return _limited(most, stable, able, why)
    elif stable < limits.current:
        fastest = min(_lowest(history, limits.current, behavior["scaleDown"], now_ns), limits.current)
        least, why = (fastest, _DOWN_LIMIT) if limits.least < fastest else (limits.least, _TOO_FEW)
        if stable < least:
            return _limited(least, stable, able, why)
    return _limited(stable, stable, able, _WITHIN)


def store_scaling(history: History, behavior: Mapping[str, Rules] | None, before: int, after: int, now_ns: int) -> None:
    """Remember a change of the replicas for as long as a policy asks for it."""
    if behavior is None:
        return
    direction, events = ("scaleUp", history.added) if after > before else ("scaleDown", history.taken)
    longest_s = max((each["periodSeconds"] for each in behavior[direction].get("policies") or ()), default=0)
    _record(events, Moment(abs(after - before), now_ns), now_ns - longest_s * SECOND_NS)


def _limited(replicas: int, stable: int, able: Verdict, why: tuple[str, str]) -> Normalized:
    return Normalized(replicas, able, Verdict(replicas != stable, *why))


def _record(moments: list[Moment], new: Moment, cutoff_ns: int) -> None:
    """Add a moment in place of one that is not needed any more."""
    for index in range(len(moments) - 1, -1, -1):
        if moments[index].when_ns < cutoff_ns:
            moments[index] = new
            return
    moments.append(new)


def _stabilize(history: History, current: int, proposed: int, behavior: Mapping[str, Rules], now_ns: int) -> int:
    """Return the number nearest to the current one between the recommendations of both windows."""
    up_ns = now_ns - _window_s(behavior["scaleUp"], 0) * SECOND_NS
    down_ns = now_ns - _window_s(behavior["scaleDown"], DOWNSCALE_STABILIZATION_S) * SECOND_NS
    known = history.recommendations
    lowest = min([proposed, *(each.replicas for each in known if each.when_ns > up_ns)])
    highest = max([proposed, *(each.replicas for each in known if each.when_ns > down_ns)])
    _record(known, Moment(proposed, now_ns), min(up_ns, down_ns))
    return min(max(current, lowest), highest)


def _window_s(rules: Rules, default: int) -> int:
    seconds = rules.get("stabilizationWindowSeconds")
    return default if seconds is None else int(seconds)


def _highest(history: History, current: int, rules: Rules, now_ns: int) -> int:
    """Return how many replicas there may be at most when they grow."""
    choose = rules.get("selectPolicy")
    if choose == "Disabled":
        return current
    proposals = []
    for policy in rules.get("policies") or ():
        start = _at_start(history, current, policy, now_ns)
        if policy["type"] == "Pods":
            proposals.append(start + policy["value"])
        else:
            # Rounded up: a small number would never grow otherwise.
            proposals.append(math.ceil(start * (1 + policy["value"] / 100)))
    if choose == "Min":
        return min(proposals, default=_INT32_MAX)
    return max(proposals, default=-_INT32_MAX)


def _lowest(history: History, current: int, rules: Rules, now_ns: int) -> int:
    """Return how many replicas there must be at least when they shrink."""
    choose = rules.get("selectPolicy")
    if choose == "Disabled":
        return current
    proposals = []
    for policy in rules.get("policies") or ():
        start = _at_start(history, current, policy, now_ns)
        if policy["type"] == "Pods":
            proposals.append(start - policy["value"])
        else:
            proposals.append(int(start * (1 - policy["value"] / 100)))
    if choose == "Min":
        return max(proposals, default=-_INT32_MAX)
    return min(proposals, default=_INT32_MAX)


def _at_start(history: History, current: int, policy: Mapping[str, Any], now_ns: int) -> int:
    """Return how many replicas there were when the period of a policy began."""
    since_ns = now_ns - policy["periodSeconds"] * SECOND_NS
    return current - _sum_since(history.added, since_ns) + _sum_since(history.taken, since_ns)


def _sum_since(moments: Sequence[Moment], since_ns: int) -> int:
    return sum(each.replicas for each in moments if each.when_ns > since_ns)
