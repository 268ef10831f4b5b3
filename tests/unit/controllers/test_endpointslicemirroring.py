"""Endpoints that people make are mirrored into slices."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.control_plane import ControlPlane, Object
from tests.support.services import SLICES, slices_of


@pytest.fixture
def plane() -> ControlPlane:
    plane = ControlPlane("endpointslice-mirroring-controller")
    plane.create("services", {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}})
    return plane


def subset(*addresses: str, **others: Any) -> Object:
    """Return a subset of ready addresses."""
    return {"addresses": [{"ip": each} for each in addresses], "ports": [{"port": 8080}], **others}


def add(plane: ControlPlane, *subsets: Object, **metadata: Any) -> None:
    """Store Endpoints and let them be mirrored."""
    plane.create("endpoints", {"metadata": {"name": "s", **metadata}, "subsets": list(subsets)})
    plane.settle()


def test_one_slice_for_each_subset_and_family(plane: ControlPlane) -> None:
    """With the labels and annotations of the Endpoints, but for those that say something of them alone."""
    annotations = {"a": "b", "endpoints.kubernetes.io/last-change-trigger-time": "2026-01-01T00:00:00Z"}
    first = subset("10.0.0.1", "fd00::1", notReadyAddresses=[{"ip": "10.0.0.2"}])
    second = {"addresses": [{"ip": "10.0.0.3"}], "ports": [{"port": 9090, "name": "x"}]}
    add(plane, first, second, labels={"team": "x"}, annotations=annotations)
    ready = [[each["conditions"]["ready"] for each in found["endpoints"]] for found in slices_of(plane)]

    assert [found["addressType"] for found in slices_of(plane)] == ["IPv4", "IPv4", "IPv6"]
    assert ready == [[True, False], [True], [True]]
    metadata = slices_of(plane)[0]["metadata"]

    assert metadata["annotations"] == {"a": "b"}
    assert metadata["labels"] == {
        "team": "x",
        "kubernetes.io/service-name": "s",
        "endpointslice.kubernetes.io/managed-by": "endpointslicemirroring-controller.k8s.io",
    }
    assert metadata["ownerReferences"][0]["kind"] == "Endpoints"


def test_changes_are_mirrored(plane: ControlPlane) -> None:
    """In place where that is possible; meddling is put right."""
    add(plane, subset("10.0.0.1"))
    (before,) = slices_of(plane)
    plane.patch("endpoints", "s", {"subsets": [subset("10.0.0.1", "10.0.0.2")]})
    plane.settle()
    (grown,) = slices_of(plane)
    plane.patch("endpoints", "s", {"subsets": [{**subset("10.0.0.9"), "ports": [{"port": 1}]}]})
    plane.settle()
    (other,) = slices_of(plane)
    plane.patch(SLICES, other["metadata"]["name"], {"endpoints": []})
    plane.run_for(2)
    (mended,) = slices_of(plane)

    assert {each["metadata"]["uid"] for each in (before, grown, other, mended)} == {before["metadata"]["uid"]}
    assert [len(grown["endpoints"]), other["ports"][0]["port"], len(mended["endpoints"])] == [2, 1, 1]


@pytest.mark.parametrize(
    "metadata",
    [
        {"labels": {"endpointslice.kubernetes.io/skip-mirror": "true"}},
        {"annotations": {"control-plane.alpha.kubernetes.io/leader": "x"}},
        {"name": "without-service"},
    ],
)
def test_what_is_not_mirrored(plane: ControlPlane, metadata: Object) -> None:
    """Somebody said so, they are a lock, or no service is there for them."""
    add(plane, subset("10.0.0.1"), **metadata)

    assert slices_of(plane) == []


@pytest.mark.parametrize("what", ["endpoints", "service", "selector", "skip"])
def test_mirrors_go(plane: ControlPlane, what: str) -> None:
    """With what they mirror, with its service, and when somebody else is to make them."""
    add(plane, subset("10.0.0.1"))
    mirrored = len(slices_of(plane))
    if what == "selector":
        plane.patch("services", "s", {"spec": {"selector": {"app": "a"}}})
    elif what == "skip":
        labels = {"endpointslice.kubernetes.io/skip-mirror": "true"}
        plane.patch("endpoints", "s", {"metadata": {"labels": labels}})
    else:
        plane.delete("services" if what == "service" else "endpoints", "s")
    plane.settle()

    assert (mirrored, slices_of(plane)) == (1, [])


def test_too_many_addresses(plane: ControlPlane) -> None:
    """The first thousand of a subset are mirrored, and an event tells of the others."""
    add(plane, subset(*(f"10.1.{number // 250}.{number % 250}" for number in range(1001))))
    text = "A max of 1000 addresses can be mirrored to EndpointSlices per Endpoints subset. 1 addresses were skipped"

    assert [len(each["endpoints"]) for each in slices_of(plane)] == [1000]
    assert plane.messages() == [("TooManyAddressesToMirror", "s", text)]
