"""Checks of pods, of the pod specs in templates, and of what updates do to pods."""
