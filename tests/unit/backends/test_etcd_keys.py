"""Objects lie in etcd where kube-apiserver puts them."""

import pytest

from schedlab.apimachinery.resources import known_resources
from schedlab.backends.etcd_keys import KeySpace

PLACES = [
    ("pods", "default/web", "/registry/pods/default/web"),
    ("nodes", "n1", "/registry/minions/n1"),
    ("services", "default/s", "/registry/services/specs/default/s"),
    ("endpoints", "default/s", "/registry/services/endpoints/default/s"),
    ("replicationcontrollers", "default/r", "/registry/controllers/default/r"),
    ("ingresses.networking.k8s.io", "default/i", "/registry/ingress/default/i"),
    ("events", "default/e.1", "/registry/events/default/e.1"),
    ("deployments.apps", "default/web", "/registry/deployments/default/web"),
    ("leases.coordination.k8s.io", "kube-node-lease/n1", "/registry/leases/kube-node-lease/n1"),
    ("storageclasses.storage.k8s.io", "fast", "/registry/storageclasses/fast"),
    (
        "customresourcedefinitions.apiextensions.k8s.io",
        "widgets.example.com",
        "/registry/apiextensions.k8s.io/customresourcedefinitions/widgets.example.com",
    ),
    (
        "apiservices.apiregistration.k8s.io",
        "v1.apps",
        "/registry/apiregistration.k8s.io/apiservices/v1.apps",
    ),
    ("widgets.example.com", "default/a", "/registry/example.com/widgets/default/a"),
    ("pods.metrics.example.com", "default/a", "/registry/metrics.example.com/pods/default/a"),
]


@pytest.mark.parametrize(("resource", "key", "place"), PLACES, ids=[place[0] for place in PLACES])
def test_place_of_an_object(resource: str, key: str, place: str) -> None:
    """And from the place the resource is found again."""
    keys = KeySpace()

    assert keys.key(resource, key).decode() == place
    assert keys.resource(place.encode()) == resource


def test_no_two_kinds_share_a_place() -> None:
    """Every kind that comes with Kubernetes is found again; events of both groups are the same objects."""
    keys = KeySpace()
    names = {entry.full_name for entry in known_resources()} - {"events.events.k8s.io"}

    assert {name: keys.resource(keys.key(name, "a")) for name in names} == {name: name for name in names}


@pytest.mark.parametrize("place", [b"/registry/pods", b"/registry/nothing/a/b", b"/registry/", b"/registry/\xff/a"])
def test_other_places_have_no_resource(place: bytes) -> None:
    assert KeySpace().resource(place) is None


def test_prefix_can_be_chosen() -> None:
    """With or without slashes around it; the range ends behind the last key below it."""
    for prefix in ("lab/one", "/lab/one/"):
        keys = KeySpace(prefix)
        assert keys.key("pods", "d/a") == b"/lab/one/pods/d/a"
        assert keys.range == (b"/lab/one/", b"/lab/one0")
