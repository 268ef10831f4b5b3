"""Volumes of drivers that were built into Kubernetes, as the CSI drivers that took over see them.

Only what the scheduler asks for: driver, handle and node affinity. Azure files and vSphere disks have drivers that took
over, too, but the scheduler never looks at such volumes with their eyes.

Mirrors: staging/src/k8s.io/csi-translation-lib (v1.36), isCSIMigrationOnForPlugin and isPluginMigratedToCSIOnNode of
pkg/scheduler/framework/plugins/volumebinding/binder.go.
Differs: nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import urlsplit

from msgspec.structs import replace

from schedlab.api.rules.topology import REGION, REGION_BETA, ZONE, ZONE_BETA
from schedlab.api.views.core import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from schedlab.api.views.storage import CSIPersistentVolumeSource, VolumeNodeAffinity

if TYPE_CHECKING:
    from schedlab.api.views.core import AWSElasticBlockStore, AzureDisk, Volume
    from schedlab.api.views.storage import CSINode, PersistentVolume, PersistentVolumeSpec

MIGRATED_PLUGINS: Final = "storage.alpha.kubernetes.io/migrated-plugins"

_ZONE_DELIMITER: Final = "__"
_UNSPECIFIED: Final = "UNSPECIFIED"
_EBS_VOLUME: Final = re.compile(r"vol-[^/]*")


class TranslationError(ValueError):
    """A volume that its CSI driver could not have made."""


class InTreePlugin(NamedTuple):
    """A driver that was built in.

    topology_key: the label of nodes that the CSI driver uses for zones, "" when zones are left as they are.
    is_migrated: whether the scheduler looks at its volumes as the CSI driver does.
    """

    name: str
    driver: str
    topology_key: str = ""
    is_migrated: bool = True


#: By the attribute of the views that holds the source.
_PLUGINS: Final[Mapping[str, InTreePlugin]] = {
    "gce_persistent_disk": InTreePlugin("kubernetes.io/gce-pd", "pd.csi.storage.gke.io", "topology.gke.io/zone"),
    "aws_elastic_block_store": InTreePlugin(
        "kubernetes.io/aws-ebs", "ebs.csi.aws.com", "topology.ebs.csi.aws.com/zone"
    ),
    "cinder": InTreePlugin(
        "kubernetes.io/cinder", "cinder.csi.openstack.org", "topology.cinder.csi.openstack.org/zone"
    ),
    "azure_disk": InTreePlugin("kubernetes.io/azure-disk", "disk.csi.azure.com"),
    "portworx_volume": InTreePlugin("kubernetes.io/portworx-volume", "pxd.portworx.com"),
    "azure_file": InTreePlugin("kubernetes.io/azure-file", "file.csi.azure.com", is_migrated=False),
    "vsphere_volume": InTreePlugin("kubernetes.io/vsphere-volume", "csi.vsphere.vmware.com", is_migrated=False),
}
_BY_NAME: Final[Mapping[str, InTreePlugin]] = {plugin.name: plugin for plugin in _PLUGINS.values()}


def plugin_of(source: Volume | PersistentVolumeSpec) -> InTreePlugin | None:
    """Return the driver of a volume that was built in, None for all others."""
    return next((plugin for name, plugin in _PLUGINS.items() if getattr(source, name) is not None), None)


def plugin_named(name: str) -> InTreePlugin | None:
    """Return the driver that was built in under a name (a provisioner of a storage class)."""
    return _BY_NAME.get(name)


def is_migrated_on(plugin: InTreePlugin, node: CSINode | None) -> bool:
    """Whether the kubelet of a node says that it leaves the volumes of a driver to the CSI driver."""
    if node is None or not plugin.is_migrated:
        return False
    return plugin.name in node.metadata.annotations.get(MIGRATED_PLUGINS, "").split(",")


# --- Volumes of pods ---


def inline_handle(volume: Volume) -> str:
    """Return the handle under which the CSI driver knows a volume that is written into a pod."""
    if volume.gce_persistent_disk is not None:
        return _gce_handle("zones", _UNSPECIFIED, volume.gce_persistent_disk.pd_name)
    if volume.aws_elastic_block_store is not None:
        return _ebs_handle(volume.aws_elastic_block_store)
    if volume.azure_disk is not None:
        return _azure_handle(volume.azure_disk)
    if volume.cinder is not None:
        return volume.cinder.volume_id
    if volume.portworx_volume is not None:
        return volume.portworx_volume.volume_id
    return ""


# --- Persistent volumes ---


def as_csi(volume: PersistentVolume) -> PersistentVolume:
    """Return a volume of a built-in driver that is migrated as one of its CSI driver."""
    plugin = plugin_of(volume.spec)
    assert plugin is not None, f"volume {volume.metadata.name} has nothing to translate"
    changed = replace(
        volume,
        spec=replace(volume.spec, csi=CSIPersistentVolumeSource(driver=plugin.driver, volume_handle=_handle(volume))),
    )
    return _with_topology(changed, plugin.topology_key) if plugin.topology_key else changed


def _handle(volume: PersistentVolume) -> str:
    spec = volume.spec
    if spec.gce_persistent_disk is not None:
        return _gce_handle(*_gce_place(volume.metadata.labels), spec.gce_persistent_disk.pd_name)
    if spec.aws_elastic_block_store is not None:
        return _ebs_handle(spec.aws_elastic_block_store)
    if spec.azure_disk is not None:
        return _azure_handle(spec.azure_disk)
    if spec.cinder is not None:
        return spec.cinder.volume_id
    assert spec.portworx_volume is not None
    return spec.portworx_volume.volume_id


def _gce_handle(scope: str, place: str, disk: str) -> str:
    return f"projects/{_UNSPECIFIED}/{scope}/{place}/disks/{disk}"


def _gce_place(labels: Mapping[str, str]) -> tuple[str, str]:
    """Return (zones or regions, which): a disk in several zones is one of their region."""
    zones = (labels.get(ZONE_BETA) or labels.get(ZONE, "")).split(_ZONE_DELIMITER)
    if len(zones) == 1:
        return "zones", zones[0] or _UNSPECIFIED
    return "regions", _gce_region(zones)


def _gce_region(zones: list[str]) -> str:
    regions: dict[str, None] = {}
    for zone in zones:
        parts = zone.split("-")
        if len(parts) != 3:
            raise TranslationError(
                "failed to get region from zones: zone in unexpected format, "
                f"expected: {{locale}}-{{region}}-{{zone}}, got: {zone}"
            )
        regions["-".join(parts[:2])] = None
    if len(regions) != 1:
        # Written as Go writes a set.
        shown = "map[" + " ".join(f"{region}:{{}}" for region in sorted(regions)) + "]"
        raise TranslationError(
            f"failed to get region from zones: multiple or no regions gotten from zones, got: {shown}"
        )
    return next(iter(regions))


def _ebs_handle(source: AWSElasticBlockStore) -> str:
    if not source.volume_id.startswith("aws://"):
        return source.volume_id
    handle = urlsplit(source.volume_id).path.strip("/")
    if not _EBS_VOLUME.fullmatch(handle):
        raise TranslationError(
            f"failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume ({source.volume_id})"
        )
    return handle


def _azure_handle(source: AzureDisk) -> str:
    if source.kind is not None and source.kind.lower() != "managed":
        raise TranslationError(f"kind({source.kind}) is not supported in csi migration")
    return source.disk_uri


# --- Zones ---


def _with_topology(volume: PersistentVolume, key: str) -> PersistentVolume:
    """Let a volume's zone be asked for under the label of the CSI driver."""
    terms = _terms_of(volume)
    labels = volume.metadata.labels
    zone, region = _labels_in_use(terms, labels)
    if _values_of(terms, zone):
        terms = _each_requirement(terms, lambda each: replace(each, key=key) if each.key == zone else each)
    elif zones := sorted({name.strip() for name in labels.get(zone, "").split(_ZONE_DELIMITER)} - {""}):
        wanted = NodeSelectorRequirement(key=key, operator="In", values=tuple(zones))
        terms = tuple(
            replace(term, match_expressions=(*term.match_expressions, wanted))
            for term in terms or (NodeSelectorTerm(),)
        )
    if region == REGION_BETA and _values_of(terms, REGION_BETA):
        # New nodes have only the stable label.
        terms = _each_requirement(terms, lambda each: replace(each, key=REGION) if each.key == REGION_BETA else each)
    if terms == _terms_of(volume):
        return volume
    affinity = VolumeNodeAffinity(required=NodeSelector(node_selector_terms=terms))
    return replace(volume, spec=replace(volume.spec, node_affinity=affinity))


def _terms_of(volume: PersistentVolume) -> tuple[NodeSelectorTerm, ...]:
    affinity = volume.spec.node_affinity
    return () if affinity is None or affinity.required is None else affinity.required.node_selector_terms


def _labels_in_use(terms: tuple[NodeSelectorTerm, ...], labels: Mapping[str, str]) -> tuple[str, str]:
    """Return the labels of zone and region that the volume uses: in its node affinity, else on itself."""
    keys = {each.key for term in terms for each in term.match_expressions}
    for used in (keys, labels):
        if ZONE in used:
            return ZONE, REGION
        if ZONE_BETA in used:
            return ZONE_BETA, REGION_BETA
    return ZONE, REGION


def _values_of(terms: tuple[NodeSelectorTerm, ...], key: str) -> list[str]:
    return [value for term in terms for each in term.match_expressions if each.key == key for value in each.values]


def _each_requirement(
    terms: tuple[NodeSelectorTerm, ...], change: Callable[[NodeSelectorRequirement], NodeSelectorRequirement]
) -> tuple[NodeSelectorTerm, ...]:
    return tuple(replace(term, match_expressions=tuple(map(change, term.match_expressions))) for term in terms)
