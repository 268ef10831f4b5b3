"""The public test kit: builders of objects and what tests of plugins and clusters need.

The top layer: it may import everything, and nothing in schedlab imports it.
"""
