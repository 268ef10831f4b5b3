"""Following a cluster: order, what is not copied, volumes that wait, and how far two schedulers agree."""

from __future__ import annotations

from typing import Any

from schedlab.mirror.applier import Applier
from schedlab.mirror.kinds import PRIORITY_CLASSES
from schedlab.mirror.syncer import Syncer
from schedlab.registry import DeleteOptions, Registry
from tests.support.clusters import Lab, PromptClient


class Pair:
    """A real cluster with a scheduler of its own, and one here that follows it."""

    def __init__(self) -> None:
        self.there = Lab(nodes=2)
        self.here = Lab(seed=2)
        self.there.run()
        self.syncer = Syncer(_client(self.there.registry), self.here.registry, self.here.clock)

    def run(self) -> None:
        self.there.run()
        self.here.run()


def _client(registry: Registry) -> PromptClient:
    return PromptClient(registry, "schedlab-mirror")


def test_what_is_there_comes_first_and_then_every_change() -> None:
    pair = Pair()
    pair.there.create("namespaces", {"metadata": {"name": "before"}})
    pair.syncer.start()
    pair.run()
    before = pair.here.names("namespaces")
    pair.there.create("namespaces", {"metadata": {"name": "after"}})
    pair.there.registry.delete("nodes", "node-0")
    pair.run()

    assert "before" in before
    assert "after" in pair.here.names("namespaces")
    assert pair.here.names("nodes") == ["node-1"]


def test_pods_that_run_there_run_here_and_new_ones_are_scheduled_here() -> None:
    pair = Pair()
    pair.there.create_pod("old")
    pair.there.run()
    pair.syncer.start()
    pair.run()
    pair.there.create_pod("new")
    pair.run()

    assert pair.here.nodes_of_pods()["old"] == pair.there.nodes_of_pods()["old"]
    assert pair.here.nodes_of_pods()["new"]
    assert pair.syncer.applied.skipped["Update pods: bound in the source"] >= 1
    attempts = [story.name for story in pair.here.cluster.log.stories()]
    assert attempts == ["new"]


def test_agreement_counts_the_pods_that_both_have_placed() -> None:
    pair = Pair()
    pair.syncer.start()
    pair.run()
    for number in range(6):
        pair.there.create_pod(f"p-{number}")
        pair.run()
    agreement = pair.syncer.agreement()
    both = {name: (node, pair.here.nodes_of_pods()[name]) for name, node in pair.there.nodes_of_pods().items()}

    assert agreement.same == sum(there == here for there, here in both.values())
    assert agreement.different == sum(there != here for there, here in both.values())
    assert {name for name, _, _, _ in agreement.pods} == {f"default/{n}" for n, (a, b) in both.items() if a != b}
    assert agreement.only_there == agreement.only_here == 0


def test_a_bound_volume_waits_for_its_claim() -> None:
    pair = Pair()
    reference = {"kind": "PersistentVolumeClaim", "namespace": "default", "name": "c"}
    volume: dict[str, Any] = {
        "metadata": {"name": "v"},
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "hostPath": {"path": "/v"},
            "claimRef": reference,
        },
    }
    pair.there.create("persistentvolumes", volume)
    bound = {"status": {"phase": "Bound"}}
    pair.there.registry.patch("persistentvolumes", "v", "merge", bound, "", subresource="status")
    pair.syncer.start()
    pair.here.run()
    waiting = pair.syncer.as_json()["volumesWithoutClaim"], pair.here.names("persistentvolumes")
    claim = {
        "metadata": {"name": "c"},
        "spec": {
            "resources": {"requests": {"storage": "1Gi"}},
            "accessModes": ["ReadWriteOnce"],
            "volumeName": "v",
            "storageClassName": "",
        },
    }
    pair.there.create("persistentvolumeclaims", claim, "default")
    pair.here.run()

    assert waiting == (["v"], [])
    uid = pair.here.registry.get("persistentvolumeclaims", "c", "default").uid
    assert pair.here.registry.get("persistentvolumes", "v").raw["spec"]["claimRef"]["uid"] == uid
    assert pair.syncer.backlog == 0


