"""NodeVolumeLimits."""

from typing import Any

import pytest

from schedlab.apimachinery.features import FeatureGates
from schedlab.scheduler.framework.events import ActionType, EventResource
from schedlab.scheduler.framework.interface import CycleState
from schedlab.scheduler.framework.status import SKIP
from schedlab.scheduler.plugins.node_volume_limits import ENTRY, REASON_EXCEEDED
from schedlab.testing.builders import PodBuilder, make_node, make_pod
from tests.unit.scheduler.plugins.storage_bench import (
    Raw,
    StorageBench,
    attachment,
    claim,
    csi_driver,
    csi_node,
    storage_class,
    view,
    volume,
)

NODES = (make_node("a"), make_node("b"))
DRIVER = "csi.example.com"
GCE = "kubernetes.io/gce-pd"
NO = REASON_EXCEEDED


def csi(name: str, handle: str = "", driver: str = DRIVER) -> Raw:
    return volume(name, spec={"csi": {"driver": driver, "volumeHandle": handle or name}})


def bound(*names: str, driver: str = DRIVER) -> list[Raw]:
    """Claims bound to volumes of the same names."""
    return [each for name in names for each in (claim(name, volume=name), csi(name, driver=driver))]


def using(*claims: str, name: str = "pod") -> PodBuilder:
    pod = make_pod(name)
    for each in claims:
        pod = pod.claim(each)
    return pod


def inline(**source: Any) -> PodBuilder:
    return make_pod().set("spec.volumes", [{"name": "disk", **source}])


def ephemeral(name: str = "pod") -> PodBuilder:
    return make_pod(name).set("spec.volumes", [{"name": "v", "ephemeral": {}}])


def made_for(pod: str, **fields: Any) -> Raw:
    owner = {"kind": "Pod", "name": pod, "uid": f"uid-default/{pod}", "apiVersion": "v1", "controller": True}
    return claim(f"{pod}-v", metadata={"ownerReferences": [owner]}, **fields)


def test_a_node_takes_as_many_volumes_of_a_driver_as_its_csi_node_says() -> None:
    pods = (using("c1", name="p").node("a"), using("c2", name="q").node("b"), using("c3", name="r").node("b"))
    limits = (csi_node("a", csi_example_com=2), csi_node("b", csi_example_com=2))
    bench = StorageBench(ENTRY, *NODES, *limits, *bound("c1", "c2", "c3", "c4", "c5"), pods=pods)

    assert bench.filter(using("c4")) == {"a": "", "b": NO}
    assert bench.filter(using("c4", "c5")) == {"a": NO, "b": NO}


def test_a_volume_counts_once_per_node() -> None:
    pods = (using("c1", name="p").node("a"), using("c1", name="q").node("a"))
    bench = StorageBench(ENTRY, *NODES, csi_node("a", csi_example_com=1), *bound("c1", "c2"), pods=pods)

    assert bench.filter(using("c1", "c1")) == {"a": "", "b": ""}
    assert bench.filter(using("c2")) == {"a": NO, "b": ""}


def test_drivers_are_counted_apart_and_only_where_there_is_a_limit() -> None:
    others = bound("d1", driver="other.example.com")
    limits = csi_node("a", csi_example_com=1, other_example_com=None)
    pods = (using("c1", "d1", name="p").node("a"),)
    bench = StorageBench(ENTRY, *NODES, limits, csi_node("b"), *bound("c1", "c2"), *others, pods=pods)

    assert bench.filter(using("c2")) == {"a": NO, "b": ""}
    assert bench.filter(using("d1")) == {"a": "", "b": ""}
    bench.put(csi_node("a", csi_example_com=2, other_example_com=0))
    assert bench.filter(using("c2", "d1")) == {"a": "", "b": ""}


def test_claims_without_a_volume_count_as_one_of_their_class() -> None:
    claims = (claim("c1"), claim("c2", volume="gone"), claim("c3", None), claim("c4", "gone"))
    pods = (using("c1", name="p").node("a"),)
    bench = StorageBench(ENTRY, *NODES, csi_node("a", csi_example_com=1), storage_class(), *claims, pods=pods)

    assert bench.filter(using("c1")) == {"a": "", "b": ""}
    assert bench.filter(using("c2")) == {"a": NO, "b": ""}
    assert bench.filter(using("c3", "c4")) == {"a": "", "b": ""}


