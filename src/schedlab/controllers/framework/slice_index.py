"""The endpoint slices that one controller manages, by their service, and who of others meddles with them.

A controller hears of its own writes like everybody else, before it is answered. So changes of slices of a service that
is being written are kept back until the answers are there; what no answer explains was done by somebody else.

Mirrors: EndpointSliceTracker of staging/src/k8s.io/endpointslice/util (v1.36), in its purpose.
Differs: nothing is ever out of date, only unexplained.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from schedlab.api.object import Object, StoredObject, WatchEvent
from schedlab.client.informers import Informer
from schedlab.client.protocol import Outcome
from schedlab.controllers.framework.ownership import is_deleted

MANAGED_BY: Final = "endpointslice.kubernetes.io/managed-by"
SERVICE_NAME: Final = "kubernetes.io/service-name"


class SliceIndex:
    """The slices with one value of the label managed-by."""

    def __init__(self, slices: Informer, manager: str) -> None:
        self._slices = slices
        self._manager = manager
        self._index = f"slices of {manager}"
        #: For each service that is being written: the revisions of slices that were heard of, by their names.
        self._heard: dict[str, dict[str, int]] = {}
        self._meddled: Callable[[str], None] = lambda _service: None
        slices.add_index(self._index, self._service_of)

    def _service_of(self, found: StoredObject) -> str:
        labels = found.labels
        if labels.get(MANAGED_BY) != self._manager or not labels.get(SERVICE_NAME):
            return ""
        return f"{found.namespace}/{labels[SERVICE_NAME]}"

    def of(self, service: str) -> list[Object]:
        """Return the slices of a service, those that are on their way out aside: never change them."""
        return [found.raw for found in self._slices.indexed(self._index, service) if not is_deleted(found)]

    def on_change(self, meddled: Callable[[str], None]) -> None:
        """Call `meddled` with the key of a service whose slices somebody else has changed."""
        self._meddled = meddled
        self._slices.on_change(self._on_slice)

    def _on_slice(self, event: WatchEvent) -> None:
        now = self._service_of(event.object)
        before = "" if event.previous is None else self._service_of(event.previous)
        for service in dict.fromkeys((before, now)):
            if service in self._heard:
                self._heard[service][event.object.key] = event.revision
            elif service:
                self._meddled(service)

    @contextmanager
    def writing(self, service: str) -> Iterator[None]:
        """Expect changes of the slices of a service."""
        self._heard[service] = {}
        try:
            yield
        finally:
            if self._heard.pop(service):
                self._meddled(service)

    def written(self, service: str, outcome: Outcome) -> None:
        """Take the answer to a write of a slice."""
        found = outcome.object
        if found is None:
            return
        is_gone = self._slices.stored(found.name, found.namespace) is None
        if is_gone or self._heard[service].get(found.key) == found.revision:
            self._heard[service].pop(found.key, None)
