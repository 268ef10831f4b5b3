"""How fast a cluster lives: nodes that come, a big rollout, idleness, and a day of jobs on the virtual clock."""
