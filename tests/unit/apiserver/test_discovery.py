"""Discovery tells which resources are served, in the old and in the aggregated form."""

from typing import Any

import orjson

from schedlab.apimachinery.gvk import GroupVersion
from schedlab.apimachinery.resources import Resources, known_resources
from schedlab.apiserver.discovery import Discovery, aggregated_version

NAMES = ("pods", "nodes", "deployments.apps", "selfsubjectreviews.authentication.k8s.io")
DISCOVERY = Discovery(Resources(known_resources().restrict(NAMES)), "127.0.0.1:3131")


def test_groups() -> None:
    """/api lists versions, /apis the groups with the version that is preferred."""
    assert DISCOVERY.core_versions()["versions"] == ["v1"]
    assert DISCOVERY.groups()["groups"][0] == {
        "name": "apps",
        "versions": [{"groupVersion": "apps/v1", "version": "v1"}],
        "preferredVersion": {"groupVersion": "apps/v1", "version": "v1"},
    }
    assert DISCOVERY.group("batch") is None
    assert DISCOVERY.group("") is None


def test_resource_list() -> None:
    """Subresources follow their resource; only stored kinds have a storage version; the core group has no apiVersion."""
    core = DISCOVERY.resource_list(GroupVersion("", "v1"))
    assert core is not None
    names = [entry["name"] for entry in core["resources"]]

    assert list(core) == ["kind", "groupVersion", "resources"]
    assert names[:4] == ["nodes", "nodes/proxy", "nodes/status", "pods"]
    assert "pods/eviction" in names
    [pods] = [entry for entry in core["resources"] if entry["name"] == "pods"]
    assert (pods["shortNames"], pods["categories"], pods["storageVersionHash"]) == (["po"], ["all"], "xPOwRZ+Yhw8=")
    [eviction] = [entry for entry in core["resources"] if entry["name"] == "pods/eviction"]
    assert (eviction["group"], eviction["version"], eviction["kind"]) == ("policy", "v1", "Eviction")
    reviews = DISCOVERY.resource_list(GroupVersion("authentication.k8s.io", "v1"))
    assert reviews is not None
    assert "storageVersionHash" not in reviews["resources"][0]
    assert DISCOVERY.resource_list(GroupVersion("apps", "v9")) is None


def test_aggregated_form() -> None:
    """The core group has no name; equal content has an equal tag."""
    body, tag = DISCOVERY.aggregated("v2", core=True)
    again = Discovery(DISCOVERY.resources, "another").aggregated("v2", core=True)
    document: dict[str, Any] = orjson.loads(body)

    assert (document["kind"], document["apiVersion"]) == ("APIGroupDiscoveryList", "apidiscovery.k8s.io/v2")
    assert [item["metadata"] for item in document["items"]] == [{}]
    assert document["items"][0]["versions"][0]["freshness"] == "Current"
    assert again == (body, tag)
    assert DISCOVERY.aggregated("v2", core=False)[1] != tag


def test_aggregated_versions() -> None:
    """Both versions of the aggregated form are known, and nothing else."""
    assert aggregated_version("apidiscovery.k8s.io", "v2beta1", "APIGroupDiscoveryList") == "v2beta1"
    assert aggregated_version("apidiscovery.k8s.io", "v3", "APIGroupDiscoveryList") is None
    assert aggregated_version("meta.k8s.io", "v1", "Table") is None
