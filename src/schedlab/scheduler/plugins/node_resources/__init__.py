"""NodeResourcesFit and NodeResourcesBalancedAllocation: whether a pod's requests fit a node, and how well.

Mirrors: pkg/scheduler/framework/plugins/noderesources (v1.36).
"""
