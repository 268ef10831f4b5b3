"""Which pods name which claim of volumes, ephemeral volumes included.

Mirrors: PodPVCIndexFunc of pkg/controller/volume/common (v1.36). Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from schedlab.api.object import StoredObject, WatchEvent
from schedlab.api.rules.volumes import claim_name
from schedlab.client.informers import Informer


class ClaimUsers:
    """The pods by the claims that they name; to be made before any other handler that asks it."""

    def __init__(self, pods: Informer) -> None:
        self._pods: dict[tuple[str, str], dict[str, StoredObject]] = {}
        pods.on_change(self._on_pod)

    def of(self, namespace: str, claim: str) -> tuple[StoredObject, ...]:
        """Return the pods that name a claim."""
        return tuple(self._pods.get((namespace, claim), {}).values())

    def _on_pod(self, event: WatchEvent) -> None:
        pod = event.object
        for claim in claims_of(pod):
            key = pod.namespace, claim
            if event.type == "DELETED":
                users = self._pods.get(key, {})
                users.pop(pod.name, None)
                if not users:
                    self._pods.pop(key, None)
            else:
                # Volumes of a pod do not change.
                self._pods.setdefault(key, {})[pod.name] = pod


def claims_of(pod: StoredObject) -> Iterator[str]:
    """Name the claims of a pod."""
    for volume in pod.view.spec.volumes:
        name = claim_name(pod.view, volume)
        if name is not None:
            yield name
