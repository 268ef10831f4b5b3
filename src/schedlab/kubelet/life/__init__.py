"""The lives of pods whose annotations ask for more than to run at once: pulls, crashes, probes, run times.

`plan.py` reads what is asked for, `container_life.py` and `pod_life.py` play it, `pod_status.py` tells it as a status.
"""
