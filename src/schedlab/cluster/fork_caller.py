"""HTTP extenders and forks: they are asked what they think of a pod, at once, and never told to act.

To filter, to prioritise and to look at victims changes nothing by contract. To bind does, in the cluster that the extender
believes in: a fork must not ask for that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from schedlab.client.effects import CallOutcome
from schedlab.cluster.http_caller import HTTPCaller, post
from schedlab.scheduler.extender import call_effect, direct_call, read_answer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from schedlab.client.effects import CallEffect, Part
    from schedlab.cluster.driver import Caller, Engine
    from schedlab.scheduler.extender import HTTPExtender
    from schedlab.scheduler.framework.interface import ExtenderAnswer, ExtenderRequest

NOT_BOUND: Final = "extenders are not asked to bind pods of a fork"


def calls_out(caller: Caller | None) -> bool:
    """Whether a cluster with that caller asks extenders at all."""
    return isinstance(caller, (HTTPCaller, ForkCaller))


def ask_extenders(requests: Sequence[ExtenderRequest]) -> tuple[ExtenderAnswer, ...]:
    """Ask extenders one after the other and wait for their answers."""
    return tuple(read_answer(request, post(call_effect(request, None))) for request in requests)


class ForkCaller:
    """A `driver.Caller` that waits for each answer; calls to bind are refused."""

    def __init__(self, extenders: Sequence[HTTPExtender]) -> None:
        self._to_bind = {direct_call(each, "bind", b"").url for each in extenders if each.is_binder}

    def call(self, effect: CallEffect, part: Part, engine: Engine) -> None:
        """Do the call, unless it would act."""
        outcome = CallOutcome(error=NOT_BOUND) if effect.url in self._to_bind else post(effect)
        engine.answer(part, effect, outcome)
