"""API services: names, priorities, and what only those of other servers may have."""

from typing import Any

import pytest

from schedlab.api.object import Object
from tests.support.kinds import changed, create_errors, stored, strategy, update_errors
from tests.support.kinds import context as make_context

SERVICE = "apiservices.apiregistration.k8s.io"


def api_service(name: str = "v1.e.com", **spec: Any) -> Object:
    known = {"group": "e.com", "version": "v1", "groupPriorityMinimum": 100, "versionPriority": 15}
    return {"metadata": {"name": name}, "spec": {**known, **spec}}


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (api_service(), []),
        (api_service("v1.", group=""), []),
        (
            api_service("x"),
            ['metadata.name: Invalid value: "x": must be `spec.version+"."+spec.group`: "v1.e.com"'],
        ),
        (
            api_service("v2.", group="", version="v2"),
            ["spec.group: Required value: only v1 may have an empty group and it better be legacy kube"],
        ),
        (
            api_service(groupPriorityMinimum=0),
            ["spec.groupPriorityMinimum: Invalid value: 0: must be positive and less than 20000"],
        ),
        (
            api_service(caBundle="YWI="),
            ['spec.caBundle: Invalid value: "2 bytes": local APIServices may not have a caBundle'],
        ),
        (api_service(service={"name": "s", "namespace": "n"}), []),
        (api_service(service={"name": "s"}), ["spec.service.namespace: Required value"]),
    ],
)
def test_api_services(obj: Object, expected: list[str]) -> None:
    assert create_errors(SERVICE, obj) == expected


def test_a_local_service_is_available_at_once() -> None:
    (condition,) = stored(SERVICE, api_service())["status"]["conditions"]
    assert (condition["type"], condition["status"], condition["reason"]) == ("Available", "True", "Local")
    remote = stored(SERVICE, api_service(service={"name": "s", "namespace": "n"}))
    assert (remote["status"], remote["spec"]["service"]["port"]) == ({}, 443)


def test_a_status_keeps_spec_and_labels() -> None:
    old = stored(SERVICE, api_service())
    new = changed(changed(old, "metadata.labels", {"a": "b"}), "spec.versionPriority", 1)
    assert update_errors(SERVICE, old, changed(new, "status.conditions", [{"status": "x"}]), "status") == [
        'status.conditions[0].status: Unsupported value: "x": supported values: "True", "False", "Unknown"'
    ]
    strategy(SERVICE).subresources["status"].prepare(new, old, make_context())
    assert (new["spec"], "labels" in new["metadata"]) == (old["spec"], False)
