"""Names of API types print as in Kubernetes' messages."""

import pytest

from schedlab.apimachinery import gvk
from schedlab.apimachinery.gvk import GroupKind, GroupResource, GroupVersion, GroupVersionKind


@pytest.mark.parametrize(
    ("name", "printed"),
    [
        (GroupResource("", "pods"), "pods"),
        (GroupResource("apps", "deployments"), "deployments.apps"),
        (GroupKind("", "Pod"), "Pod"),
        (GroupKind("apps", "Deployment"), "Deployment.apps"),
        (GroupVersion("", "v1"), "v1"),
        (GroupVersion("apps", "v1"), "apps/v1"),
        (GroupVersion("apps", "v1").with_kind("Deployment"), "apps/v1, Kind=Deployment"),
        (GroupVersion("", "v1").with_resource("pods"), "/v1, Resource=pods"),
    ],
)
def test_the_group_is_left_out_when_it_is_the_core_group(name: object, printed: str) -> None:
    assert str(name) == printed


def test_a_kind_knows_its_parts() -> None:
    deployment = GroupVersionKind("apps", "v1", "Deployment")

    assert deployment.api_version == "apps/v1"
    assert deployment.group_kind == GroupKind("apps", "Deployment")
    resource = deployment.group_version.with_resource("deployments")
    assert resource.group_resource == GroupResource("apps", "deployments")
    assert resource.group_version == GroupVersion("apps", "v1")


def test_an_api_version_has_at_most_one_slash() -> None:
    assert gvk.parse_group_version("v1") == ("", "v1")
    assert gvk.parse_group_version("apps/v1") == ("apps", "v1")
    assert gvk.parse_group_version("/") == ("", "")
    with pytest.raises(ValueError, match=r"^unexpected GroupVersion string: a/b/c$"):
        gvk.parse_group_version("a/b/c")
