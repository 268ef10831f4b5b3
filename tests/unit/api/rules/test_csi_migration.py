"""Volumes of built-in drivers as CSI drivers see them."""

from typing import Any

import msgspec
import pytest

from schedlab.api.rules.csi_migration import (
    TranslationError,
    as_csi,
    inline_handle,
    is_migrated_on,
    plugin_named,
    plugin_of,
)
from schedlab.api.views.core import NodeSelectorTerm, Volume
from schedlab.api.views.storage import CSINode, PersistentVolume

ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
BETA_ZONE, BETA_REGION = "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"
GKE_ZONE = "topology.gke.io/zone"
DISK = {"gcePersistentDisk": {"pdName": "d"}}


def inline(**source: Any) -> Volume:
    return msgspec.convert({"name": "v", **source}, Volume)


def volume(labels: dict[str, str] | None = None, terms: Any = None, **source: Any) -> PersistentVolume:
    affinity = {} if terms is None else {"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}}
    raw = {"metadata": {"name": "v", "labels": labels or {}}, "spec": {**source, **affinity}}
    return msgspec.convert(raw, PersistentVolume)


def terms_of(translated: PersistentVolume) -> list[dict[str, tuple[str, ...]]]:
    affinity = translated.spec.node_affinity
    if affinity is None or affinity.required is None:
        return []

    def shown(term: NodeSelectorTerm) -> dict[str, tuple[str, ...]]:
        return {each.key: each.values for each in term.match_expressions}

    return [shown(term) for term in affinity.required.node_selector_terms]


def within(**labels: str) -> dict[str, Any]:
    keys = {"zone": ZONE, "region": REGION, "beta_zone": BETA_ZONE, "beta_region": BETA_REGION, "disk": "disk"}
    expressions = [{"key": keys[key], "operator": "In", "values": values.split(",")} for key, values in labels.items()]
    return {"matchExpressions": expressions}


@pytest.mark.parametrize(
    ("source", "name", "driver"),
    [
        (DISK, "kubernetes.io/gce-pd", "pd.csi.storage.gke.io"),
        ({"awsElasticBlockStore": {"volumeID": "v"}}, "kubernetes.io/aws-ebs", "ebs.csi.aws.com"),
        ({"cinder": {"volumeID": "v"}}, "kubernetes.io/cinder", "cinder.csi.openstack.org"),
        ({"azureDisk": {"diskName": "d", "diskURI": "u"}}, "kubernetes.io/azure-disk", "disk.csi.azure.com"),
        ({"portworxVolume": {"volumeID": "v"}}, "kubernetes.io/portworx-volume", "pxd.portworx.com"),
        ({"azureFile": {"shareName": "s"}}, "kubernetes.io/azure-file", "file.csi.azure.com"),
        ({"vsphereVolume": {"volumePath": "p"}}, "kubernetes.io/vsphere-volume", "csi.vsphere.vmware.com"),
    ],
)
def test_sources_have_a_built_in_plugin_and_the_driver_that_took_over(
    source: dict[str, Any], name: str, driver: str
) -> None:
    for plugin in (plugin_of(inline(**source)), plugin_of(volume(**source).spec), plugin_named(name)):
        assert plugin is not None
        assert (plugin.name, plugin.driver) == (name, driver)


def test_other_sources_have_none() -> None:
    assert plugin_of(inline(emptyDir={})) is None
    assert plugin_of(volume(csi={"driver": "d", "volumeHandle": "h"}).spec) is None
    assert plugin_named("csi.example.com") is None


@pytest.mark.parametrize(
    ("source", "handle"),
    [
        (DISK, "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d"),
        ({"awsElasticBlockStore": {"volumeID": "vol-1"}}, "vol-1"),
        ({"awsElasticBlockStore": {"volumeID": "aws://zone/vol-1"}}, "vol-1"),
        ({"awsElasticBlockStore": {"volumeID": "aws:///vol-1"}}, "vol-1"),
        ({"cinder": {"volumeID": "c"}}, "c"),
        ({"azureDisk": {"diskName": "d", "diskURI": "u", "kind": "managed"}}, "u"),
        ({"azureDisk": {"diskName": "d", "diskURI": "u"}}, "u"),
        ({"portworxVolume": {"volumeID": "p"}}, "p"),
    ],
)
def test_handles_follow_from_the_source(source: dict[str, Any], handle: str) -> None:
    """In pods and in volumes alike as long as a volume has no labels."""
    assert inline_handle(inline(**source)) == handle
    csi = as_csi(volume(**source)).spec.csi
    assert csi is not None
    assert csi.volume_handle == handle


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (
            {"awsElasticBlockStore": {"volumeID": "aws://zone/disk"}},
            "failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume (aws://zone/disk)",
        ),
        (
            {"azureDisk": {"diskName": "d", "diskURI": "u", "kind": "Shared"}},
            "kind(Shared) is not supported in csi migration",
        ),
    ],
)
def test_what_the_driver_could_not_have_made_is_an_error(source: dict[str, Any], text: str) -> None:
    for translate in (lambda: inline_handle(inline(**source)), lambda: as_csi(volume(**source))):
        with pytest.raises(TranslationError) as caught:
            translate()
        assert str(caught.value) == text


