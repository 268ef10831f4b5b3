"""Pods whose container runs kube-scheduler: each is a scheduler that works, with its files, its account and its log.

`command` reads the command line, `files` the mounted volumes, `process` is one run of the program, `pods` the part that
takes the place of the kubelet for such pods.
"""
