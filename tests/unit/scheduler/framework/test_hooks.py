"""A class is a class of hooks or is refused, with what to change."""

from __future__ import annotations

from typing import Any, cast

import pytest

from schedlab.scheduler.framework.hooks import PARAMETERS, factory_of
from schedlab.scheduler.framework.interface import Handle
from schedlab.scheduler.framework.plugin_class import PluginClassError

HANDLE = cast("Handle", object())


class Plain:
    def after_filter(self, state: Any, pod: Any, node: Any, status: Any) -> Any:
        return status


class WithHandle(Plain):
    def __init__(self, handle: Handle) -> None:
        self.handle = handle


def test_hooks_are_made_with_the_handle_if_they_ask_for_it() -> None:
    assert isinstance(factory_of(Plain)(HANDLE), Plain)
    assert factory_of(WithHandle)(HANDLE).handle is HANDLE


def test_there_is_a_pair_around_each_of_the_twelve_methods() -> None:
    methods = [name.removeprefix("before_") for name in PARAMETERS if name.startswith("before_")]

    assert len(methods) == 12
    assert list(PARAMETERS) == [f"{when}_{method}" for method in methods for when in ("before", "after")]


@pytest.mark.parametrize(
    ("hooks", "message", "hint"),
    [
        (Plain(), "is no class", "after_filter"),
        (type("Mine", (), {}), "Mine has no hook", "give it one of: before_pre_filter"),
        (type("Mine", (), {"before_fliter": lambda *_: None}), "Mine.before_fliter is no hook", "hooks are: before_"),
        (
            type("Mine", (), {"after_filter": lambda self, state, pod, node: None}),
            "too many positional arguments",
            "write def after_filter(self, state, pod, node, status)",
        ),
    ],
    ids=["instance", "no hook", "misspelt", "parameters"],
)
def test_class_that_is_no_class_of_hooks(hooks: Any, message: str, hint: str) -> None:
    with pytest.raises(PluginClassError) as caught:
        factory_of(hooks)

    assert message in caught.value.message
    assert hint in caught.value.hint
