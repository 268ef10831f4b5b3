"""Objects that stand for what another cluster's controllers do: they own pods, and no controller acts on them."""

from __future__ import annotations

from typing import Any, Final

INERT: Final = "controllers.schedlab.dev/inert"


def is_inert(obj: Any) -> bool:
    """Whether controllers leave an object (its typed view) as it is."""
    return bool(obj.metadata.annotations.get(INERT) == "true")
