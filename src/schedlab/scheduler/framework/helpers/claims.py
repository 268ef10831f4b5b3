"""What plugins say of themselves about pods: that they look at nothing but a node, that they reserve nothing, and so on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from schedlab.scheduler.framework.types import PodInfo


def says(plugin: Any, claim: str, pod: PodInfo) -> bool:
    """Whether a plugin says by the method `claim` that something holds for a pod; False when it cannot say."""
    method = getattr(plugin, claim, None)
    if method is None:
        return False
    try:
        return bool(method(pod))
    except Exception:  # noqa: BLE001 - a plugin may raise anything; one that cannot say is asked about every pod
        return False
