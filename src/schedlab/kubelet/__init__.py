"""Simulated nodes: admission of bound pods, stages of a pod's life, addresses, heartbeats and accounting.

Reads informers and writes through `client`. No container runs here: a runtime that does run something is injected
through a protocol.
"""