@pytest.mark.parametrize(
    ("labels", "place"),
    [
        ({ZONE: "eu-west-a"}, "zones/eu-west-a"),
        ({BETA_ZONE: "eu-west-b", ZONE: "eu-west-a"}, "zones/eu-west-b"),
        ({ZONE: "eu-west-a__eu-west-b"}, "regions/eu-west"),
        ({ZONE: ""}, "zones/UNSPECIFIED"),
    ],
)
def test_a_google_disk_is_named_after_its_zone_or_region(labels: dict[str, str], place: str) -> None:
    csi = as_csi(volume(labels, **DISK)).spec.csi

    assert csi is not None
    assert csi.volume_handle == f"projects/UNSPECIFIED/{place}/disks/d"


@pytest.mark.parametrize(
    ("zones", "text"),
    [
        ("eu-west-a__west", "zone in unexpected format, expected: {locale}-{region}-{zone}, got: west"),
        ("eu-west-a__us-east-b", "multiple or no regions gotten from zones, got: map[eu-west:{} us-east:{}]"),
    ],
)
def test_zones_of_no_one_region_are_an_error(zones: str, text: str) -> None:
    with pytest.raises(TranslationError) as caught:
        as_csi(volume({ZONE: zones}, **DISK))

    assert str(caught.value) == f"failed to get region from zones: {text}"


@pytest.mark.parametrize(
    ("labels", "terms", "expected"),
    [
        ({}, None, []),
        ({ZONE: "z-z-1"}, None, [{GKE_ZONE: ("z-z-1",)}]),
        ({BETA_ZONE: "z-z-2__z-z-1"}, None, [{GKE_ZONE: ("z-z-1", "z-z-2")}]),
        ({ZONE: "z-z-1"}, [within(zone="z-z-2")], [{GKE_ZONE: ("z-z-2",)}]),
        ({}, [within(beta_zone="z-z-2", beta_region="r")], [{GKE_ZONE: ("z-z-2",), REGION: ("r",)}]),
        ({}, [within(zone="z-z-2", beta_region="r")], [{GKE_ZONE: ("z-z-2",), BETA_REGION: ("r",)}]),
        (
            {ZONE: "z-z-1"},
            [within(disk="ssd"), within(region="r")],
            [
                {"disk": ("ssd",), GKE_ZONE: ("z-z-1",)},
                {REGION: ("r",), GKE_ZONE: ("z-z-1",)},
            ],
        ),
        ({REGION: "r"}, [within(disk="ssd")], [{"disk": ("ssd",)}]),
        ({ZONE: ""}, None, []),
    ],
)
def test_zones_are_asked_for_under_the_label_of_the_driver(
    labels: dict[str, str], terms: Any, expected: list[dict[str, tuple[str, ...]]]
) -> None:
    """Those of the node affinity, else those of the volume's labels; old region labels get their new name."""
    assert terms_of(as_csi(volume(labels, terms, **DISK))) == expected


def test_some_drivers_leave_zones_as_they_are() -> None:
    source = {"azureDisk": {"diskName": "d", "diskURI": "u"}}

    assert terms_of(as_csi(volume({}, [within(zone="z")], **source))) == [{ZONE: ("z",)}]


@pytest.mark.parametrize(
    ("annotation", "migrated"),
    [("kubernetes.io/gce-pd", True), ("kubernetes.io/cinder,kubernetes.io/gce-pd", True), ("x", False), ("", False)],
)
def test_a_csi_node_names_the_plugins_that_are_migrated(annotation: str, *, migrated: bool) -> None:
    raw = {"metadata": {"annotations": {"storage.alpha.kubernetes.io/migrated-plugins": annotation}}}
    plugin, other = plugin_named("kubernetes.io/gce-pd"), plugin_named("kubernetes.io/azure-file")
    assert plugin is not None
    assert other is not None

    assert is_migrated_on(plugin, msgspec.convert(raw, CSINode)) is migrated
    assert not is_migrated_on(plugin, None)
    raw["metadata"]["annotations"] = {"storage.alpha.kubernetes.io/migrated-plugins": other.name}
    assert not is_migrated_on(other, msgspec.convert(raw, CSINode))
