"""What each kind is: its defaults, its validation, its typed view, and the predicates that several layers share.

One file per kind or group of kinds, plus the shared predicates (taints, node affinity, requests, ports, quality of
service). Message texts are those of kube-apiserver. Nothing here reads stored objects or knows of a request;
admission that looks at other objects belongs to `registry`.
"""
