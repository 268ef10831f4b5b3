"""The Client protocol, the client that works in process, and informers with their indexes.

What scheduler, controllers and kubelet see of the cluster. Writes are effects with a completion: in process they
complete at once. No network may be touched here; clients of real API servers are another layer.
"""
