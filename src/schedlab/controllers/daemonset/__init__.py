"""The DaemonSet controller: one pod for each node that should have one."""
