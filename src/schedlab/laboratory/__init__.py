"""The public Python API: a cluster on a virtual clock in the hands of a program, and the answers it gives as types.

    cluster = Cluster(make_node("a").capacity(cpu="4", pods="10"), make_pod("web").req(cpu="1"))
    cluster.run()
    print(cluster.explain("web").answer)

A thin face over `cluster`, `whatif`, `decisions` and `mirror`: it reads arguments and makes types of answers, and decides
nothing. What stands in `__all__` is stable: docs/reference/python.md is written from it, and a change of it is told in the
changelog. `from schedlab import Cluster` is the same class.
"""

from schedlab.decisions.tables import TABLES, Query, Table
from schedlab.kernel.errors import SchedlabError
from schedlab.laboratory.cluster import Cluster, Configuration, Duration, Manifest
from schedlab.laboratory.explanation import Explanation, NodeVerdict, Score
from schedlab.laboratory.frames import Frame
from schedlab.whatif.capacity import Free, NotFull
from schedlab.whatif.fit import Fit, GroupFit
from schedlab.whatif.help import Help
from schedlab.whatif.optimum.bound import Bound
from schedlab.whatif.optimum.problem import Goal
from schedlab.whatif.pending import Group, Pending
from schedlab.whatif.plan import Plan
from schedlab.whatif.search.edits import Suggestion
from schedlab.whatif.what_if import Move, WhatIf

__all__ = [
    "TABLES",
    "Bound",
    "Cluster",
    "Configuration",
    "Duration",
    "Explanation",
    "Fit",
    "Frame",
    "Free",
    "Goal",
    "Group",
    "GroupFit",
    "Help",
    "Manifest",
    "Move",
    "NodeVerdict",
    "NotFull",
    "Pending",
    "Plan",
    "Query",
    "SchedlabError",
    "Score",
    "Suggestion",
    "Table",
    "WhatIf",
]
