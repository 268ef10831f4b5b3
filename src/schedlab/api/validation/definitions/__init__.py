"""Checks of CustomResourceDefinitions."""
