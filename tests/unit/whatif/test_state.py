"""What the scheduler saw at an attempt, and what is said when that is not kept. tests/scenario has the long proof."""

from __future__ import annotations

import pytest

from schedlab.kernel.errors import SchedlabError
from schedlab.whatif.forks import fork
from schedlab.whatif.state import records_of, state_at
from tests.unit.whatif.whatif_cluster import Lab


def test_the_past_is_seen_after_everything_has_changed() -> None:
    lab = Lab(nodes=2)
    lab.pod("p", cpu="50")
    lab.settle()
    (record, *_) = records_of(lab.cluster, "default", "p")
    lab.node("huge", cpu="64")
    lab.cluster.registry.delete("nodes", "node-0")
    lab.settle(30)

    assert lab.node_of("p") == "huge"
    state = state_at(lab.cluster, record)
    again = state.rerun()
    assert sorted(again.node_names) == ["node-0", "node-1"]
    assert again.failure_message == record.failure_message
    assert state.assumed == ()
    assert state.missing == ()


def test_other_pods_can_be_tried_in_the_past() -> None:
    lab = Lab(nodes=1)
    lab.pod("p")
    lab.settle()
    (record,) = records_of(lab.cluster, "default", "p")
    lab.node("huge", cpu="64")
    lab.pod("big", cpu="50")
    lab.settle(30)
    big = records_of(lab.cluster, "default", "big")[-1]

    trial = state_at(lab.cluster, record).trial()
    assert "Insufficient cpu" in trial.attempt(big.pod).failure_message


def test_a_cluster_that_keeps_no_past_says_so() -> None:
    lab = Lab(nodes=1, history=0)
    lab.pod("p")
    lab.settle()
    (record,) = records_of(lab.cluster, "default", "p")

    with pytest.raises(SchedlabError) as caught:
        state_at(lab.cluster, record)
    assert str(caught.value).startswith("this cluster keeps no past")
    assert "--history" in caught.value.hint


def test_attempts_of_before_a_restart_are_lost() -> None:
    lab = Lab(nodes=1)
    lab.pod("p")
    lab.settle()
    (record,) = records_of(lab.cluster, "default", "p")
    restarted = fork(lab.cluster)

    with pytest.raises(SchedlabError, match="attempt 1 of default/p was made before this process began") as caught:
        state_at(restarted, record)
    assert caught.value.hint == "what was decided is kept: schedlab explain default/p --attempt 1"


def test_a_past_that_is_older_than_what_is_kept_says_so() -> None:
    lab = Lab(nodes=1, history=10)
    lab.pod("p")
    lab.settle()
    (record,) = records_of(lab.cluster, "default", "p")
    for number in range(10):
        lab.pod(f"q{number}")
    lab.settle()
    lab.cluster.store.compact(lab.cluster.store.revision)

    with pytest.raises(SchedlabError, match=f"the past of revision {record.revision} is no longer kept"):
        state_at(lab.cluster, record)
