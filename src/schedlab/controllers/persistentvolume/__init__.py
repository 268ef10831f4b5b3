"""Volumes and claims: binding them to each other, what becomes of volumes afterwards, and making new ones."""