def test_volumes_of_other_sources_do_not_count() -> None:
    plain = volume("c1", spec={"nfs": {"server": "s", "path": "/"}})
    bench = StorageBench(ENTRY, *NODES, csi_node("a", csi_example_com=0), claim("c1", volume="c1"), plain)

    assert bench.filter(using("c1")) == {"a": "", "b": ""}


def test_attachments_count_as_long_as_they_are_there() -> None:
    limit = csi_node("a", csi_example_com=1)
    bench = StorageBench(ENTRY, *NODES, limit, *bound("c1", "c2"), attachment("x", "a", "c1"))

    assert bench.filter(using("c2")) == {"a": NO, "b": ""}
    # The volume that is attached is the pod's own, but it is not one of a pod there.
    assert bench.filter(using("c1")) == {"a": NO, "b": ""}
    bench.drop("VolumeAttachment", "x")
    bench.put(attachment("x", "b", "c1"), attachment("y", "a", "gone"), attachment("z", "a", "c1", attacher=""))
    assert bench.filter(using("c2")) == {"a": "", "b": ""}
    nameless = attachment("w", "a", "")
    del nameless["spec"]["source"]["persistentVolumeName"]
    bench.put(nameless, volume("plain"), attachment("v", "a", "plain"))
    assert bench.filter(using("c2")) == {"a": "", "b": ""}


def test_an_attached_volume_of_a_pod_there_counts_once() -> None:
    limit = csi_node("a", csi_example_com=2)
    pods = (using("c1", name="p").node("a"),)
    bench = StorageBench(ENTRY, *NODES, limit, *bound("c1", "c2"), attachment("x", "a", "c1"), pods=pods)

    assert bench.filter(using("c2")) == {"a": "", "b": ""}


def test_migrated_disks_count_for_the_driver_that_took_over_where_a_csi_node_tells() -> None:
    """In pods, in volumes and in the provisioners of storage classes; the annotation of the CSINode does not matter."""
    disk = {"gcePersistentDisk": {"pdName": "d"}}
    limit = csi_node("a", pd_csi_storage_gke_io=0)
    objects = (claim("c1", volume="v"), volume("v", spec=disk), claim("c2"), storage_class(provisioner=GCE))
    bench = StorageBench(ENTRY, *NODES, limit, *objects)

    for pod in (inline(**disk), using("c1"), using("c2")):
        assert bench.filter(pod) == {"a": NO, "b": ""}


@pytest.mark.parametrize(
    "source",
    [
        {"azureFile": {"shareName": "s", "secretName": "x"}},
        {"vsphereVolume": {"volumePath": "p"}},
        {"azureDisk": {"diskName": "d", "diskURI": "u", "kind": "Shared"}},
        {"awsElasticBlockStore": {"volumeID": "aws://zone/bad"}},
    ],
)
def test_volumes_that_no_driver_took_over_do_not_count(source: dict[str, Any]) -> None:
    limit = csi_node("a", file_csi_azure_com=0, csi_vsphere_vmware_com=0, disk_csi_azure_com=0, ebs_csi_aws_com=0)
    bench = StorageBench(ENTRY, *NODES, limit, claim("c", volume="v"), volume("v", spec=source))

    assert bench.filter(using("c")) == {"a": "", "b": ""}


def test_provisioners_that_no_driver_took_over_do_not_count() -> None:
    classes = storage_class(provisioner="kubernetes.io/azure-file")
    bench = StorageBench(ENTRY, *NODES, csi_node("a", file_csi_azure_com=0), claim("c"), classes)

    assert bench.filter(using("c")) == {"a": "", "b": ""}


def test_a_disk_that_its_driver_could_not_have_made_is_an_error_in_a_pod() -> None:
    bench = StorageBench(ENTRY, *NODES, csi_node("a", csi_example_com=0), *bound("c"))
    bad = {"awsElasticBlockStore": {"volumeID": "aws://zone/bad"}}
    text = (
        "converting volume(disk) from inline to csi: failed to translate Kubernetes ID to EBS Volume ID "
        "Invalid format for AWS volume (aws://zone/bad)"
    )

    assert bench.filter(inline(**bad)) == {"a": text, "b": ""}
    bench.table.add_pod(bench.table.infos[0], inline(**bad).name("p").node("a").obj())
    assert bench.filter(using("c")) == {"a": text, "b": ""}


