"""The horizontal pod autoscaler: replicas as the usage of pods asks for."""
