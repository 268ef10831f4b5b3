"""Changes tried on forks: what a pod needs, what a change would move, what a choice hung on, what the past looked like.

The one place for forks, searches of changes and flipped choices; shadow schedulers, plans, minimising and the pages use
it. Nothing in here changes the cluster that it is asked about, and whatever it claims it has tried with the real
scheduling cycle. It runs in the process that asks; `workers` runs it in a process of its own for a live cluster, whose
loop must not wait.
"""

from schedlab.whatif.forks import fork
from schedlab.whatif.help import what_would_help
from schedlab.whatif.state import state_at

__all__ = ["fork", "state_at", "what_would_help"]