def test_a_missing_claim_is_fatal_for_the_pod_and_ignored_for_others() -> None:
    bench = StorageBench(
        ENTRY, *NODES, csi_node("a", csi_example_com=1), *bound("c"), pods=(using("gone", name="p").node("a"),)
    )
    text = 'looking up PVC default/gone: persistentvolumeclaim "gone" not found!'

    assert bench.filter(using("c")) == {"a": "", "b": ""}
    assert bench.filter(using("gone")) == {"a": text, "b": text}


def test_a_claim_without_a_name_is_an_error() -> None:
    text = "PersistentVolumeClaim had no name"

    assert StorageBench(ENTRY, *NODES).filter(using("")) == {"a": text, "b": text}


def test_claims_of_ephemeral_volumes_must_be_made_for_their_pod() -> None:
    bench = StorageBench(ENTRY, *NODES, csi_node("a", csi_example_com=0), storage_class(), made_for("pod"))
    text = "PVC default/pod-v was not created for pod default/pod (pod is not owner)"

    assert bench.filter(ephemeral()) == {"a": NO, "b": ""}
    bench.put(claim("pod-v"))
    assert bench.filter(ephemeral()) == {"a": text, "b": text}


def test_a_foreign_claim_of_a_pod_there_is_an_error_too() -> None:
    objects = (csi_node("a", csi_example_com=1), *bound("c"), claim("p-v"))
    bench = StorageBench(ENTRY, *NODES, *objects, pods=(ephemeral("p").node("a"),))

    assert bench.filter(using("c")) == {
        "a": "PVC default/p-v was not created for pod default/p (pod is not owner)",
        "b": "",
    }


@pytest.mark.parametrize(
    ("opted_in", "gate", "fits"), [(True, True, False), (False, True, True), (None, True, True), (True, False, True)]
)
def test_a_driver_may_ask_not_to_be_missing(*, opted_in: bool | None, gate: bool, fits: bool) -> None:
    """Only under the feature gate, and only a driver that is known and says so."""
    spec: Raw = {} if opted_in is None else {"preventPodSchedulingIfMissing": opted_in}
    bench = StorageBench(
        ENTRY,
        *NODES,
        make_node("c"),
        csi_node("b", other_example_com=None),
        csi_node("c", csi_example_com=None),
        csi_driver(**spec),
        *bound("c1"),
        gates={"VolumeLimitScaling": gate},
    )
    text = "" if fits else f"{DRIVER} CSI driver is not installed on the node"

    assert bench.filter(using("c1")) == {"a": text, "b": text, "c": ""}


def test_unknown_drivers_are_not_missed() -> None:
    assert not FeatureGates.default().enabled("VolumeLimitScaling")
    bench = StorageBench(ENTRY, *NODES, *bound("c1"), gates={"VolumeLimitScaling": True})

    assert bench.filter(using("c1")) == {"a": "", "b": ""}


@pytest.mark.parametrize(
    ("pod", "skipped"),
    [
        (make_pod(), True),
        (inline(configMap={"name": "m"}), True),
        (inline(gcePersistentDisk={"pdName": "d"}), False),
        (inline(azureFile={"shareName": "s", "secretName": "x"}), False),
        (ephemeral(), False),
        (using("c"), False),
    ],
)
def test_pods_without_volumes_that_could_count_are_skipped(pod: PodBuilder, *, skipped: bool) -> None:
    bench = StorageBench(ENTRY, *NODES)

    assert bench.pre_filter(pod) == (None, SKIP if skipped else None)
    if pod.get("spec.volumes") is None:
        assert bench.statuses(pod, CycleState()) == {"a": None, "b": None}


def test_pods_are_followed_as_they_and_nodes_come_and_go() -> None:
    bench = StorageBench(ENTRY, *NODES, csi_node("a", csi_example_com=1), *bound("c1", "c2"))
    table, other = bench.table, using("c1", name="p").node("a").obj()
    assert bench.filter(using("c2")) == {"a": "", "b": ""}

    table.add_pod(table.infos[0], other)
    assert bench.filter(using("c2")) == {"a": NO, "b": ""}
    table.reorder([table.infos[1], table.infos[0]])
    table.set_node(table.infos[1])
    assert bench.filter(using("c2")) == {"b": "", "a": NO}
    table.remove_pod(table.infos[1], other)
    assert bench.filter(using("c2")) == {"b": "", "a": ""}


