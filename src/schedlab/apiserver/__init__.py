"""kube-apiserver's HTTP: routing, negotiation, streaming, discovery, OpenAPI and authentication.

Translates requests into calls of `registry` and answers into bytes. No rule of a kind lives here, and it does not
reach the store.
"""
