"""The quality-of-service class of a pod."""

from typing import Any

import msgspec
import pytest

from schedlab.api.rules.qos import BEST_EFFORT, BURSTABLE, GUARANTEED, computed_qos_class, qos_class
from schedlab.api.views.core import Pod

BOTH = {"cpu": "1", "memory": "1Gi"}


def resources(requests: dict[str, str], limits: dict[str, str]) -> dict[str, Any]:
    return {"resources": {"requests": requests, "limits": limits}}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"containers": [{}]}, BEST_EFFORT),
        ({"containers": [resources({"example.com/gpu": "1"}, {"example.com/gpu": "1"})]}, BEST_EFFORT),
        ({"containers": [resources({"cpu": "0"}, {})]}, BEST_EFFORT),
        ({"containers": [resources({"cpu": "1"}, {})]}, BURSTABLE),
        ({"containers": [resources(BOTH, BOTH)]}, GUARANTEED),
        ({"containers": [resources({"cpu": "1000m", "memory": "1024Mi"}, BOTH)]}, GUARANTEED),
        ({"containers": [resources({"cpu": "500m", "memory": "1Gi"}, BOTH)]}, BURSTABLE),
        ({"containers": [resources(BOTH, BOTH), {}]}, BURSTABLE),
        ({"containers": [resources(BOTH, BOTH)], "initContainers": [resources(BOTH, BOTH)]}, GUARANTEED),
        ({"containers": [resources(BOTH, BOTH)], "initContainers": [{}]}, BURSTABLE),
        ({"containers": [resources({}, BOTH)]}, BURSTABLE),
        ({"containers": [resources({"cpu": "1"}, {"cpu": "1"})]}, BURSTABLE),
        ({"containers": [resources(BOTH, BOTH)], **resources({}, {})}, BEST_EFFORT),
        ({"containers": [{}], **resources(BOTH, BOTH)}, GUARANTEED),
        ({"containers": [{}], **resources(BOTH, {})}, BURSTABLE),
        ({"containers": [{}], **resources({"cpu": "1"}, {"cpu": "1"})}, BURSTABLE),
    ],
)
def test_class_follows_from_requests_and_limits(spec: dict[str, Any], expected: str) -> None:
    """Guaranteed needs equal requests and limits of both resources everywhere, best effort none of either."""
    assert computed_qos_class(msgspec.convert({"spec": spec}, Pod)) == expected


def test_without_pod_level_resources_only_containers_count() -> None:
    pod = msgspec.convert({"spec": {"containers": [{}], **resources(BOTH, BOTH)}}, Pod)

    assert computed_qos_class(pod, pod_level=False) == BEST_EFFORT


def test_class_in_the_status_wins() -> None:
    pod = msgspec.convert({"spec": {"containers": [{}]}, "status": {"qosClass": "Guaranteed"}}, Pod)

    assert qos_class(pod) == GUARANTEED
    assert qos_class(msgspec.convert({"spec": {"containers": [{}]}}, Pod)) == BEST_EFFORT