CSI_NODE_UPDATED = EventResource.CSI_NODE, ActionType.UPDATE
POD_DELETED = EventResource.POD, ActionType.DELETE
CLAIM_ADDED = EventResource.PERSISTENT_VOLUME_CLAIM, ActionType.ADD


def placed(pod: PodBuilder) -> Raw:
    return {"apiVersion": "v1", "kind": "Pod", **pod.node("a").dict()}


def pending(pod: PodBuilder) -> Raw:
    return {"apiVersion": "v1", "kind": "Pod", **pod.dict()}


@pytest.mark.parametrize(
    ("event", "old", "new", "hint"),
    [
        ((EventResource.CSI_NODE, ActionType.ADD), None, csi_node("a"), "queue"),
        (CSI_NODE_UPDATED, csi_node("a", x=1), csi_node("a", x=2), "queue"),
        (CSI_NODE_UPDATED, csi_node("a", x=2), csi_node("a", x=2), "skip"),
        (CSI_NODE_UPDATED, csi_node("a", x=2), csi_node("a", x=1), "skip"),
        (CSI_NODE_UPDATED, csi_node("a"), csi_node("a", x=1), "queue"),
        (CSI_NODE_UPDATED, csi_node("a"), csi_node("a", x=0), "skip"),
        (CSI_NODE_UPDATED, csi_node("a", x=1), csi_node("a", x=None), "skip"),
        (POD_DELETED, placed(using("c")), None, "queue"),
        (POD_DELETED, placed(ephemeral()), None, "queue"),
        (POD_DELETED, placed(inline(gcePersistentDisk={"pdName": "d"})), None, "queue"),
        (POD_DELETED, placed(inline(emptyDir={})), None, "skip"),
        (POD_DELETED, placed(make_pod()), None, "skip"),
        (POD_DELETED, pending(using("c")), None, "skip"),
        (POD_DELETED, pending(using("c").nominated_node("a")), None, "queue"),
        (CLAIM_ADDED, None, claim("c"), "queue"),
        (CLAIM_ADDED, None, claim("other"), "skip"),
        (CLAIM_ADDED, None, claim("c", namespace="elsewhere"), "skip"),
        ((EventResource.PERSISTENT_VOLUME_CLAIM, ActionType.UPDATE), None, claim("c"), "not registered"),
    ],
)
def test_hints(event: tuple[Any, Any], old: Raw | None, new: Raw | None, hint: str) -> None:
    """Higher limits, placed pods with volumes that count, and new claims of the pod help."""
    assert StorageBench(ENTRY).hint(*event, using("c"), view(old), view(new)) == hint


@pytest.mark.parametrize(
    ("pod", "hint"),
    [
        (using("c"), "queue"),
        (ephemeral(), "skip"),
        (make_pod(), "skip"),
        (inline(awsElasticBlockStore={"volumeID": "vol-1"}), "queue"),
        (inline(gcePersistentDisk={"pdName": "d"}), "skip"),
    ],
)
def test_the_end_of_an_attachment_helps_pods_with_claims_or_disks_of_its_driver(pod: PodBuilder, hint: str) -> None:
    gone = view(attachment("x", "a", "v", attacher="ebs.csi.aws.com"))

    assert StorageBench(ENTRY).hint(EventResource.VOLUME_ATTACHMENT, ActionType.DELETE, pod, gone, None) == hint


def test_a_hint_about_a_disk_that_cannot_be_read_is_an_error() -> None:
    gone = view(attachment("x", "a", "v"))
    pod = inline(azureDisk={"diskName": "d", "diskURI": "u", "kind": "Shared"})
    text = r"converting volume\(disk\) from inline to csi: kind\(Shared\) is not supported in csi migration"

    with pytest.raises(ValueError, match=text):
        StorageBench(ENTRY).hint(EventResource.VOLUME_ATTACHMENT, ActionType.DELETE, pod, gone, None)


def test_the_signature_is_made_of_volume_sources() -> None:
    bench = StorageBench(ENTRY)

    assert bench.signature(using("c")) == bench.signature(using("c", name="other"))
    assert bench.signature(using("c")) != bench.signature(using("d"))
