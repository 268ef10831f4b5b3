"""Which plugin flipped a choice, from two records of the same pod."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from schedlab.scheduler.framework.record import CycleRecord
from schedlab.whatif.flips import Flip, flipped
from schedlab.whatif.forks import fork
from schedlab.whatif.trial import Trial, pod_of
from tests.unit.whatif.whatif_cluster import Json, Lab


def record_of(lab: Lab, name: str = "p", config: Json | None = None) -> CycleRecord:
    """Return what would come of a pod now, with another configuration if one is given."""
    cluster = lab.cluster if config is None else fork(lab.cluster, scheduler_config=(config, "test"))
    trial = Trial.of(cluster)
    stored = trial.listers.lister("pods").stored(name, "default")
    assert stored is not None
    return trial.attempt(pod_of(stored))


def config(**plugins: int | None) -> Json:
    """Return a configuration with other weights; None disables a plugin."""
    disabled = [{"name": name} for name in plugins]
    enabled = [{"name": name, "weight": weight} for name, weight in plugins.items() if weight is not None]
    profile = {"schedulerName": "default-scheduler", "plugins": {"score": {"disabled": disabled, "enabled": enabled}}}
    kind: Mapping[str, Any] = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    return {**kind, "profiles": [profile]}


def flip(before: CycleRecord, after: CycleRecord) -> Flip:
    found = flipped(before, after)

    assert found is not None
    assert (found.before, found.after) == (before.selected, after.selected)
    return found


def gated(lab: Lab, **spec: Any) -> None:
    """Add the pod that is asked about; its gate keeps it waiting."""
    lab.pod("p", schedulingGates=[{"name": "example.com/wait"}], **spec)
    lab.settle()


def test_the_same_choice_is_no_flip() -> None:
    lab = Lab(nodes=2)
    gated(lab)
    record = record_of(lab)

    assert flipped(record, record) is None


def test_other_weights() -> None:
    lab = Lab()
    lab.node("roomy", cpu="8", taints=[{"key": "k", "effect": "PreferNoSchedule"}])
    lab.node("tight", cpu="4")
    lab.settle()
    gated(lab, cpu="2")

    found = flip(record_of(lab, config=config(TaintToleration=10)), record_of(lab, config=config(TaintToleration=None)))
    assert (found.before, found.after, found.how, found.plugin) == ("tight", "roomy", "score", "TaintToleration")
    assert found.reason == "TaintToleration now gives roomy +0 points over tight, before it were -1000"
    assert found.differences["TaintToleration"] == (-1000, 0)


def test_a_filter_that_turns_the_old_choice_down_now() -> None:
    lab = Lab()
    lab.node("a", cpu="8")
    lab.node("b", cpu="4")
    lab.settle()
    gated(lab, cpu="1")
    before = record_of(lab)
    lab.patch("nodes", "a", {"spec": {"unschedulable": True}})
    lab.settle()

    found = flip(before, record_of(lab))
    assert (found.before, found.after, found.how, found.plugin) == ("a", "b", "filter", "NodeUnschedulable")
    assert found.reason == "a: NodeUnschedulable turns it down: node(s) were unschedulable"


def test_a_filter_that_no_longer_turns_the_new_choice_down() -> None:
    lab = Lab()
    lab.node("a", cpu="1")
    lab.settle()
    lab.pod("there", cpu="1")
    lab.settle()
    gated(lab, cpu="1")
    before = record_of(lab)
    lab.cluster.registry.delete("pods", "there", "default")
    lab.settle(40)

    found = flip(before, record_of(lab))
    assert (found.before, found.after, found.plugin) == ("", "a", "NodeResourcesFit")
    assert found.reason == "a: NodeResourcesFit no longer turns it down (Insufficient cpu)"


def test_nodes_that_come_and_go() -> None:
    lab = Lab()
    lab.node("a")
    lab.settle()
    gated(lab)
    before = record_of(lab)
    lab.cluster.registry.delete("nodes", "a")
    lab.settle()
    between = record_of(lab)
    lab.node("b")
    lab.settle()
    after = record_of(lab)

    assert (flip(before, between).how, flip(before, between).reason) == ("nodes", "a is not there")
    assert (flip(between, after).how, flip(between, after).reason) == ("nodes", "b is new")


def test_a_pod_that_loses_its_only_node() -> None:
    lab = Lab()
    lab.node("a")
    lab.settle()
    gated(lab)
    before = record_of(lab)
    lab.patch("nodes", "a", {"spec": {"taints": [{"key": "k", "effect": "NoSchedule"}]}})
    lab.settle()

    found = flip(before, record_of(lab))
    assert (found.after, found.plugin) == ("", "TaintToleration")


def test_a_cycle_that_ends_before_any_node_is_looked_at() -> None:
    lab = Lab(nodes=1)
    gated(lab)
    before = record_of(lab)
    lab.cluster.registry.delete("pods", "p", "default")
    volume = {"name": "v", "persistentVolumeClaim": {"claimName": "missing"}}
    gated(lab, volumes=[volume])

    found = flip(before, record_of(lab))
    assert (found.how, found.plugin) == ("cycle", "VolumeRestrictions")
    assert 'persistentvolumeclaim "missing" not found' in found.reason


def test_a_tie_that_is_broken_otherwise() -> None:
    lab = Lab(nodes=4)
    gated(lab)
    before = record_of(lab)
    lab.cluster.scheduler.next_start_node_index = 2
    after = record_of(lab)

    found = flip(before, after)
    assert (found.how, found.plugin) == ("tie", "")


def test_the_search_that_ends_elsewhere() -> None:
    lab = Lab(nodes=300)
    gated(lab)
    before = record_of(lab)
    lab.cluster.scheduler.next_start_node_index = 150
    after = record_of(lab)

    found = flip(before, after)
    assert (found.how, found.plugin) == ("search", "")
