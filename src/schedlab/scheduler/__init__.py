"""kube-scheduler: events in, decisions out, in steps that never block.

Contracts are in `framework`, the calling of plugins in `runtime`, one file per plugin in `plugins`, the three-part
queue in `queue`, the assumed state and the node table in `cache`; the files of this folder tie them into scheduling
and binding cycles. It talks to the cluster through `client` only, tells an injected observer what happened, and knows
neither controllers nor kubelet.
"""
