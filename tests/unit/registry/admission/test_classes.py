"""Default classes, runtime classes, growing claims and pods."""

from __future__ import annotations

from typing import Any

import pytest

from schedlab.api.object import Object
from schedlab.apimachinery.errors import Forbidden, StatusError
from schedlab.registry import Registry
from schedlab.registry.admission.runtime_class import merge_tolerations
from tests.support.registries import new_registry

STORAGE, CLAIMS = "storageclasses.storage.k8s.io", "persistentvolumeclaims"
RUNTIMES = "runtimeclasses.node.k8s.io"


@pytest.fixture
def registry() -> Registry:
    return new_registry()


def create(registry: Registry, resource: str, obj: Object) -> Object:
    """Store an object."""
    namespace = "default" if registry.resource(resource).namespaced else ""
    return registry.create(resource, registry.decode(resource, obj), namespace).thaw()


def storage_class(name: str, *, default: bool = False, **fields: Any) -> Object:
    """Return a storage class."""
    annotations = {"storageclass.kubernetes.io/is-default-class": "true"} if default else {}
    return {"metadata": {"name": name, "annotations": annotations}, "provisioner": "p", **fields}


def claim(name: str = "c", **spec: Any) -> Object:
    """Return a claim."""
    wanted = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, **spec}
    return {"metadata": {"name": name}, "spec": wanted}


def test_claims_get_the_youngest_default(registry: Registry) -> None:
    """Of equally old ones the first by name; an empty class is a class."""
    create(registry, STORAGE, storage_class("plain"))

    assert "storageClassName" not in create(registry, CLAIMS, claim("a"))["spec"]
    create(registry, STORAGE, storage_class("two", default=True))
    create(registry, STORAGE, storage_class("one", default=True))

    assert create(registry, CLAIMS, claim("b"))["spec"]["storageClassName"] == "one"
    assert create(registry, CLAIMS, claim("c", storageClassName=""))["spec"]["storageClassName"] == ""
    annotated = claim("d")
    annotated["metadata"]["annotations"] = {"volume.beta.kubernetes.io/storage-class": "old"}

    assert "storageClassName" not in create(registry, CLAIMS, annotated)["spec"]


def test_ingresses_get_the_default(registry: Registry) -> None:
    """Unless they name a class."""
    annotations = {"ingressclass.kubernetes.io/is-default-class": "true"}
    wanted = {"metadata": {"name": "front", "annotations": annotations}, "spec": {"controller": "example.com/c"}}
    create(registry, "ingressclasses.networking.k8s.io", wanted)
    backend = {"defaultBackend": {"service": {"name": "s", "port": {"number": 80}}}}
    ingress = create(registry, "ingresses.networking.k8s.io", {"metadata": {"name": "i"}, "spec": backend})

    assert ingress["spec"]["ingressClassName"] == "front"


@pytest.mark.parametrize(
    ("phase", "expandable", "message"),
    [
        ("Bound", True, ""),
        ("Bound", False, "only dynamically provisioned pvc can be resized and the storageclass that provisions the "),
        ("Pending", True, "spec is immutable after creation except resources.requests"),
    ],
)
def test_growing_claims(registry: Registry, phase: str, expandable: bool, message: str) -> None:  # noqa: FBT001
    """They must be bound, and their class must allow it."""
    create(registry, STORAGE, storage_class("s", allowVolumeExpansion=expandable))
    create(registry, CLAIMS, claim(storageClassName="s", volumeName="v"))
    status = {"status": {"phase": phase, "capacity": {"storage": "1Gi"}}}
    registry.patch(CLAIMS, "c", "merge", status, "default", subresource="status")
    grow = {"spec": {"resources": {"requests": {"storage": "2Gi"}}}}
    if not message:
        assert registry.patch(CLAIMS, "c", "merge", grow, "default").object.view.spec.resources.requests == {
            "storage": "2Gi"
        }
        return
    with pytest.raises(StatusError) as refused:
        registry.patch(CLAIMS, "c", "merge", grow, "default")

    assert message in refused.value.message


# --- Runtime classes --------------------------------------------------------------------------------------------------


def pod(**spec: Any) -> Object:
    """Return a pod."""
    return {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}


