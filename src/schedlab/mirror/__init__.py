"""Real clusters: brought in once, followed, recorded, replayed, kept as files.

A source is only listed and watched, never written. What is taken goes through the registry of the simulated cluster;
what is left out or changed is told.
"""
