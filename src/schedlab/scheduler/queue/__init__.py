"""Which pod is next: the gated, active, backoff and unschedulable pods, and the hints that move them.

Pure bookkeeping over pods and events with time passed in. It names no concrete plugin; hints are functions it was
given.
"""
