"""What no scheduler can do better, beside what the cluster's own has achieved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final, get_args

from schedlab.kernel.errors import SchedlabError
from schedlab.whatif.optimum.problem import Goal
from schedlab.whatif.optimum.reading import read_problem

if TYPE_CHECKING:
    from schedlab.cluster.cluster import Cluster

TIME_LIMIT_S: Final = 10.0
TIME_LIMIT_S_MAX: Final = 24 * 3600.0


@dataclass(frozen=True, slots=True)
class Bound:
    """How well the pods that are there could be placed on the nodes that are there.

    goal: "nodes" (the fewest that hold the placed pods) or "pods" (the most that have a node). pods, nodes: how many there
    are; for nodes only placed pods count. groups, classes: of how many kinds they are. achieved: what the scheduler has
    come to. bound: what no scheduler can beat; best: the best placement that is known, `achieved` unless one was found. proven: both
    are the same. placement: pod → node of the best one if it was found, empty else. modelled, left_out: what of the
    filters' demands is counted; one that is not only makes more possible, so the bound holds, and the placement may break
    it. exact: whether nodes were looked at one by one. repeatable: whether the same question has the same answer; False
    when the clock or the user has ended the search, not its own count.
    """

    goal: Goal
    pods: int
    nodes: int
    groups: int
    classes: int
    achieved: int
    bound: int
    best: int
    proven: bool
    exact: bool
    repeatable: bool
    modelled: Sequence[str]
    left_out: Sequence[str]
    placement: Mapping[str, str] = field(default_factory=dict)

    def data(self) -> dict[str, Any]:
        """Return it as JSON-shaped data."""
        return asdict(self)


def bound(cluster: Cluster, goal: Goal, *, time_limit_s: float = TIME_LIMIT_S) -> Bound:
    """Say what no scheduler can beat: the fewest nodes for the pods that are placed, or the most pods that can be.

    `time_limit_s` is counted in work that takes about a second, so that the answer does not depend on the machine. Raises
    SchedlabError for a goal or a time that is none, and without the extra `optimum`.
    """
    if goal not in get_args(Goal):
        raise SchedlabError(f"{goal!r} is no goal", location="goal", hint=f"one of {', '.join(get_args(Goal))}")
    if not 0 < time_limit_s <= TIME_LIMIT_S_MAX:
        raise SchedlabError(
            f"{time_limit_s:g} s is no time to search", location="timeLimit", hint="give more than 0 s, a day at most"
        )
    # Imported only here: the solver is an extra.
    from schedlab.whatif.optimum.search import Search

    return Search(read_problem(cluster), goal).run(time_limit_s)
