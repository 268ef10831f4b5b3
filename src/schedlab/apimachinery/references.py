"""Pods as people name them: `web-0`, `pod/web-0`, `shop/web-0`."""

from __future__ import annotations

from schedlab.kernel.errors import SchedlabError


def parse_pod(text: str, namespace: str) -> tuple[str, str]:
    """Return (namespace, name) of `NAME`, `pod/NAME` or `NAMESPACE/NAME`; raises SchedlabError for anything else."""
    parts = text.split("/")
    if len(parts) == 1 and parts[0]:
        return namespace, parts[0]
    if len(parts) == 2 and all(parts):
        return (namespace, parts[1]) if parts[0] in {"pod", "pods", "po"} else (parts[0], parts[1])
    raise SchedlabError(f"{text!r} names no pod", hint="write NAME, pod/NAME or NAMESPACE/NAME")