def test_the_source_is_never_written() -> None:
    pair = Pair()
    pair.there.create_pod("a")
    pair.there.run()
    revision = pair.there.registry.revision
    pair.syncer.start()
    pair.here.run(60)

    assert pair.there.registry.revision == revision


def test_a_pod_that_comes_again_while_its_forerunner_still_ends_here_is_not_lost() -> None:
    pair = Pair()
    pair.syncer.start()
    pair.run()
    pair.there.create_pod("db-0")
    pair.run()
    first = pair.here.registry.get("pods", "db-0", "default").uid
    pair.there.registry.delete("pods", "db-0", "default", DeleteOptions(grace_period_seconds=0))
    pair.there.create_pod("db-0")
    pair.here.run(0.01)
    pair.run()

    assert pair.here.registry.get("pods", "db-0", "default").uid != first
    assert pair.here.nodes_of_pods()["db-0"]
    assert pair.syncer.applied.tolerated == {}


def test_whoever_follows_again_gets_what_has_changed_meanwhile() -> None:
    pair = Pair()
    pair.syncer.start()
    pair.run()
    pair.syncer.stop()
    pair.there.registry.patch("nodes", "node-0", "merge", {"spec": {"unschedulable": True}})
    pair.run()
    again = Syncer(_client(pair.there.registry), pair.here.registry, pair.here.clock)
    again.start()
    pair.run()

    assert pair.here.registry.get("nodes", "node-0").view.spec.unschedulable
    assert again.applied.tolerated == again.applied.failed == {}


def test_a_source_that_starts_anew_takes_nothing_away_that_every_cluster_has() -> None:
    applier = Applier(Lab().registry)
    for resource, name in (("namespaces", "default"), (PRIORITY_CLASSES.resource, "system-node-critical")):
        applier.apply("Delete", resource, {"metadata": {"name": name}})

    assert applier.applied.failed == applier.applied.done == {}
    assert sum(applier.applied.skipped.values()) == 2


def test_reasons_are_looked_up_once_for_each_place() -> None:
    pair = Pair()
    asked: list[str] = []

    def why_not(_namespace: str, name: str, _node: str) -> str:
        asked.append(name)
        return "luck"

    pair.syncer = Syncer(_client(pair.there.registry), pair.here.registry, pair.here.clock, why_not)
    pair.syncer.start()
    pair.run()
    pair.here.registry.patch("nodes", "node-0", "merge", {"spec": {"unschedulable": True}})
    for number in range(4):
        pair.there.create_pod(f"p-{number}")
        pair.run()
    first = pair.syncer.agreement()
    count = len(asked)

    assert first.different == count > 0
    assert pair.syncer.agreement().reasons == {"luck": count}
    assert len(asked) == count


def test_changes_of_pods_reach_those_that_run_here_on_nodes_of_ours() -> None:
    pair = Pair()
    pair.there.registry.patch("nodes", "node-0", "merge", {"spec": {"unschedulable": True}})
    pair.there.registry.patch("nodes", "node-1", "merge", {"spec": {"unschedulable": True}})
    pair.syncer.start()
    pair.run()
    for node in ("node-0", "node-1"):
        pair.here.registry.patch("nodes", node, "merge", {"spec": {"unschedulable": False, "taints": None}})
    pair.there.create_pod("p")
    pair.run()
    placed = pair.here.nodes_of_pods()["p"]
    pair.there.registry.patch("pods", "p", "merge", {"metadata": {"labels": {"team": "a"}}}, "default")
    pair.run()

    assert placed
    assert pair.here.nodes_of_pods()["p"] == placed
    assert pair.here.registry.get("pods", "p", "default").labels == {"team": "a"}
    assert pair.syncer.applied.tolerated == {}
