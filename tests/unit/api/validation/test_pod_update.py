"""What an update, a status, more containers or other resources may not do to a pod."""

from typing import Any

import pytest

from schedlab.api.object import Object
from tests.support.kinds import changed, container, context, pod, stored, update_errors

REQUIRED = "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution"
UPDATABLE = (
    "spec: Forbidden: pod updates may not change fields other than "
    "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only "
    "additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was "
    "previously negative)\n"
)


def running(**spec: Any) -> Object:
    return stored("pods", pod(**{"nodeName": "n", **spec}))


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        ("spec.containers.0.image", "other", []),
        (
            "spec.containers.0.image",
            " other",
            ['spec.containers[0].image: Invalid value: " other": must not have leading or trailing whitespace'],
        ),
        ("spec.activeDeadlineSeconds", 5, []),
        ("spec.tolerations", [{"key": "k", "operator": "Exists"}], []),
        ("metadata.labels", {"a": "b"}, []),
        ("metadata.uid", "other", ['metadata.uid: Invalid value: "other": field is immutable']),
        (
            "spec.schedulingGates",
            [{"name": "g"}],
            ["spec.schedulingGates[0].name: Forbidden: only deletion is allowed, but found new scheduling gate 'g'"],
        ),
        (
            "metadata.annotations",
            {"kubernetes.io/config.mirror": "x"},
            ["metadata.annotations[kubernetes.io/config.mirror]: Forbidden: may not add mirror pod annotation"],
        ),
        (
            "spec.containers",
            [
                *container(),
                {
                    "name": "d",
                    "image": "i",
                    "terminationMessagePolicy": "File",
                    "imagePullPolicy": "Always",
                    "resources": {},
                },
            ],
            None,
        ),
    ],
)
def test_what_may_change(path: str, value: Any, expected: list[str] | None) -> None:
    old = running()
    found = update_errors("pods", old, changed(old, path, value))
    if expected is None:
        assert found[-1] == "spec.containers: Forbidden: pod updates may not add or remove containers"
    else:
        assert found == expected


def test_every_other_change_is_shown_as_a_diff() -> None:
    old = running()
    assert update_errors("pods", old, changed(old, "spec.dnsPolicy", "Default")) == [
        UPDATABLE
        + '@@ -38,7 +38,7 @@\n  "RestartPolicy": "Always",\n  "TerminationGracePeriodSeconds": 30,\n'
        + '  "ActiveDeadlineSeconds": null,\n- "DNSPolicy": "ClusterFirst",\n+ "DNSPolicy": "Default",\n'
        + '  "NodeSelector": null,\n  "ServiceAccountName": "",\n  "AutomountServiceAccountToken": null,\n'
    ]


def test_deadlines_come_nearer() -> None:
    old = running(activeDeadlineSeconds=10)
    path = "spec.activeDeadlineSeconds"
    assert update_errors("pods", old, changed(old, path, 9)) == []
    assert update_errors("pods", old, changed(old, path, 11)) == [
        f"{path}: Invalid value: 11: must be less than or equal to previous value"
    ]
    assert update_errors("pods", old, changed(old, path, None)) == [
        f"{path}: Invalid value: null: must not update from a positive integer to nil value"
    ]


