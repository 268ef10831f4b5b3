"""What becomes of a pod before it is checked and stored."""

from typing import Any

import pytest

from schedlab.api.kinds.pod.strategy import POD
from schedlab.api.object import Object
from tests.support.kinds import NOW, changed, container, context, defaulted, pod, stored, strategy, update_errors


def test_a_minimal_pod_gets_its_defaults() -> None:
    spec = defaulted("pods", pod())["spec"]
    assert spec["restartPolicy"] == "Always"
    assert spec["dnsPolicy"] == "ClusterFirst"
    assert spec["schedulerName"] == "default-scheduler"
    assert spec["terminationGracePeriodSeconds"] == 30
    assert spec["enableServiceLinks"] is True
    assert spec["containers"][0] == {
        "name": "c",
        "image": "i",
        "resources": {},
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "imagePullPolicy": "Always",
    }


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("a", "Always"),
        ("a:latest", "Always"),
        ("a:1", "IfNotPresent"),
        ("r:5000/a", "Always"),
        ("a@sha256:" + "0" * 64, "IfNotPresent"),
    ],
)
def test_images_without_a_version_are_always_pulled(image: str, policy: str) -> None:
    spec = defaulted("pods", pod(containers=[{"name": "c", "image": image}]))["spec"]
    assert spec["containers"][0]["imagePullPolicy"] == policy


def test_limits_are_requests_too() -> None:
    resources = {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m"}}
    spec = defaulted("pods", pod(containers=container(resources=resources)))["spec"]
    assert spec["containers"][0]["resources"]["requests"] == {"cpu": "500m", "memory": "1Gi"}


def test_in_the_network_of_the_host_ports_are_its_ports() -> None:
    spec = defaulted("pods", pod(hostNetwork=True, containers=container(ports=[{"containerPort": 80}])))["spec"]
    assert spec["containers"][0]["ports"] == [{"containerPort": 80, "hostPort": 80, "protocol": "TCP"}]


def test_the_pod_asks_for_what_its_containers_ask_for() -> None:
    """Resources of the pod as a whole are completed by those of its containers."""
    spec = defaulted(
        "pods", pod(resources={"limits": {"cpu": "4"}}, containers=container(resources={"requests": {"memory": "1Gi"}}))
    )["spec"]
    assert spec["resources"]["requests"] == {"cpu": "4", "memory": "1Gi"}


def test_old_names_of_fields_are_understood() -> None:
    made = defaulted("pods", pod(serviceAccount="a", terminationGracePeriodSeconds=-5))
    assert made["spec"]["serviceAccountName"] == made["spec"]["serviceAccount"] == "a"
    assert made["spec"]["terminationGracePeriodSeconds"] == 1
    made = defaulted("pods", {**pod(), "status": {"podIP": "1.1.1.1", "podIPs": [{"ip": "2.2.2.2"}]}})
    assert made["status"]["podIPs"] == [{"ip": "1.1.1.1"}]
    made = defaulted("pods", pod({"annotations": {"pod.beta.kubernetes.io/init-containers": "x"}}))
    assert "annotations" not in made["metadata"]


@pytest.mark.parametrize(
    ("resources", "quality"),
    [
        ({}, "BestEffort"),
        ({"requests": {"cpu": "1"}}, "Burstable"),
        ({"limits": {"cpu": "1", "memory": "1Gi"}}, "Guaranteed"),
    ],
)
def test_a_new_pod_is_pending_with_its_quality_of_service(resources: Object, quality: str) -> None:
    made = stored("pods", {**pod(containers=container(resources=resources)), "status": {"phase": "Running"}})
    assert made["status"] == {"phase": "Pending", "qosClass": quality}
    assert made["metadata"]["generation"] == 1


def test_a_gated_pod_says_so() -> None:
    assert stored("pods", pod(schedulingGates=[{"name": "g"}]))["status"]["conditions"] == [
        {
            "type": "PodScheduled",
            "status": "False",
            "reason": "SchedulingGated",
            "message": "Scheduling is blocked due to non-empty scheduling gates",
            "lastProbeTime": None,
            "lastTransitionTime": NOW,
        }
    ]


def test_label_keys_become_part_of_selectors() -> None:
    term = {"topologyKey": "z", "labelSelector": {}, "matchLabelKeys": ["a", "gone"], "mismatchLabelKeys": ["b"]}
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    made = stored("pods", pod({"labels": {"a": "1", "b": "2"}}, affinity=affinity))
    selector = made["spec"]["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][0][
        "labelSelector"
    ]
    assert selector["matchExpressions"] == [
        {"key": "a", "operator": "In", "values": ["1"]},
        {"key": "b", "operator": "NotIn", "values": ["2"]},
    ]


# --- Features --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("feature", "spec", "key"),
    [
        ("GenericWorkload", {"schedulingGroup": {"podGroupName": "g"}}, "schedulingGroup"),
        ("PodLevelResources", {"resources": {"requests": {"cpu": "1"}}}, "resources"),
        ("HostnameOverride", {"hostnameOverride": "h"}, "hostnameOverride"),
    ],
)
def test_fields_of_a_feature_that_is_off_are_dropped_unless_they_were_there(
    feature: str, spec: dict[str, Any], key: str
) -> None:
    off = context(**_without(feature))
    assert key not in stored("pods", pod(**spec), off)["spec"]
    old = stored("pods", pod(**spec), context(**{feature: True}))
    assert key in old["spec"]
    assert update_errors("pods", old, changed(old, "metadata.labels", {"a": "b"}), within=off) == []


