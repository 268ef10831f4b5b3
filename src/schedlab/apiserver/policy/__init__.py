"""The roles and bindings that every cluster has from the start."""
