"""Drivers and capacities of storage, and service accounts: what more there is to check."""

from typing import Any

import pytest

from schedlab.api.object import Object
from tests.support.kinds import changed, context, create_errors, stored, strategy, update_errors

DRIVER = "csidrivers.storage.k8s.io"
NODE = "csinodes.storage.k8s.io"
CAPACITY = "csistoragecapacities.storage.k8s.io"
ATTACHMENT = "volumeattachments.storage.k8s.io"
ACCOUNT = "serviceaccounts"


def driver(**spec: Any) -> Object:
    return {"metadata": {"name": "d.example.com"}, "spec": spec}


def node(**fields: Any) -> Object:
    return {"metadata": {"name": "x"}, "spec": {"drivers": [{"name": "d", "nodeID": "n", **fields}]}}


def capacity(**fields: Any) -> Object:
    return {"metadata": {"name": "x", "namespace": "n"}, "storageClassName": "c", **fields}


def attachment() -> Object:
    source = {"persistentVolumeName": "v"}
    return {"metadata": {"name": "x"}, "spec": {"attacher": "a", "nodeName": "n", "source": source}}


def account(**fields: Any) -> Object:
    return {"metadata": {"name": "x", "namespace": "n"}, **fields}


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (driver(), []),
        (
            {"metadata": {"name": "A_"}, "spec": {}},
            [
                (
                    'metadata.name: Invalid value: "A_": a lowercase RFC 1123 subdomain must consist of '
                    "lower case alphanumeric characters, '-' or '.', and must start and end with an "
                    "alphanumeric character (e.g. 'example.com', regex used for validation is "
                    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
                )
            ],
        ),
        (
            driver(fsGroupPolicy="x"),
            [
                (
                    'spec.fsGroupPolicy: Unsupported value: "x": supported values: "File", "None", '
                    '"ReadWriteOnceWithFSType"'
                )
            ],
        ),
        (
            driver(volumeLifecycleModes=["x"]),
            ['spec.volumeLifecycleModes: Unsupported value: "x": supported values: "Persistent", "Ephemeral"'],
        ),
        (
            driver(tokenRequests=[{"audience": "a", "expirationSeconds": 1}]),
            [
                (
                    "spec.tokenRequests[0].expirationSeconds: Invalid value: 1: may not specify a "
                    "duration less than 10 minutes"
                )
            ],
        ),
        (
            driver(tokenRequests=[{"audience": "a", "expirationSeconds": 4294967297}]),
            [
                (
                    "spec.tokenRequests[0].expirationSeconds: Invalid value: 4294967297: may not specify "
                    "a duration larger than 2^32 seconds"
                )
            ],
        ),
        (
            driver(nodeAllocatableUpdatePeriodSeconds=9),
            [
                (
                    "spec.nodeAllocatableUpdatePeriodSeconds: Invalid value: 9: must be greater than or "
                    "equal to 10 seconds"
                )
            ],
        ),
    ],
)
def test_drivers(obj: Object, expected: list[str]) -> None:
    assert create_errors(DRIVER, obj) == expected


@pytest.mark.parametrize(
    ("path", "value", "subresource", "expected"),
    [
        ("spec.attachRequired", False, "", ["spec.attachedRequired: Invalid value: false: field is immutable"]),
        ("spec.fsGroupPolicy", "File", "", []),
        (
            "spec.volumeLifecycleModes",
            ["Ephemeral"],
            "",
            ['spec.volumeLifecycleModes: Invalid value: ["Ephemeral"]: field is immutable'],
        ),
        ("spec.podInfoOnMount", True, "", []),
    ],
)
def test_updates_of_drivers(path: str, value: Any, subresource: str, expected: list[str]) -> None:
    old = stored(DRIVER, driver())
    assert update_errors(DRIVER, old, changed(old, path, value), subresource) == expected


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (node(), []),
        (
            node(name="A_"),
            [
                (
                    'spec.drivers[0].name: Invalid value: "A_": a lowercase RFC 1123 subdomain must '
                    "consist of lower case alphanumeric characters, '-' or '.', and must start and end "
                    "with an alphanumeric character (e.g. 'example.com', regex used for validation is "
                    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
                )
            ],
        ),
        (node(nodeID=""), ["spec.drivers[0].nodeID: Required value"]),
        (
            node(nodeID="x" * 300),
            [
                (
                    "spec.drivers[0].nodeID: Invalid value: "
                    '"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'
                    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
                    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
                    'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx": must be 256 characters or less'
                )
            ],
        ),
        (node(topologyKeys=["k", "k"]), ['spec.drivers[0]: Duplicate value: "k"']),
        (
            node(topologyKeys=[""]),
            [
                "spec.drivers[0]: Required value",
                'spec.drivers[0]: Invalid value: "": name part must be non-empty',
                (
                    'spec.drivers[0]: Invalid value: "": name part must consist of alphanumeric '
                    "characters, '-', '_' or '.', and must start and end with an alphanumeric character "
                    "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
                    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
                ),
            ],
        ),
        (node(allocatable={"count": 1}), []),
    ],
)
def test_drivers_of_nodes(obj: Object, expected: list[str]) -> None:
    assert create_errors(NODE, obj) == expected


