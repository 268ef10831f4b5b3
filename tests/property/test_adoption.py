"""For any pods: one that is taken over after others like it is stored as if it had been the first.

the same pods ──► one registry for all          ──► refusals, stored bytes
             └──► a new registry for each of them ──► the same
"""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from schedlab.apimachinery.errors import StatusError
from schedlab.kernel.clock import VirtualClock
from schedlab.kernel.randomness import SeededRandom
from schedlab.registry import Registry, bootstrap
from schedlab.store import Store

Object = dict[str, Any]

_NODES = ("", "n", "ip-10-0-0-1.ec2.internal", "Upper", "x" * 70, "a" * 260)
#: What a pod from another server is rarely without, and what is wrong or not in canonical form.
_COMPLETE: Object = {
    "dnsPolicy": "ClusterFirst",
    "restartPolicy": "Always",
    "securityContext": {},
    "terminationGracePeriodSeconds": 30,
    "schedulerName": "default-scheduler",
    "enableServiceLinks": True,
}
_ODDITIES: tuple[Object, ...] = (
    {},
    {},
    {},
    {"priority": 1.0},
    {"hostNetwork": False},
    {"terminationGracePeriodSeconds": -1},
    {"nodeSelector": {"nodeName": "n"}},
    {"unknown": 1},
    {"schedulingGates": [{"name": "g"}]},
    {"ephemeralContainers": [{"name": "e", "image": "i"}]},
    {"tolerations": [{"key": "k", "operator": "Wrong"}]},
    {"restartPolicy": 5},
    {"volumes": [{"name": "kube-api-access-abcde", "emptyDir": {}}]},
)


@st.composite
def _pods(draw: st.DrawFn) -> Object:
    container: Object = {
        "name": "c",
        "image": draw(st.sampled_from(("web:1", "web:latest"))),
        "resources": draw(st.sampled_from(({}, {"requests": {"cpu": "1"}}, {"requests": {"cpu": "1000m"}}))),
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "imagePullPolicy": draw(st.sampled_from(("Always", "IfNotPresent"))),
    }
    spec = {**(draw(st.sampled_from((_COMPLETE, _COMPLETE, {})))), "containers": [container]}
    spec |= copy.deepcopy(draw(st.sampled_from(_ODDITIES)))
    node = draw(st.sampled_from(_NODES))
    if node:
        spec["nodeName"] = node
    status: Object = draw(st.sampled_from(({}, {"phase": "Running"}, {"podIP": "10.0.0.1"}, {"phase": 7})))
    annotations = draw(st.sampled_from(({}, {"container.apparmor.security.beta.kubernetes.io/x": "runtime/default"})))
    return {"metadata": {"annotations": annotations}, "spec": spec, "status": status}


def _registry() -> Registry:
    registry = Registry(Store(), VirtualClock(), SeededRandom(1))
    bootstrap(registry)
    return registry


def _adopted(registry: Registry, pod: Object) -> tuple[bytes, bytes, bytes, bytes] | str:
    try:
        return registry.adopt("pods", copy.deepcopy(pod)).segments
    except StatusError as error:
        return error.message


@settings(deadline=None)
@given(st.lists(_pods(), min_size=2, max_size=8))
def test_a_pod_is_taken_over_the_same_way_whatever_came_before(pods: list[Object]) -> None:
    one = _registry()
    for number, pod in enumerate(pods):
        pod["metadata"] |= {"name": f"p-{number}", "namespace": "default", "uid": f"uid-{number}"}

        assert _adopted(one, pod) == _adopted(_registry(), pod)
