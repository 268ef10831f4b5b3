"""StatefulSets with claims, and pods with ephemeral volumes, whatever users and other writers do to them."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st
from hypothesis.stateful import rule

from tests.property.controllers import (
    MACHINE_SETTINGS,
    ControllersMachine,
    active,
    names,
    pod_spec,
    policies,
    positions,
    selecting,
)
from tests.support.control_plane import Object

SETS, CLAIMS = "statefulsets.apps", "persistentvolumeclaims"
VOLUMES, ATTACHMENTS = "persistentvolumes", "volumeattachments.storage.k8s.io"
CLAIM_SPEC = {
    "accessModes": ["ReadWriteOnce"],
    "storageClassName": "s",
    "resources": {"requests": {"storage": "1Gi"}},
}

retentions = st.sampled_from(["Retain", "Delete"])


def check_set(machine: ControllersMachine, found: Object, mine: Sequence[Object]) -> None:
    """Each ordinal has one pod of the wanted revision and a bound claim; nothing runs beyond them."""
    name, spec, status = found["metadata"]["name"], found["spec"], found["status"]
    wanted = [f"{name}-{ordinal}" for ordinal in range(spec["replicas"])]
    partition = (spec["updateStrategy"].get("rollingUpdate") or {}).get("partition", 0)
    claims = {each["metadata"]["name"]: each for each in machine.plane.all(CLAIMS)}

    assert sorted(pod["metadata"]["name"] for pod in active(mine)) == sorted(wanted)
    assert status["replicas"] == status.get("availableReplicas", 0) == spec["replicas"]
    for pod in active(mine):
        ordinal = int(pod["metadata"]["name"].rpartition("-")[2])
        assert claims[f"data-{pod['metadata']['name']}"]["status"]["phase"] == "Bound"
        if ordinal >= partition:
            assert pod["metadata"]["labels"]["controller-revision-hash"] == status["updateRevision"]
    # A claim outlives a pod that somebody else has deleted before it was one too many, as upstream.
    wanted += machine.meddler.deleted
    if spec["persistentVolumeClaimRetentionPolicy"]["whenScaled"] == "Delete":
        assert not [each for each in claims if each.startswith(f"data-{name}-") and each[5:] not in wanted]


class StatefulMachine(ControllersMachine):
    """StatefulSets, with everything that looks after volumes."""

    controllers = (
        "garbage-collector-controller",
        "statefulset-controller",
        "persistentvolume-binder-controller",
        "persistentvolumeclaim-protection-controller",
        "persistentvolume-protection-controller",
        "persistentvolume-attach-detach-controller",
        "ephemeral-volume-controller",
        "simulated-provisioner",
        "simulated-attacher",
    )
    resources = (SETS, "controllerrevisions.apps", CLAIMS, VOLUMES, ATTACHMENTS)
    checks = {"StatefulSet": check_set}

    def prepare(self) -> None:
        self.plane.node("n1")
        fields = {"provisioner": "p", "volumeBindingMode": "Immediate"}
        self.plane.create("csidrivers.storage.k8s.io", {"metadata": {"name": "p"}, "spec": {}})
        self.plane.create("storageclasses.storage.k8s.io", {"metadata": {"name": "s"}, **fields})

    @rule(name=names, replicas=st.integers(0, 3), parallel=st.booleans(), scaled=retentions, deleted=retentions)
    def create_set(self, name: str, replicas: int, parallel: bool, scaled: str, deleted: str) -> None:  # noqa: FBT001
        # Claims of a former set of the name are nobody's any more, and may have gone half.
        if any(each.startswith(f"data-{name}-") for each in self.plane.names(CLAIMS)):
            return
        spec = {
            "replicas": replicas,
            "serviceName": name,
            "podManagementPolicy": "Parallel" if parallel else "OrderedReady",
            "persistentVolumeClaimRetentionPolicy": {"whenScaled": scaled, "whenDeleted": deleted},
            "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": CLAIM_SPEC}],
            **selecting(name),
        }
        self.create(SETS, name, spec)

    @rule(position=positions)
    def delete_pod(self, position: int) -> None:
        self.meddler.deleted += [pod["metadata"]["name"] for pod in self.chosen(position)]
        super().delete_pod(position)

    def node_for(self, pod: Object) -> str:
        """Pods whose claims are not there are not scheduled; that is told, and the controller looks at them again."""
        if set(_claims_of(pod)) <= set(self.plane.names(CLAIMS)):
            return super().node_for(pod)
        unscheduled = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
        self.plane.patch(
            "pods", pod["metadata"]["name"], {"status": {"conditions": [unscheduled]}}, subresource="status"
        )
        return ""

    @rule(name=names, size=st.integers(0, 3))
    def scale(self, name: str, size: int) -> None:
        self.patch(SETS, name, {"spec": {"replicas": size}})

    @rule(name=names, image=st.sampled_from(["i", "j", "k"]), partition=st.integers(0, 2))
    def roll_out(self, name: str, image: str, partition: int) -> None:
        strategy = {"type": "RollingUpdate", "rollingUpdate": {"partition": partition}}
        self.patch(SETS, name, {"spec": {"template": pod_spec(image), "updateStrategy": strategy}})

    @rule(name=names, policy=policies)
    def delete(self, name: str, policy: str) -> None:
        self.attempt(lambda: self.plane.delete(SETS, name, policy))

    @rule(position=positions)
    def delete_claim(self, position: int) -> None:
        claims = self.plane.names(CLAIMS)
        if claims:
            self.attempt(lambda: self.plane.delete(CLAIMS, claims[position % len(claims)]))

    @rule()
    def create_pod_with_ephemeral_volume(self) -> None:
        volume = {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": CLAIM_SPEC}}}
        spec = {**pod_spec()["spec"], "volumes": [volume]}
        self.plane.create("pods", {"metadata": {"generateName": "loose-"}, "spec": spec})

    def may_stay(self, obj: Object) -> bool:
        """A claim goes when no pod uses it any more."""
        return obj["kind"] == "PersistentVolumeClaim" and any(
            obj["metadata"]["name"] in _claims_of(pod) for pod in self.plane.pods()
        )

    def check(self) -> None:
        super().check()
        claims = {each["metadata"]["name"]: each["spec"].get("volumeName", "") for each in self.plane.all(CLAIMS)}
        used = {claims[name] for pod in active(self.plane.pods()) for name in _claims_of(pod) if name in claims}
        attached = [each["spec"]["source"]["persistentVolumeName"] for each in self.plane.all(ATTACHMENTS)]

        assert sorted(attached) == sorted(used), "what is used is attached, once"
        assert set(self.plane.names(VOLUMES)) == set(claims.values()), "volumes come and go with their claims"


def _claims_of(pod: Object) -> list[str]:
    own = pod["metadata"]["name"]
    return [
        f"{own}-{volume['name']}" if "ephemeral" in volume else volume["persistentVolumeClaim"]["claimName"]
        for volume in pod["spec"].get("volumes", ())
    ]


TestStateful = StatefulMachine.TestCase
TestStateful.settings = MACHINE_SETTINGS
