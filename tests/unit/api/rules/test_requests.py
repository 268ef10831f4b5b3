"""What a pod asks of a node."""

from typing import Any

import msgspec
import pytest

from schedlab.api.rules.requests import (
    SPEC_RULES,
    RequestRules,
    amounts_of,
    has_pod_level_resources,
    is_resize_deferred,
    is_resize_infeasible,
    non_zero_request,
    pod_limits,
    pod_requests,
)
from schedlab.api.views.core import Pod

MI = 1024 * 1024


def pod_of(spec: dict[str, Any], status: dict[str, Any] | None = None) -> Pod:
    return msgspec.convert({"spec": spec, "status": status or {}}, Pod)


def container(name: str = "c", *, sidecar: bool = False, limits: dict[str, str] | None = None, **requests: str) -> Any:
    out: dict[str, Any] = {"name": name, "resources": {"requests": requests, "limits": limits or {}}}
    return out | {"restartPolicy": "Always"} if sidecar else out


def status_of(name: str, requests: dict[str, str], allocated: dict[str, str], limits: Any = None) -> dict[str, Any]:
    return {
        "name": name,
        "allocatedResources": allocated,
        "resources": {"requests": requests, "limits": limits or {}},
    }


INFEASIBLE = {"type": "PodResizePending", "status": "True", "reason": "Infeasible"}
DEFERRED = {"type": "PodResizePending", "status": "True", "reason": "Deferred"}


@pytest.mark.parametrize(
    ("spec", "requests"),
    [
        pytest.param({"containers": [container()]}, {}, id="a pod that asks for nothing has no amounts"),
        pytest.param(
            {"containers": [container("a", cpu="100m", memory="1Mi"), container("b", cpu="1")]},
            {"cpu": 1100, "memory": MI},
            id="containers add up",
        ),
        pytest.param(
            {"containers": [container(cpu="1")], "initContainers": [container("i", cpu="3"), container("j", cpu="2")]},
            {"cpu": 3000},
            id="the greatest init container counts where it needs more than the containers",
        ),
        pytest.param(
            {
                "containers": [container(cpu="1")],
                "initContainers": [container("s", sidecar=True, cpu="2"), container("i", cpu="2")],
            },
            {"cpu": 4000},
            id="an init container needs its own and those of the sidecars before it",
        ),
        pytest.param(
            {
                "containers": [container(cpu="1")],
                "initContainers": [container("i", cpu="2"), container("s", sidecar=True, cpu="2")],
            },
            {"cpu": 3000},
            id="a sidecar after an init container does not add to it",
        ),
        pytest.param(
            {"containers": [container(cpu="1")], "overhead": {"cpu": "250m", "memory": "1Mi"}},
            {"cpu": 1250, "memory": MI},
            id="overhead is added, also for resources nobody asks for",
        ),
        pytest.param(
            {"containers": [container("a", memory="500m"), container("b", memory="500m")]},
            {"memory": 1},
            id="fractions add up before they are rounded",
        ),
        pytest.param(
            {"containers": [container("a", memory="1500m")]}, {"memory": 2}, id="a fraction is rounded up once"
        ),
        pytest.param(
            {
                "containers": [{"resources": {"requests": {"cpu": "1", "memory": "1Mi", "ephemeral-storage": "7"}}}],
                "resources": {"requests": {"cpu": "4", "hugepages-2Mi": "2Mi", "ephemeral-storage": "9"}},
            },
            {"cpu": 4000, "memory": MI, "ephemeral-storage": 7, "hugepages-2Mi": 2 * MI},
            id="the pod's own requests replace the sums of the resources it may speak of",
        ),
        pytest.param(
            {"containers": [container("a", memory="8Ei"), container("b", memory="1")]},
            {"memory": -(2**63)},
            id="a sum beyond an int64 wraps as upstream's does",
        ),
        pytest.param(
            {"containers": [container("a", memory="10E")]}, {"memory": 0}, id="an amount beyond an int64 is zero"
        ),
    ],
)
def test_requests_of_spec(spec: dict[str, Any], requests: dict[str, int]) -> None:
    assert pod_requests(pod_of(spec)) == requests


@pytest.mark.parametrize(
    ("status", "cpu"),
    [
        pytest.param({}, 1000, id="no status: the spec"),
        pytest.param(
            {"containerStatuses": [status_of("c", {"cpu": "3"}, {"cpu": "2"})]}, 3000, id="the greatest of all three"
        ),
        pytest.param(
            {"containerStatuses": [status_of("c", {"cpu": "100m"}, {"cpu": "2"})]}, 2000, id="allocated counts"
        ),
        pytest.param(
            {"containerStatuses": [status_of("c", {"cpu": "100m"}, {"cpu": "200m"})], "conditions": [INFEASIBLE]},
            200,
            id="a resize that can never be done leaves the spec out",
        ),
        pytest.param(
            {"containerStatuses": [status_of("c", {"cpu": "100m"}, {"cpu": "200m"})], "conditions": [DEFERRED]},
            1000,
            id="a resize that waits counts",
        ),
        pytest.param(
            {"containerStatuses": [{"name": "c", "allocatedResources": {"cpu": "5"}}]},
            1000,
            id="without applied resources a status says nothing",
        ),
    ],
)
def test_applied_resources_count_during_a_resize(status: dict[str, Any], cpu: int) -> None:
    pod = pod_of({"containers": [container(cpu="1")]}, status)

    assert pod_requests(pod) == {"cpu": cpu}
    assert pod_requests(pod, SPEC_RULES) == {"cpu": 1000}


