"""Benchmarks of the API server alone: `schedlab apiserver` in a process of its own, this one as its client.

    python -m bench.api [LOAD …]      default: all loads

Each load prints one line of JSON. What a request costs the server is told as processor time of its process
(`serverMicroseconds`), beside rates that depend on how fast the client is and what else the machine does.
"""
