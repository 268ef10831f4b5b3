"""Kinds of resource names."""

import pytest

from schedlab.api.rules.resource_names import is_extended_resource, is_native_resource, is_scalar_resource


@pytest.mark.parametrize(
    ("name", "native", "extended", "scalar"),
    [
        ("cpu", True, False, False),
        ("storage", True, False, False),
        ("hugepages-2Mi", True, False, True),
        ("attachable-volumes-csi", True, False, True),
        ("kubernetes.io/thing", True, False, True),
        ("example.com/gpu", False, True, True),
        ("requests.example.com/gpu", False, False, False),
        ("deviceclass.resource.kubernetes.io/gpu", True, False, True),
        ("example.com/" + "g" * 64, False, False, False),
    ],
)
def test_kinds_of_resource_names(name: str, *, native: bool, extended: bool, scalar: bool) -> None:
    """A name with a slash that Kubernetes does not own is an extended resource, if a quota could have it."""
    assert (is_native_resource(name), is_extended_resource(name), is_scalar_resource(name)) == (
        native,
        extended,
        scalar,
    )
