"""Predicates over API objects that more than one part needs: requests, quality of service, taints, node affinity.

They judge typed views, know nothing of the scheduler or of the registry, and raise nothing for objects that the API
accepts.
"""
