"""The simulator's own REST API and its web pages.

Serves what `cluster` and `decisions` know; computes no verdict itself. Nothing about the cluster is shown without a
token.
"""
