"""Kinds that make pods: defaults, what is wrong with them, what may change, and what is counted."""

from typing import Any

import pytest

from schedlab.api.object import Object
from tests.support.kinds import POD_SPEC, changed, context, create_errors, stored, strategy, update_errors

DEPLOYMENT = "deployments.apps"
REPLICA_SET = "replicasets.apps"
CONTROLLER = "replicationcontrollers"
DAEMON_SET = "daemonsets.apps"
STATEFUL_SET = "statefulsets.apps"
REVISION = "controllerrevisions.apps"
LABELS = {"a": "b"}
OTHER = {"matchLabels": {"c": "d"}}
TEMPLATE = {"metadata": {"labels": LABELS}, "spec": POD_SPEC}
FINITE = {**TEMPLATE, "spec": {**POD_SPEC, "restartPolicy": "Never", "activeDeadlineSeconds": 1}}


def workload(**spec: Any) -> Object:
    known = {"selector": {"matchLabels": LABELS}, "template": TEMPLATE}
    return {"metadata": {"name": "x", "namespace": "n"}, "spec": {**known, **spec}}


def controller(**spec: Any) -> Object:
    return workload(**{"selector": LABELS, **spec})


def rolling(**amounts: Any) -> Object:
    return {"type": "RollingUpdate", "rollingUpdate": amounts}


def revision(**fields: Any) -> Object:
    return {"metadata": {"name": "x", "namespace": "n"}, **fields}


def prepared(resource: str, path: str, value: Any) -> Object:
    """Return a workload after an update of one field."""
    old = stored(resource, workload())
    new = changed(old, path, value)
    strategy(resource).update.prepare(new, old, context())
    return new


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (workload(), []),
        (workload(selector={}), ["spec.selector: Invalid value: {}: empty selector is invalid for deployment"]),
        (
            workload(selector=OTHER),
            ['spec.template.metadata.labels: Invalid value: {"a":"b"}: `selector` does not match template `labels`'],
        ),
        (workload(replicas=-1), ["spec.replicas: Invalid value: -1: must be greater than or equal to 0"]),
        (
            workload(strategy={"type": "Other"}),
            [
                (
                    'spec.strategy: Unsupported value: {"Type":"Other","RollingUpdate":null}: supported '
                    'values: "Recreate", "RollingUpdate"'
                )
            ],
        ),
        (
            workload(strategy={"type": "Recreate", "rollingUpdate": {}}),
            ["spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'"],
        ),
        (
            workload(strategy=rolling(maxSurge=0, maxUnavailable=0)),
            ["spec.strategy.rollingUpdate.maxUnavailable: Invalid value: 0: may not be 0 when `maxSurge` is 0"],
        ),
        (
            workload(strategy=rolling(maxSurge="x", maxUnavailable="110%")),
            [
                (
                    'spec.strategy.rollingUpdate.maxSurge: Invalid value: "x": a valid percent string '
                    "must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex "
                    "used for validation is '[0-9]+%')"
                ),
                'spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "110%": must not be greater than 100%',
            ],
        ),
        (
            workload(minReadySeconds=10, progressDeadlineSeconds=5),
            ["spec.progressDeadlineSeconds: Invalid value: 5: must be greater than minReadySeconds"],
        ),
        (
            workload(revisionHistoryLimit=-1),
            ["spec.revisionHistoryLimit: Invalid value: -1: must be greater than or equal to 0"],
        ),
        (
            workload(template=FINITE),
            [
                'spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"',
                (
                    "spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in "
                    "ReplicaSet is not Supported"
                ),
            ],
        ),
    ],
)
def test_deployments(obj: Object, expected: list[str]) -> None:
    assert create_errors(DEPLOYMENT, obj) == expected