@pytest.mark.parametrize(
    ("path", "value", "subresource", "expected"),
    [
        (
            "spec.drivers.0.nodeID",
            "m",
            "",
            [
                (
                    "spec.drivers: Invalid value: "
                    '{"Name":"d","NodeID":"m","TopologyKeys":null,"Allocatable":null}: field is immutable'
                )
            ],
        ),
        ("spec.drivers", [], "", []),
    ],
)
def test_drivers_of_nodes_stay(path: str, value: Any, subresource: str, expected: list[str]) -> None:
    old = stored(NODE, node())
    assert update_errors(NODE, old, changed(old, path, value), subresource) == expected


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (capacity(), []),
        (
            capacity(storageClassName=""),
            [
                (
                    'storageClassName: Invalid value: "": a lowercase RFC 1123 subdomain must consist of '
                    "lower case alphanumeric characters, '-' or '.', and must start and end with an "
                    "alphanumeric character (e.g. 'example.com', regex used for validation is "
                    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
                )
            ],
        ),
        (capacity(maximumVolumeSize="-1"), []),
        (
            capacity(nodeTopology={"matchLabels": {"a b": "c"}}),
            [
                (
                    'nodeTopology.matchLabels: Invalid value: "a b": name part must consist of '
                    "alphanumeric characters, '-', '_' or '.', and must start and end with an "
                    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
                    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
                )
            ],
        ),
    ],
)
def test_capacities(obj: Object, expected: list[str]) -> None:
    assert create_errors(CAPACITY, obj) == expected


@pytest.mark.parametrize(
    ("path", "value", "subresource", "expected"),
    [
        ("capacity", "1", "", []),
        ("storageClassName", "d", "", ['storageClassName: Invalid value: "d": field is immutable']),
        (
            "nodeTopology",
            {"matchLabels": {"a": "b"}},
            "",
            ['nodeTopology: Invalid value: {"matchLabels":{"a":"b"}}: field is immutable'],
        ),
    ],
)
def test_capacities_stay_with_class_and_topology(path: str, value: Any, subresource: str, expected: list[str]) -> None:
    old = stored(CAPACITY, capacity())
    assert update_errors(CAPACITY, old, changed(old, path, value), subresource) == expected


@pytest.mark.parametrize(
    ("path", "value", "subresource", "expected"),
    [
        ("status", {"attached": True, "attachmentMetadata": {"k": "v"}}, "status", []),
        (
            "status",
            {"attached": False, "attachError": {"message": "x" * 263000}},
            "status",
            ["status.attachError.message: Too long: may not be more than 262144 bytes"],
        ),
        (
            "spec.attacher",
            "b",
            "",
            [
                (
                    "spec: Invalid value: "
                    '{"Attacher":"b","Source":{"PersistentVolumeName":"v","InlineVolumeSpec":null},"NodeN'
                    'ame":"n"}: field is immutable'
                )
            ],
        ),
    ],
)
def test_statuses_of_attachments(path: str, value: Any, subresource: str, expected: list[str]) -> None:
    old = stored(ATTACHMENT, attachment())
    assert update_errors(ATTACHMENT, old, changed(old, path, value), subresource) == expected


def test_references_to_secrets_of_an_account_are_names() -> None:
    made = stored(ACCOUNT, account(secrets=[{"name": "a", "namespace": "other"}, {}]))
    assert made["secrets"] == [{"name": "a"}, {}]


def test_an_old_annotation_of_accounts_is_warned_of_when_it_is_new() -> None:
    key = "kubernetes.io/enforce-mountable-secrets"
    odd = stored(ACCOUNT, {"metadata": {"name": "x", "namespace": "n", "annotations": {key: "true"}}})
    within = context()
    assert strategy(ACCOUNT).validate(odd, within) == []
    assert within.warnings == [
        f"metadata.annotations[{key}]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets"
    ]
    again = context()
    assert strategy(ACCOUNT).update.validate(odd, odd, again) == []
    assert again.warnings == []