def _without(feature: str) -> dict[str, bool]:
    """Return the gates to set so that a feature is off, with all that needs it."""
    if feature != "PodLevelResources":
        return {feature: False}
    return {feature: False, "InPlacePodLevelResourcesVerticalScaling": False, "PodLevelResourceManagers": False}


def test_a_signal_that_is_dropped_takes_an_empty_lifecycle_along() -> None:
    spec: dict[str, Any] = {"os": {"name": "linux"}, "containers": container(lifecycle={"stopSignal": "SIGTERM"})}
    made = stored("pods", pod(**spec), context(ContainerStopSignals=False))
    assert "lifecycle" not in made["spec"]["containers"][0]


def test_restart_rules_that_are_off_leave_sidecars() -> None:
    spec: dict[str, Any] = {
        "containers": container(restartPolicy="Never"),
        "initContainers": [{"name": "s", "image": "i", "restartPolicy": "Always"}],
    }
    off = context(ContainerRestartRules=False, RestartAllContainersOnContainerExits=False)
    made = stored("pods", pod(**spec), off)["spec"]
    assert "restartPolicy" not in made["containers"][0]
    assert made["initContainers"][0]["restartPolicy"] == "Always"


# --- AppArmor --------------------------------------------------------------------------------------------------------

APP_ARMOR = "container.apparmor.security.beta.kubernetes.io/c"


@pytest.mark.parametrize(
    ("annotation", "profile"),
    [
        ("unconfined", {"type": "Unconfined"}),
        ("localhost/a", {"type": "Localhost", "localhostProfile": "a"}),
        ("localhost/", None),
    ],
)
def test_profiles_in_annotations_become_fields(annotation: str, profile: Object | None) -> None:
    within = context()
    made = stored("pods", pod({"annotations": {APP_ARMOR: annotation}}), within)
    assert (made["spec"]["containers"][0].get("securityContext") or {}).get("appArmorProfile") == profile
    assert within.warnings == [
        f'metadata.annotations[{APP_ARMOR}]: deprecated since v1.30; use the "appArmorProfile" field instead'
    ]


def test_a_profile_that_the_pod_has_anyway_is_not_copied() -> None:
    within = context()
    inherited = {"appArmorProfile": {"type": "RuntimeDefault"}}
    made = stored("pods", pod({"annotations": {APP_ARMOR: "runtime/default"}}, securityContext=inherited), within)
    assert "securityContext" not in made["spec"]["containers"][0]
    assert within.warnings == []