@pytest.mark.parametrize(
    ("path", "value", "subresource", "expected"),
    [
        ("spec.replicas", 3, "", []),
        (
            "spec.selector",
            OTHER,
            "",
            [
                'spec.template.metadata.labels: Invalid value: {"a":"b"}: `selector` does not match template `labels`',
                'spec.selector: Invalid value: {"matchLabels":{"c":"d"}}: field is immutable',
            ],
        ),
        (
            "status",
            {"replicas": 1, "updatedReplicas": 2, "readyReplicas": 0, "availableReplicas": 1},
            "status",
            [
                "status.updatedReplicas: Invalid value: 2: cannot be greater than status.replicas",
                "status.availableReplicas: Invalid value: 1: cannot be greater than readyReplicas",
            ],
        ),
        (
            "status.replicas",
            -1,
            "status",
            [
                "status.replicas: Invalid value: -1: must be greater than or equal to 0",
                "status.updatedReplicas: Invalid value: 0: cannot be greater than status.replicas",
                "status.readyReplicas: Invalid value: 0: cannot be greater than status.replicas",
                "status.availableReplicas: Invalid value: 0: cannot be greater than status.replicas",
            ],
        ),
    ],
)
def test_updates_of_deployments(path: str, value: Any, subresource: str, expected: list[str]) -> None:
    old = stored(DEPLOYMENT, workload())
    assert update_errors(DEPLOYMENT, old, changed(old, path, value), subresource) == expected


def test_a_deployment_rolls_out_by_default() -> None:
    spec = stored(DEPLOYMENT, workload())["spec"]
    assert spec["strategy"] == {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"}}
    assert (spec["replicas"], spec["revisionHistoryLimit"], spec["progressDeadlineSeconds"]) == (1, 10, 600)


@pytest.mark.parametrize("resource", [DEPLOYMENT, REPLICA_SET, DAEMON_SET, STATEFUL_SET])
def test_a_generation_counts_changes_of_the_spec_and_the_status_is_not_the_users(resource: str) -> None:
    assert stored(resource, workload())["metadata"]["generation"] == 1
    assert prepared(resource, "metadata.labels", {"l": "v"})["metadata"]["generation"] == 1
    assert prepared(resource, "spec.minReadySeconds", 1)["metadata"]["generation"] == 2
    assert prepared(resource, "status.observedGeneration", 9)["status"] == stored(resource, workload())["status"]


@pytest.mark.parametrize("resource", [DEPLOYMENT, REPLICA_SET, DAEMON_SET, STATEFUL_SET])
def test_odd_templates_are_warned_of_when_the_template_is_new(resource: str) -> None:
    odd = {**TEMPLATE, "spec": {**POD_SPEC, "nodeSelector": {"beta.kubernetes.io/os": "x"}}}
    within = context()
    strategy(resource).validate(stored(resource, workload(template=odd)), within)
    expected = (
        'spec.template.spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead'
    )
    assert within.warnings == [expected]
    old, within = stored(resource, workload(template=odd)), context()
    strategy(resource).update.validate(old, old, within)
    assert within.warnings == []


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (workload(), []),
        (workload(selector={}), ["spec.selector: Invalid value: {}: empty selector is invalid for deployment"]),
        (
            workload(replicas=-1, minReadySeconds=-1),
            [
                "spec.replicas: Invalid value: -1: must be greater than or equal to 0",
                "spec.minReadySeconds: Invalid value: -1: must be greater than or equal to 0",
            ],
        ),
        (
            workload(template=FINITE),
            [
                'spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"',
                (
                    "spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in "
                    "ReplicaSet is not Supported"
                ),
            ],
        ),
    ],
)
def test_replica_sets(obj: Object, expected: list[str]) -> None:
    assert create_errors(REPLICA_SET, obj) == expected


@pytest.mark.parametrize(
    ("path", "value", "subresource", "expected"),
    [
        (
            "spec.selector",
            OTHER,
            "",
            [
                'spec.template.metadata.labels: Invalid value: {"a":"b"}: `selector` does not match template `labels`',
                'spec.selector: Invalid value: {"matchLabels":{"c":"d"}}: field is immutable',
            ],
        ),
        (
            "status",
            {"replicas": 1, "readyReplicas": 2, "availableReplicas": 3},
            "status",
            [
                "status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas",
                "status.availableReplicas: Invalid value: 3: cannot be greater than status.replicas",
                "status.availableReplicas: Invalid value: 3: cannot be greater than readyReplicas",
            ],
        ),
    ],
)
def test_updates_of_replica_sets(path: str, value: Any, subresource: str, expected: list[str]) -> None:
    old = stored(REPLICA_SET, workload())
    assert update_errors(REPLICA_SET, old, changed(old, path, value), subresource) == expected


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (controller(), []),
        (controller(template=None), ["spec.template: Required value"]),
        (
            controller(selector={"c": "d"}),
            ['spec.template.metadata.labels: Invalid value: {"a":"b"}: `selector` does not match template `labels`'],
        ),
        (controller(replicas=-1), ["spec.replicas: Invalid value: -1: must be greater than or equal to 0"]),
    ],
)
def test_replication_controllers(obj: Object, expected: list[str]) -> None:
    assert create_errors(CONTROLLER, obj) == expected


