"""The controllers of kube-controller-manager, one file each: a pure reconcile of one key over informers.

They read informers, write through `client` and ask for timers; they never block, and know neither each other nor the
scheduler and the kubelet.
"""