# --- Warnings --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("metadata", "spec", "expected"),
    [
        (
            {"name": "a.b"},
            {},
            [
                (
                    "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is "
                    "recommended: [must not contain dots]"
                )
            ],
        ),
        (
            {},
            {"nodeSelector": {"beta.kubernetes.io/os": "linux"}},
            ['spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead'],
        ),
        (
            {},
            {"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "k", "whenUnsatisfiable": "DoNotSchedule"}]},
            ["spec.topologySpreadConstraints[0].labelSelector: a null labelSelector results in matching no pod"],
        ),
        (
            {"annotations": {"scheduler.alpha.kubernetes.io/critical-pod": ""}},
            {},
            [
                'metadata.annotations[scheduler.alpha.kubernetes.io/critical-pod]: non-functional in v1.16+; use the "priorityClassName" field instead'
            ],
        ),
        (
            {},
            {"volumes": [{"name": "v", "gitRepo": {"repository": "r"}}]},
            ["spec.volumes[0].gitRepo: deprecated in v1.11, and disabled by default in v1.33+"],
        ),
        (
            {},
            {"imagePullSecrets": [{"name": "a"}, {"name": "a"}]},
            ['spec.imagePullSecrets[1].name: duplicate name "a"'],
        ),
        (
            {},
            {"containers": container(resources={"limits": {"memory": "500m"}})},
            [
                'spec.containers[0].resources.limits[memory]: fractional byte value "500m" is invalid, must be an integer',
                'spec.containers[0].resources.requests[memory]: fractional byte value "500m" is invalid, must be an integer',
            ],
        ),
        ({}, {"containers": container(env=[{"name": "A", "value": "x"}, {"name": "A", "value": "y$(A)"}])}, []),
        (
            {},
            {"containers": container(env=[{"name": "A", "value": "x"}, {"name": "A", "value": "y"}])},
            ['spec.containers[0].env[1]: hides previous definition of "A", which may be dropped when using apply'],
        ),
        (
            {},
            {"containers": container(ports=[{"containerPort": 1}, {"containerPort": 1}])},
            ["spec.containers[0].ports[1]: duplicate port definition with spec.containers[0].ports[0]"],
        ),
        (
            {},
            {"containers": container(ports=[{"containerPort": 1, "hostPort": 5}, {"containerPort": 1}])},
            ["spec.containers[0].ports[1]: overlapping port definition with spec.containers[0].ports[0]"],
        ),
        (
            {},
            {
                "volumes": [
                    {
                        "name": "v",
                        "configMap": {"name": "c", "items": [{"key": "a", "path": "p"}, {"key": "b", "path": "p/q"}]},
                    }
                ]
            },
            ['volume "v" (ConfigMap "c"): overlapping paths: "p/q" with "p"'],
        ),
        (
            {},
            {"dnsConfig": {"nameservers": ["FE80::1"]}},
            [
                'spec.dnsConfig.nameservers[0]: IPv6 address "FE80::1" should be in RFC 5952 canonical format ("fe80::1")'
            ],
        ),
    ],
)
def test_warnings(metadata: Object, spec: dict[str, Any], expected: list[str]) -> None:
    within = context()
    assert strategy("pods").validate(stored("pods", pod(metadata, **spec), within), within) == []
    assert within.warnings == expected


# --- The end ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "value", "wanted", "seconds"),
    [
        ("spec.nodeName", "n", None, 30),
        ("spec.nodeName", "n", 5, 5),
        ("spec.nodeName", "n", -1, 1),
        ("spec.nodeName", "", None, 0),
        ("status.phase", "Succeeded", 30, 0),
    ],
)
def test_how_long_a_deleted_pod_lives_on(path: str, value: str, wanted: int | None, seconds: int) -> None:
    assert POD.grace_period is not None
    running = changed(stored("pods", pod()), "spec.nodeName", "n")
    assert POD.grace_period(changed(running, path, value), wanted) == seconds