def test_a_replication_controller_selects_its_template_by_default() -> None:
    made = stored(CONTROLLER, controller(selector=None))
    assert (made["spec"]["selector"], made["metadata"]["labels"]) == (LABELS, LABELS)


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (workload(), []),
        (workload(selector={}), ["spec.selector: Invalid value: {}: empty selector is invalid for daemonset"]),
        (
            workload(updateStrategy={"type": "Other"}),
            [
                (
                    'spec.updateStrategy: Unsupported value: {"Type":"Other","RollingUpdate":null}: '
                    'supported values: "RollingUpdate", "OnDelete"'
                )
            ],
        ),
        (
            workload(updateStrategy=rolling(maxUnavailable=0, maxSurge=0)),
            ["spec.updateStrategy.rollingUpdate.maxUnavailable: Required value: cannot be 0 when maxSurge is 0"],
        ),
        (
            workload(updateStrategy=rolling(maxUnavailable=1, maxSurge=1)),
            [
                (
                    "spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: 1: may not be set when "
                    "maxUnavailable is non-zero"
                )
            ],
        ),
        (
            workload(template=FINITE),
            [
                'spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"',
                (
                    "spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in "
                    "DaemonSet is not Supported"
                ),
            ],
        ),
    ],
)
def test_daemon_sets(obj: Object, expected: list[str]) -> None:
    assert create_errors(DAEMON_SET, obj) == expected


@pytest.mark.parametrize(
    ("path", "value", "subresource", "expected"),
    [
        (
            "spec.selector",
            OTHER,
            "",
            [
                'spec.selector: Invalid value: {"matchLabels":{"c":"d"}}: field is immutable',
                'spec.template.metadata.labels: Invalid value: {"a":"b"}: `selector` does not match template `labels`',
            ],
        ),
        (
            "status.currentNumberScheduled",
            -1,
            "status",
            ["status.currentNumberScheduled: Invalid value: -1: must be greater than or equal to 0"],
        ),
        (
            "status.collisionCount",
            -1,
            "status",
            ["status.collisionCount: Invalid value: -1: must be greater than or equal to 0"],
        ),
    ],
)
def test_updates_of_daemon_sets(path: str, value: Any, subresource: str, expected: list[str]) -> None:
    old = stored(DAEMON_SET, workload())
    assert update_errors(DAEMON_SET, old, changed(old, path, value), subresource) == expected


def test_a_daemon_set_counts_its_templates_in_an_annotation() -> None:
    annotation = "deprecated.daemonset.template.generation"
    assert stored(DAEMON_SET, workload())["metadata"]["annotations"] == {annotation: "1"}
    assert prepared(DAEMON_SET, "spec.minReadySeconds", 1)["metadata"]["annotations"] == {annotation: "1"}
    assert prepared(DAEMON_SET, "spec.template.spec.hostNetwork", True)["metadata"]["annotations"] == {annotation: "2"}


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (workload(), []),
        (
            workload(podManagementPolicy="x"),
            ["spec.podManagementPolicy: Invalid value: \"x\": must be 'OrderedReady' or 'Parallel'"],
        ),
        (
            workload(updateStrategy={"type": "Other"}),
            [
                (
                    'spec.updateStrategy: Invalid value: {"Type":"Other","RollingUpdate":null}: must be '
                    "'RollingUpdate' or 'OnDelete'"
                )
            ],
        ),
        (
            workload(updateStrategy={"type": "OnDelete", "rollingUpdate": {}}),
            [
                (
                    "spec.updateStrategy.rollingUpdate: Invalid value: "
                    '{"Partition":0,"MaxUnavailable":null}: only allowed for updateStrategy '
                    "'RollingUpdate'"
                )
            ],
        ),
        (
            workload(updateStrategy=rolling(partition=-1)),
            ["spec.updateStrategy.rollingUpdate.partition: Invalid value: -1: must be greater than or equal to 0"],
        ),
        (
            workload(persistentVolumeClaimRetentionPolicy={"whenDeleted": "x", "whenScaled": "Delete"}),
            [
                (
                    'spec.persistentVolumeClaimRetentionPolicy.whenDeleted: Unsupported value: "x": '
                    'supported values: "Retain", "Delete"'
                )
            ],
        ),
        (
            workload(ordinals={"start": -1}),
            ["spec.ordinals.start: Invalid value: -1: must be greater than or equal to 0"],
        ),
        (
            workload(serviceName="A"),
            [
                (
                    'spec.serviceName: Invalid value: "A": a lowercase RFC 1123 label must consist of '
                    "lower case alphanumeric characters or '-', and must start and end with an "
                    "alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
                    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
                )
            ],
        ),
        (workload(selector={}), ["spec.selector: Invalid value: {}: empty selector is invalid for statefulset"]),
        (
            workload(volumeClaimTemplates=[{"metadata": {"name": "v"}, "spec": {"accessModes": []}}]),
            [
                "spec.volumeClaimTemplates[0].spec.accessModes: Required value: at least 1 access mode is required",
                "spec.volumeClaimTemplates[0].spec.resources[storage]: Required value",
            ],
        ),
    ],
)
def test_stateful_sets(obj: Object, expected: list[str]) -> None:
    assert create_errors(STATEFUL_SET, obj) == expected


