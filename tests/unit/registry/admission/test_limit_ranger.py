"""Containers get the requests and limits of their namespace, and stay within its bounds."""

from __future__ import annotations

from typing import Any

import pytest

from schedlab.api.object import Object
from schedlab.apimachinery.errors import Forbidden
from schedlab.registry import Registry
from tests.support.registries import new_registry


@pytest.fixture
def registry() -> Registry:
    return new_registry()


def limit(registry: Registry, *limits: Object, name: str = "l") -> None:
    """Store a LimitRange."""
    obj = {"metadata": {"name": name}, "spec": {"limits": list(limits)}}
    registry.create("limitranges", registry.decode("limitranges", obj), "default")


def make_pod(registry: Registry, *resources: Object, **spec: Any) -> Object:
    """Store a pod with a container for each of the resources."""
    containers = [{"name": f"c{i}", "image": "i", "resources": each} for i, each in enumerate(resources)]
    pod = {"metadata": {"name": "p"}, "spec": {"containers": containers, **spec}}
    return registry.create("pods", registry.decode("pods", pod), "default").thaw()


def both(cpu: str) -> Object:
    """Return a request and a limit."""
    return {"requests": {"cpu": cpu}, "limits": {"cpu": cpu}}


def test_defaults_fill_what_is_missing(registry: Registry) -> None:
    """Init containers too; an annotation tells of it."""
    limit(registry, {"type": "Container", "default": {"cpu": "1", "memory": "1Gi"}, "defaultRequest": {"cpu": "500m"}})
    pod = make_pod(registry, {"limits": {"memory": "2Gi"}}, initContainers=[{"name": "i", "image": "i"}])
    container, init = pod["spec"]["containers"][0], pod["spec"]["initContainers"][0]

    assert container["resources"] == {
        "limits": {"cpu": "1", "memory": "2Gi"},
        "requests": {"cpu": "500m", "memory": "2Gi"},
    }
    assert init["resources"]["limits"] == {"cpu": "1", "memory": "1Gi"}
    assert pod["metadata"]["annotations"]["kubernetes.io/limit-ranger"] == (
        "LimitRanger plugin set: cpu request for container c0; cpu limit for container c0; "
        "cpu, memory request for init container i; cpu, memory limit for init container i"
    )


CONTAINER = {"type": "Container", "min": {"cpu": "100m"}, "max": {"cpu": "1"}, "maxLimitRequestRatio": {"cpu": "2"}}
POD = {"type": "Pod", "max": {"cpu": "1500m"}, "min": {"cpu": "200m"}}


@pytest.mark.parametrize(
    ("bounds", "resources", "message"),
    [
        (CONTAINER, [both("50m")], "minimum cpu usage per Container is 100m, but request is 50m"),
        (CONTAINER, [both("2")], "maximum cpu usage per Container is 1, but limit is 2"),
        (
            CONTAINER,
            [{"requests": {"cpu": "100m"}, "limits": {"cpu": "900m"}}],
            "cpu max limit to request ratio per Container is 2, but provided ratio is 9.000000",
        ),
        (POD, [both("800m"), both("800m")], "maximum cpu usage per Pod is 1500m, but limit is 1600m"),
        (POD, [both("100m")], "minimum cpu usage per Pod is 200m, but request is 100m"),
        (
            POD,
            [{}],
            (
                "[minimum cpu usage per Pod is 200m.  No request is specified, "
                "maximum cpu usage per Pod is 1500m.  No limit is specified]"
            ),
        ),
        (POD, [both("1")], ""),
    ],
)
def test_bounds_of_pods(registry: Registry, bounds: Object, resources: list[Object], message: str) -> None:
    """Every breach is named."""
    limit(registry, {"type": "Pod", **bounds} if bounds is POD else {**bounds, "default": {}, "defaultRequest": {}})
    if not message:
        make_pod(registry, *resources)
        return
    with pytest.raises(Forbidden) as refused:
        make_pod(registry, *resources)

    assert refused.value.message == f'pods "p" is forbidden: {message}'


@pytest.mark.parametrize(
    ("size", "message"),
    [
        ("5Gi", "maximum storage usage per PersistentVolumeClaim is 2Gi, but request is 5Gi"),
        ("1Mi", "minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 1Mi"),
    ],
)
def test_bounds_of_claims(registry: Registry, size: str, message: str) -> None:
    """Only what a claim requests counts."""
    limit(registry, {"type": "PersistentVolumeClaim", "min": {"storage": "1Gi"}, "max": {"storage": "2Gi"}})
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}}
    claim = registry.decode("persistentvolumeclaims", {"metadata": {"name": "c"}, "spec": spec})
    with pytest.raises(Forbidden) as refused:
        registry.create("persistentvolumeclaims", claim, "default")

    assert refused.value.message == f'persistentvolumeclaims "c" is forbidden: {message}'


def test_pods_that_are_there_stay_as_they_are(registry: Registry) -> None:
    """Updates do not change resources, so nothing is checked."""
    make_pod(registry, both("4"))
    limit(registry, CONTAINER)
    patched = registry.patch("pods", "p", "merge", {"metadata": {"labels": {"a": "b"}}}, "default")

    assert patched.object.labels == {"a": "b"}
