"""A Deployment during one sync: what is stored, and what the sync has changed of its status and annotations.

Mirrors: the deep copy that syncDeployment of pkg/controller/deployment works on (v1.36).
Differs: a write refreshes the copy, so that a second write of the same sync meets no conflict.
"""

from __future__ import annotations

from typing import Any

from schedlab.api.object import Object, StoredObject
from schedlab.api.views.workloads import Deployment
from schedlab.client.protocol import Write
from schedlab.controllers.deployment.sets import REVISION
from schedlab.controllers.framework.controller import Asking, ask


class Draft:
    """The working copy."""

    def __init__(self, stored: StoredObject) -> None:
        self.stored = stored
        self.status: dict[str, Any] = dict(stored.raw.get("status") or {})
        self.annotations: dict[str, str] = dict(stored.view.metadata.annotations)

    @property
    def view(self) -> Deployment:
        """The Deployment as it is stored."""
        view: Deployment = self.stored.view
        return view

    def set_revision(self, revision: str) -> bool:
        """Note the revision of the new set; returns whether that is new."""
        if self.annotations.get(REVISION, "") == revision:
            return False
        self.annotations[REVISION] = revision
        return True

    def write_status(self) -> Asking[None]:
        """Store status and annotations."""
        body: Object = {**self.stored.raw, "metadata": self._metadata(), "status": self.status}
        stored = self.stored
        write = Write("update", stored.resource, stored.namespace, stored.name, body, subresource="status")
        self.stored = yield from ask(write)

    def write(self, template: Object | None = None) -> Asking[None]:
        """Store annotations, and another template if one is given."""
        stored = self.stored
        spec = dict(stored.raw["spec"])
        if template is not None:
            spec["template"] = template
        body: Object = {**stored.raw, "metadata": self._metadata(), "spec": spec}
        self.stored = yield from ask(Write("update", stored.resource, stored.namespace, stored.name, body))

    def _metadata(self) -> Object:
        metadata = {key: value for key, value in self.stored.raw["metadata"].items() if key != "annotations"}
        return {**metadata, "annotations": self.annotations} if self.annotations else metadata