@pytest.mark.parametrize(
    ("path", "value", "subresource", "expected"),
    [
        ("spec.replicas", 4, "", []),
        (
            "spec.serviceName",
            "other",
            "",
            [
                (
                    "spec: Forbidden: updates to statefulset spec for fields other than 'replicas', "
                    "'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', "
                    "'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
                )
            ],
        ),
        (
            "status",
            {"replicas": 1, "readyReplicas": 2},
            "status",
            ["status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas"],
        ),
    ],
)
def test_updates_of_stateful_sets(path: str, value: Any, subresource: str, expected: list[str]) -> None:
    old = stored(STATEFUL_SET, workload(serviceName="s"))
    assert update_errors(STATEFUL_SET, old, changed(old, path, value), subresource) == expected


def test_a_stateful_set_has_all_its_defaults() -> None:
    spec = stored(STATEFUL_SET, workload())["spec"]
    assert spec["updateStrategy"] == {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}
    assert spec["persistentVolumeClaimRetentionPolicy"] == {"whenDeleted": "Retain", "whenScaled": "Retain"}
    assert (spec["podManagementPolicy"], spec["replicas"], spec["revisionHistoryLimit"]) == ("OrderedReady", 1, 10)


def test_claims_and_histories_of_stateful_sets_are_warned_of() -> None:
    claim = {
        "metadata": {"name": "v"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1m"}}},
    }
    within = context()
    made = stored(STATEFUL_SET, workload(volumeClaimTemplates=[claim], revisionHistoryLimit=-1))
    assert strategy(STATEFUL_SET).validate(made, within) == []
    assert within.warnings == [
        'spec.volumeClaimTemplates[0].resources.requests[storage]: fractional byte value "1m" is invalid, must be an integer',
        "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended",
    ]


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (revision(revision=1, data={"a": 1}), []),
        (
            revision(revision=-1),
            [
                "revision: Invalid value: -1: must be greater than or equal to 0",
                "data: Required value: data is mandatory",
            ],
        ),
    ],
)
def test_controller_revisions(obj: Object, expected: list[str]) -> None:
    assert create_errors(REVISION, obj) == expected


@pytest.mark.parametrize(
    ("path", "value", "subresource", "expected"),
    [("revision", 2, "", []), ("data", {"b": 1}, "", ['data: Invalid value: {"b":1}: field is immutable'])],
)
def test_the_data_of_a_revision_stay(path: str, value: Any, subresource: str, expected: list[str]) -> None:
    old = stored(REVISION, revision(revision=1, data={"a": 1}))
    assert update_errors(REVISION, old, changed(old, path, value), subresource) == expected


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (revision(template=TEMPLATE), []),
        (revision(template={"spec": {"containers": []}}), ["template.spec.containers: Required value"]),
    ],
)
def test_pod_templates(obj: Object, expected: list[str]) -> None:
    assert create_errors("podtemplates", obj) == expected