def test_tolerations_stay_but_for_their_seconds() -> None:
    old = running(tolerations=[{"key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}])
    assert update_errors("pods", old, changed(old, "spec.tolerations.0.tolerationSeconds", 1)) == []
    assert update_errors("pods", old, changed(old, "spec.tolerations.0.key", "other")) == [
        "spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds"
    ]


def gated(**spec: Any) -> Object:
    return stored("pods", pod(schedulingGates=[{"name": "g"}], **spec))


def test_gated_pods_can_select_fewer_nodes() -> None:
    old = gated(nodeSelector={"a": "b"})
    assert update_errors("pods", old, changed(old, "spec.nodeSelector", {"a": "b", "c": "d"})) == []
    assert update_errors("pods", old, changed(old, "spec.nodeSelector", {"a": "x"})) == [
        (
            'spec.nodeSelector: Invalid value: {"a":"x"}: only additions to spec.nodeSelector are allowed (no mutations or '
            "deletions)"
        )
    ]
    free = running()
    assert update_errors("pods", free, changed(free, "spec.nodeSelector", {"a": "b"}))[0].startswith(UPDATABLE)


def test_gated_pods_can_get_more_requirements() -> None:
    first, second = ({"key": key, "operator": "Exists"} for key in "ab")
    terms = f"spec.{REQUIRED}.nodeSelectorTerms"
    old = changed(gated(), terms, [{"matchExpressions": [first]}])
    assert update_errors("pods", gated(), old) == []
    assert update_errors("pods", old, changed(old, terms, [{"matchExpressions": [first, second]}])) == []
    shown = '{"MatchExpressions":[{"Key":"b","Operator":"Exists","Values":null}],"MatchFields":null}'
    assert update_errors("pods", old, changed(old, terms, [{"matchExpressions": [second]}])) == [
        f"{terms}[0]: Invalid value: {shown}: only additions are allowed (no mutations or deletions)"
    ]
    more = [{"matchExpressions": [first]}, {"matchExpressions": [second]}]
    assert update_errors("pods", old, changed(old, terms, more))[0].endswith(
        "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
    )


# --- Status ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        ("status.phase", "Running", ""),
        ("status.conditions", [{"type": "a b", "status": "True"}], "status.conditions[0].Type: Invalid value"),
        ("status.qosClass", "Guaranteed", 'status.qosClass: Invalid value: "Guaranteed": field is immutable'),
        (
            "status.nominatedNodeName",
            "m",
            "status.nominatedNodeName: Forbidden: may not be set on pods that are already bound to a node",
        ),
        (
            "status.observedGeneration",
            -1,
            "status.observedGeneration: Invalid value: -1: must be a non-negative integer",
        ),
        (
            "status.podIPs",
            [{"ip": "1.1.1.1"}, {"ip": "2.2.2.2"}],
            'status.podIPs: Invalid value: [{"IP":"1.1.1.1"},{"IP":"2.2.2.2"}]: may specify no more than one IP for each IP family',
        ),
        ("status.podIPs", [{"ip": "1.1.1.1"}, {"ip": "::1"}], ""),
        (
            "status.hostIPs",
            [{"ip": "1.1.1.1"}],
            'status.hostIPs[0].ip: Invalid value: "1.1.1.1": must be equal to `hostIP`',
        ),
        (
            "status.resourceClaimStatuses",
            [{"name": "x"}],
            'status.resourceClaimStatuses[0].name: Invalid value: "x": must match the name of an entry in `spec.resourceClaims`',
        ),
    ],
)
def test_status(path: str, value: Any, expected: str) -> None:
    old = running()
    found = update_errors("pods", old, changed(old, path, value), "status")
    assert [text[: len(expected)] for text in found[:1]] == ([expected] if expected else [])


@pytest.mark.parametrize(
    ("spec", "exit_code", "allowed"),
    [
        ({"restartPolicy": "Always"}, 0, True),
        ({"restartPolicy": "OnFailure"}, 0, False),
        ({"restartPolicy": "OnFailure"}, 1, True),
        ({"restartPolicy": "Never"}, 1, False),
        ({"restartPolicy": "Never", "containers": container(restartPolicy="Always")}, 0, True),
        (
            {
                "restartPolicy": "Never",
                "containers": container(
                    restartPolicy="Never",
                    restartPolicyRules=[{"action": "Restart", "exitCodes": {"operator": "In", "values": [42]}}],
                ),
            },
            42,
            True,
        ),
    ],
)
def test_ended_containers_run_again_only_where_they_are_restarted(
    spec: dict[str, Any], exit_code: int, *, allowed: bool
) -> None:
    def with_state(obj: Object, state: Object) -> Object:
        return changed(obj, "status.containerStatuses", [{"name": "c", "state": state}])

    old = with_state(running(**spec), {"terminated": {"exitCode": exit_code}})
    found = update_errors("pods", old, with_state(old, {"running": {}}), "status")
    denied = "status.containerStatuses[0].state: Forbidden: may not be transitioned to non-terminated state"
    assert found == ([] if allowed else [denied])


# --- Ephemeral containers and resources ------------------------------------------------------------------------------


def test_ephemeral_containers_only_come() -> None:
    old = running()
    debug = {**old["spec"]["containers"][0], "name": "debug"}
    more = changed(old, "spec.ephemeralContainers", [debug])
    assert update_errors("pods", old, more, "ephemeralcontainers") == []
    assert update_errors("pods", more, old, "ephemeralcontainers") == [
        'spec.ephemeralContainers: Forbidden: existing ephemeral containers "debug" may not be removed\n'
    ]
    other = changed(more, "spec.ephemeralContainers.0.image", "other")
    assert update_errors("pods", more, other, "ephemeralcontainers")[0].startswith(
        'spec.ephemeralContainers: Forbidden: existing ephemeral containers "debug" may not be changed\n@@'
    )
    target = changed(more, "spec.ephemeralContainers.0.targetContainerName", "x")
    assert update_errors("pods", old, target, "ephemeralcontainers") == [
        'spec.ephemeralContainers[0].targetContainerName: Not found: "x"'
    ]


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        ({"requests": {"cpu": "2", "memory": "2Gi"}}, []),
        (
            {"requests": {"memory": "1Gi"}},
            ["spec.containers[0].resources.requests: Forbidden: resource requests cannot be removed"],
        ),
        (
            {"requests": {"cpu": "1", "memory": "1Gi", "ephemeral-storage": "1Gi"}},
            ["spec: Forbidden: only cpu and memory resources are mutable"],
        ),
        (
            {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "1", "memory": "1Gi"}},
            ['spec: Invalid value: "Burstable": Pod QOS Class may not change as a result of resizing'],
        ),
    ],
)
def test_resize(resources: dict[str, Any], expected: list[str]) -> None:
    old = running(containers=container(resources={"requests": {"cpu": "1", "memory": "1Gi"}}))
    assert update_errors("pods", old, changed(old, "spec.containers.0.resources", resources), "resize") == expected


def test_resize_keeps_containers_and_windows_pods_as_they_are() -> None:
    old = running(containers=container(resources={"requests": {"cpu": "1"}}))
    renamed = changed(old, "spec.containers.0.name", "other")
    assert update_errors("pods", old, renamed, "resize") == [
        "spec.containers[0].name: Forbidden: containers may not be renamed or reordered on resize"
    ]
    windows = running(os={"name": "windows"})
    assert update_errors("pods", windows, windows, "resize") == ["[]: Forbidden: windows pods cannot be resized"]


def test_init_containers_are_resized_with_their_feature() -> None:
    init = [{"name": "i", "image": "i", "resources": {"requests": {"cpu": "1"}}}]
    old = running(containers=container(resources={"requests": {"cpu": "2"}}), initContainers=init)
    new = changed(old, "spec.initContainers.0.resources", {"requests": {"cpu": "2"}})
    without = context(InPlacePodVerticalScalingInitContainers=False)
    denied = "spec: Forbidden: resources for non-sidecar init containers are immutable"
    assert update_errors("pods", old, new, "resize", without) == [denied]
    assert update_errors("pods", old, new, "resize", context(InPlacePodVerticalScalingInitContainers=True)) == []
