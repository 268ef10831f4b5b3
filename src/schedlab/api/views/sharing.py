"""Parts of views that are equal, held once: of a hundred thousand pods most have what few templates say.

A view is decoded on its own, with its own texts and lists. That is the quickest way for one that is looked at and
dropped; for those that stay it is most of the memory they take.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from schedlab.api.views.core import Pod
from schedlab.api.views.meta import View

_ENTRIES_MAX: Final = 32 * 1024
#: Longer parts are seldom equal, and what they are found by takes memory, too.
_BYTES_MAX: Final = 4 * 1024
_METADATA: Final = ("labels", "annotations")
_SPEC: Final = (
    "containers",
    "init_containers",
    "node_selector",
    "affinity",
    "tolerations",
    "topology_spread_constraints",
)
_STATUS: Final = ("conditions", "container_statuses", "init_container_statuses")
#: Texts of which there are few.
_METADATA_TEXTS: Final = ("namespace", "creation_timestamp")
_SPEC_TEXTS: Final = (
    "node_name",
    "scheduler_name",
    "preemption_policy",
    "service_account_name",
    "restart_policy",
    "priority_class_name",
)
_STATUS_TEXTS: Final = ("phase", "qos_class", "start_time")

_encode: Final = msgspec.json.Encoder().encode
_set: Final = msgspec.structs.force_setattr


class SharedParts:
    """Parts of pods that were seen; a limited number of them."""

    def __init__(self) -> None:
        self._parts: dict[tuple[str, bytes], Any] = {}
        self._texts: dict[str, str] = {}

    def put_into(self, view: View) -> None:
        """Replace parts of a pod's view by equal ones that were seen before; views of other kinds stay as they are."""
        if isinstance(view, Pod):
            if len(self._parts) > _ENTRIES_MAX:
                self._parts.clear()
            if len(self._texts) > _ENTRIES_MAX:
                self._texts.clear()
            self._share(view.metadata, _METADATA, _METADATA_TEXTS)
            self._share(view.spec, _SPEC, _SPEC_TEXTS)
            self._share(view.status, _STATUS, _STATUS_TEXTS)

    def _share(self, holder: View, parts: tuple[str, ...], texts: tuple[str, ...]) -> None:
        for name in parts:
            part = getattr(holder, name)
            if part:
                encoded = _encode(part)
                if len(encoded) <= _BYTES_MAX:
                    _set(holder, name, self._parts.setdefault((name, encoded), part))
        for name in texts:
            text = getattr(holder, name)
            if text:
                _set(holder, name, self._texts.setdefault(text, text))
