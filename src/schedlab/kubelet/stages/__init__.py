"""KWOK's Stages: rules of how objects go on, written by users, and played here.

A Stage says which objects it is for, how long it waits, and what it does to them then: patches, events, finalizers,
deletion. It is a custom resource; `definition.py` has its definition, `controller.py` is the part that plays.
"""
