"""Pods: defaults, what creation and updates do to them, and the rules of their subresources."""
