"""API servers of other processes: kubeconfig files, HTTP, and the `Client` protocol over it.

Everything here runs on an event loop; the core above sees the same protocol as in process. Nothing here knows what an
object means.
"""