def runtime_class(**fields: Any) -> Object:
    """Return the runtime class `r`."""
    return {"metadata": {"name": "r"}, "handler": "h", **fields}


def test_overhead_and_nodes_come_from_the_class(registry: Registry) -> None:
    """What the pod says for itself stays beside it."""
    scheduling = {"nodeSelector": {"runtime": "r"}, "tolerations": [{"key": "r", "operator": "Exists"}]}
    overhead = {"podFixed": {"cpu": "250m"}}
    create(registry, RUNTIMES, runtime_class(overhead=overhead, scheduling=scheduling))
    spec = create(registry, "pods", pod(runtimeClassName="r", nodeSelector={"a": "b"}))["spec"]

    assert spec["overhead"] == {"cpu": "250m"}
    assert spec["nodeSelector"] == {"a": "b", "runtime": "r"}
    assert {"key": "r", "operator": "Exists"} in spec["tolerations"]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"runtimeClassName": "x"}, 'pod rejected: RuntimeClass "x" not found'),
        (
            {"runtimeClassName": "r", "overhead": {"cpu": "1"}},
            "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead",
        ),
        (
            {"overhead": {"cpu": "1"}},
            "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead",
        ),
        (
            {"runtimeClassName": "r", "nodeSelector": {"k": "mine"}},
            "conflict: runtimeClass.scheduling.nodeSelector[k] = its; pod.spec.nodeSelector[k] = mine",
        ),
    ],
)
def test_what_contradicts_the_class(registry: Registry, spec: Object, message: str) -> None:
    """A pod cannot choose what its runtime costs."""
    scheduling = {"nodeSelector": {"k": "its"}}
    create(registry, RUNTIMES, runtime_class(overhead={"podFixed": {"cpu": "250m"}}, scheduling=scheduling))
    with pytest.raises(Forbidden) as refused:
        create(registry, "pods", pod(**spec))

    assert refused.value.message == f'pods "p" is forbidden: {message}'


EXISTS, EQUAL = {"key": "k", "operator": "Exists"}, {"key": "k", "operator": "Equal", "value": "v"}


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ([EQUAL], [EXISTS], [EXISTS]),
        ([EXISTS], [EQUAL], [EXISTS]),
        ([EQUAL], [EQUAL], [EQUAL]),
        ([{"operator": "Exists"}], [EQUAL, EXISTS], [{"operator": "Exists"}]),
        ([{**EQUAL, "effect": "NoSchedule"}], [EQUAL], [EQUAL]),
        (
            [{**EXISTS, "effect": "NoExecute", "tolerationSeconds": 5}],
            [{**EXISTS, "effect": "NoExecute", "tolerationSeconds": 9}],
            [{**EXISTS, "effect": "NoExecute", "tolerationSeconds": 9}],
        ),
    ],
)
def test_the_wider_toleration_is_kept(first: list[Object], second: list[Object], expected: list[Object]) -> None:
    """Equal ones once."""
    assert merge_tolerations(first, second) == expected


# --- Growing pods -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("node", "cpu", "message"),
    [
        ("", "2", 'node "n" not found'),
        ("linux", "2", ""),
        ("linux", "9", "node didn't have enough allocatable resources: cpu, requested: 9000, allocatable: 4000"),
        ("windows", "2", 'pod resize is only supported on linux nodes, node "n" is "windows"'),
    ],
)
def test_a_pod_grows_within_its_node(registry: Registry, node: str, cpu: str, message: str) -> None:
    """As far as its node has room at all."""
    if node:
        status = {"allocatable": {"cpu": "4", "memory": "1Gi"}}
        create(registry, "nodes", {"metadata": {"name": "n", "labels": {"kubernetes.io/os": node}}, "status": status})
    wanted = pod(nodeName="n")
    wanted["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "1"}}
    create(registry, "pods", wanted)
    grow = {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]}}
    if not message:
        registry.patch("pods", "p", "strategic", grow, "default", subresource="resize")
        return
    with pytest.raises(Forbidden) as refused:
        registry.patch("pods", "p", "strategic", grow, "default", subresource="resize")

    assert refused.value.message == f'pods "p" is forbidden: {message}'
