"""The composition root: wires one cluster on one clock, and drives it live or in batch.

The only place that assembles API server, controllers and kubelet, and where the wall clock, entropy, sockets and
threads are allowed and handed to the parts below. A rule of behaviour does not belong here.
"""