def test_status_of_a_sidecar_counts_and_of_an_init_container_not() -> None:
    statuses = [status_of("s", {"cpu": "2"}, {}), status_of("i", {"cpu": "9"}, {})]
    spec = {
        "containers": [container(cpu="1")],
        "initContainers": [container("s", sidecar=True, cpu="1"), container("i", cpu="1")],
    }

    assert pod_requests(pod_of(spec, {"initContainerStatuses": statuses})) == {"cpu": 3000}


def test_pod_level_status_counts_as_containers_do() -> None:
    spec = {"containers": [container(cpu="1")], "resources": {"requests": {"cpu": "2", "memory": "1Mi"}}}
    status = {"resources": {"requests": {"cpu": "3"}}, "allocatedResources": {"memory": "2Mi"}}

    assert pod_requests(pod_of(spec, status)) == {"cpu": 3000, "memory": 2 * MI}
    assert pod_requests(pod_of(spec, status), RequestRules(pod_level_status=False)) == {"cpu": 2000, "memory": MI}
    assert pod_requests(pod_of(spec, status), RequestRules(pod_level=False)) == {"cpu": 1000}
    assert pod_requests(pod_of(spec, status | {"conditions": [INFEASIBLE], "allocatedResources": {}})) == {
        "cpu": 3000,
        "memory": 0,
    }


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({"containers": [container()]}, (100, 200 * MI), id="a container without requests"),
        pytest.param(
            {"containers": [container("a"), container("b", cpu="1")]},
            (1100, 400 * MI),
            id="each container has the default of each resource it leaves out",
        ),
        pytest.param({"containers": [container(cpu="0", memory="0")]}, (0, 0), id="an explicit zero stays"),
        pytest.param(
            {"containers": [container("a"), container("b")], "resources": {"requests": {"cpu": "1"}}},
            (1000, 400 * MI),
            id="what the pod itself asks for needs no default",
        ),
        pytest.param(
            {
                "containers": [container("a", memory="1Mi"), container("b")],
                "resources": {"requests": {"cpu": "1"}},
            },
            (1000, MI),
            id="with requests of its own, a default is for what no container asks for either",
        ),
        pytest.param(
            {"containers": [container("a")], "initContainers": [container("i", memory="1Gi")]},
            (100, 1024 * MI),
            id="init containers have defaults too",
        ),
    ],
)
def test_non_zero_request(spec: dict[str, Any], expected: tuple[int, int]) -> None:
    assert non_zero_request(pod_of(spec)) == expected


@pytest.mark.parametrize(
    ("spec", "limits"),
    [
        pytest.param(
            {
                "containers": [container("a", limits={"cpu": "1"}), container("b", limits={"memory": "1Mi"})],
                "overhead": {"cpu": "500m", "memory": "1Mi", "hugepages-2Mi": "2Mi"},
            },
            {"cpu": 1500, "memory": 2 * MI},
            id="overhead is added to limits that exist",
        ),
        pytest.param(
            {"containers": [container(limits={"cpu": "0"})], "overhead": {"cpu": "1"}},
            {"cpu": 0},
            id="overhead is not added to a limit of zero",
        ),
        pytest.param(
            {"containers": [container(limits={"cpu": "3"})], "resources": {"limits": {"cpu": "2"}}},
            {"cpu": 2000},
            id="the pod's own limit replaces the sum",
        ),
    ],
)
def test_limits(spec: dict[str, Any], limits: dict[str, int]) -> None:
    assert pod_limits(pod_of(spec)) == limits


def test_limits_take_what_is_applied_into_account() -> None:
    spec = {
        "containers": [container(limits={"cpu": "1"})],
        "resources": {"limits": {"memory": "1Mi"}},
    }
    status = {
        "containerStatuses": [status_of("c", {}, {}, limits={"cpu": "2"})],
        "resources": {"limits": {"memory": "3Mi"}},
    }

    assert pod_limits(pod_of(spec, status)) == {"cpu": 2000, "memory": 3 * MI}
    assert pod_limits(pod_of(spec, status), SPEC_RULES) == {"cpu": 1000, "memory": MI}


def test_parts_can_be_left_out() -> None:
    spec = {"containers": [container(cpu="1")], "resources": {"requests": {"memory": "1Mi"}}, "overhead": {"cpu": "1"}}

    assert pod_requests(pod_of(spec), RequestRules(overhead=False)) == {"cpu": 1000, "memory": MI}
    assert pod_requests(pod_of(spec), RequestRules(container_level=False)) == {"cpu": 1000, "memory": MI}
    assert has_pod_level_resources(pod_of(spec))
    assert not has_pod_level_resources(pod_of({"resources": {"requests": {"ephemeral-storage": "1"}}}))


def test_first_condition_of_the_resize_decides() -> None:
    assert is_resize_infeasible(pod_of({}, {"conditions": [INFEASIBLE]}))
    assert is_resize_deferred(pod_of({}, {"conditions": [DEFERRED]}))
    assert not is_resize_infeasible(pod_of({}))


def test_amounts_of_a_resource_list() -> None:
    assert amounts_of({"cpu": "1", "memory": "1Ki", "example.com/gpu": "2"}) == {
        "cpu": 1000,
        "memory": 1024,
        "example.com/gpu": 2,
    }
