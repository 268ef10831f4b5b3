"""Calls the plugins of a profile at each extension point and gathers what they answer.

Chooses between a plugin's scalar and array form, keeps upstream's order and short cuts, and reports to the observer.
It names no concrete plugin: those come from the registry it is given.
"""
