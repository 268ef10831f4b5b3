"""Replicas change no faster than they may, and not to and fro."""

from __future__ import annotations

from typing import Any

import pytest

from schedlab.controllers.podautoscaler.behavior import (
    History,
    Limits,
    Moment,
    normalize,
    normalize_with_behavior,
    store_scaling,
)
from schedlab.kernel.clock import SECOND_NS

NOW = 1_000_000 * SECOND_NS


def ago(seconds: int, replicas: int) -> Moment:
    """Return what happened some seconds ago."""
    return Moment(replicas, NOW - seconds * SECOND_NS)


def rules(*policies: dict[str, Any], select: str = "Max", window: int | None = 0) -> dict[str, Any]:
    """Return the rules of one direction."""
    return {"policies": list(policies), "selectPolicy": select, "stabilizationWindowSeconds": window}


def pods(value: int, period: int = 60) -> dict[str, Any]:
    """Return a policy that allows so many pods in a period."""
    return {"type": "Pods", "value": value, "periodSeconds": period}


def percent(value: int, period: int = 60) -> dict[str, Any]:
    """Return a policy that allows so many percent in a period."""
    return {"type": "Percent", "value": value, "periodSeconds": period}


FREE = rules(pods(1000), percent(100))


@pytest.mark.parametrize(
    ("current", "proposed", "recent", "replicas", "able", "limited"),
    [
        (2, 2, [], 2, "ReadyForNewScale", (False, "DesiredWithinRange")),
        (2, 9, [], 4, "ReadyForNewScale", (True, "ScaleUpLimit")),
        (5, 20, [], 10, "ReadyForNewScale", (True, "TooManyReplicas")),
        (5, 0, [], 1, "ReadyForNewScale", (True, "TooFewReplicas")),
        (5, 2, [ago(299, 4)], 4, "ScaleDownStabilized", (False, "DesiredWithinRange")),
        (5, 2, [ago(301, 4)], 2, "ReadyForNewScale", (False, "DesiredWithinRange")),
    ],
)
def test_without_behavior(
    current: int, proposed: int, recent: list[Moment], replicas: int, able: str, limited: tuple[bool, str]
) -> None:
    """At most to the double or to four at once, and down only to the highest recommendation of five minutes."""
    found = normalize(History(list(recent)), Limits(1, 10, current), proposed, NOW)

    assert (found.replicas, found.able.reason) == (replicas, able)
    assert (found.limited.status, found.limited.reason) == limited


@pytest.mark.parametrize(
    ("up", "added", "replicas", "reason"),
    [
        (FREE, [], 50, "DesiredWithinRange"),
        (rules(pods(4)), [], 14, "ScaleUpLimit"),
        (rules(percent(15)), [], 12, "ScaleUpLimit"),
        (rules(pods(4), percent(100)), [], 20, "ScaleUpLimit"),
        (rules(pods(4), percent(100), select="Min"), [], 14, "ScaleUpLimit"),
        (rules(pods(4), select="Disabled"), [], 10, "ScaleUpLimit"),
        (rules(pods(4)), [ago(30, 3)], 11, "ScaleUpLimit"),
        (rules(pods(4)), [ago(90, 3)], 14, "ScaleUpLimit"),
        (rules(pods(4)), [ago(30, 9)], 10, "ScaleUpLimit"),
    ],
)
def test_policies_of_growth(up: dict[str, Any], added: list[Moment], replicas: int, reason: str) -> None:
    """What was added within a period counts; the policy that allows most is taken unless another one is asked for."""
    history = History(added=list(added))
    found = normalize_with_behavior(history, Limits(1, 100, 10), 50, {"scaleUp": up, "scaleDown": FREE}, NOW)

    assert (found.replicas, found.limited.reason) == (replicas, reason)


@pytest.mark.parametrize(
    ("down", "taken", "replicas", "reason"),
    [
        (rules(percent(100)), [], 2, "TooFewReplicas"),
        (rules(pods(4)), [], 46, "ScaleDownLimit"),
        (rules(percent(10)), [], 45, "ScaleDownLimit"),
        (rules(pods(4), percent(10), select="Min"), [], 46, "ScaleDownLimit"),
        (rules(select="Disabled"), [], 50, "ScaleDownLimit"),
        (rules(pods(4)), [ago(59, 3)], 49, "ScaleDownLimit"),
        (rules(pods(4)), [ago(60, 3)], 46, "ScaleDownLimit"),
    ],
)
def test_policies_of_shrinking(down: dict[str, Any], taken: list[Moment], replicas: int, reason: str) -> None:
    """As for growth, the other way."""
    history = History(taken=list(taken))
    found = normalize_with_behavior(history, Limits(2, 100, 50), 1, {"scaleUp": FREE, "scaleDown": down}, NOW)

    assert (found.replicas, found.limited.reason) == (replicas, reason)


@pytest.mark.parametrize(
    ("proposed", "recent", "replicas", "able"),
    [
        (20, [ago(10, 12)], 12, "ScaleUpStabilized"),
        (20, [ago(31, 12)], 20, "ReadyForNewScale"),
        (20, [ago(10, 5)], 10, "ScaleUpStabilized"),
        (5, [ago(299, 8)], 8, "ScaleDownStabilized"),
        (5, [ago(300, 8)], 5, "ReadyForNewScale"),
        (10, [], 10, "ReadyForNewScale"),
    ],
)
def test_windows(proposed: int, recent: list[Moment], replicas: int, able: str) -> None:
    """Up to the lowest recommendation of one window, down to the highest of the other; five minutes if none is given."""
    behavior = {"scaleUp": {**FREE, "stabilizationWindowSeconds": 30}, "scaleDown": rules(percent(100), window=None)}
    found = normalize_with_behavior(History(list(recent)), Limits(1, 100, 10), proposed, behavior, NOW)

    assert (found.replicas, found.able.reason) == (replicas, able)


def test_old_moments_make_room() -> None:
    """What no window and no policy asks for any more is overwritten."""
    history = History([ago(400, 1), ago(350, 2), ago(10, 3)], added=[ago(61, 5)])
    normalize(history, Limits(1, 10, 3), 3, NOW)
    store_scaling(history, {"scaleUp": rules(pods(1)), "scaleDown": FREE}, 3, 7, NOW)
    store_scaling(history, {"scaleUp": rules(pods(1)), "scaleDown": FREE}, 7, 6, NOW)
    store_scaling(history, None, 7, 6, NOW)

    assert [each.replicas for each in history.recommendations] == [1, 3, 3]
    assert history.added == [Moment(4, NOW)]
    assert history.taken == [Moment(1, NOW)]
