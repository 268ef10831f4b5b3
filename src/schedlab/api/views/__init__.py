"""Typed views: what the core reads of each kind, decoded straight from stored JSON."""
