"""A part that is only stepped while it may act."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from schedlab.client.effects import Effect, Part


class Gate:
    """Holds a part (client.effects.Part) back until `is_open` says so; what it asked for before is still answered."""

    def __init__(self, part: Part, is_open: Callable[[], bool]) -> None:
        self._part, self._is_open = part, is_open

    def ready(self) -> bool:
        """Whether the part is ready and may act."""
        return self._is_open() and self._part.ready()

    def step(self) -> Sequence[Effect]:
        """Let the part act."""
        return self._part.step()

    def complete(self, effect: Effect, outcome: object) -> Sequence[Effect]:
        """Hand the outcome on."""
        return self._part.complete(effect, outcome)
