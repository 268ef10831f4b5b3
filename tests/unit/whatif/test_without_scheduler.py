"""A cluster that leaves scheduling to others can be asked, too: what ours would do is tried on a fork."""

from __future__ import annotations

from schedlab.whatif.capacity import why_not_full
from schedlab.whatif.help import what_would_help
from schedlab.whatif.pending import pending
from tests.unit.whatif.whatif_cluster import Lab


def test_what_our_scheduler_would_do() -> None:
    lab = Lab(schedules=False)
    lab.node("n", cpu="2")
    lab.pod("there", cpu="1", nodeName="n")
    lab.settle()
    lab.pod("p", cpu="2")
    lab.settle()

    found = what_would_help(lab.cluster, "default", "p")
    assert found.suggestions[0].summary == "ask for 1 cpu instead of 2"
    assert why_not_full(lab.cluster).data()["resources"][0]["requested"] == "1"
    assert pending(lab.cluster).data()["pending"] == 1
