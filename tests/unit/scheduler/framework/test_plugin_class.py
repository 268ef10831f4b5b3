"""A class is a plugin or is refused, with what to change, before anything starts."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import pytest

from schedlab.kernel.errors import InvariantError
from schedlab.scheduler.framework.interface import Handle
from schedlab.scheduler.framework.plugin_args import PluginArgsError
from schedlab.scheduler.framework.plugin_class import PARAMETERS, PluginClassError, check_class, entry_of
from schedlab.scheduler.plugins.registry import IN_TREE

HANDLE = cast("Handle", object())


class Good:
    name = "Good"

    def filter(self, state: Any, pod: Any, node: Any) -> None: ...


def made_of(**members: Any) -> type[Any]:
    return type("Mine", (), {"name": "Mine", **members})


def method(*parameters: str) -> Callable[..., Any]:
    namespace: dict[str, Any] = {}
    exec(f"def method({', '.join(('self', *parameters))}): return None", namespace)
    return cast("Callable[..., Any]", namespace["method"])


FILTER = method("state", "pod", "node")


async def asynchronous(self: Any, state: Any, pod: Any, node: Any) -> None: ...


@pytest.mark.parametrize("name", sorted(IN_TREE))
def test_every_plugin_of_the_scheduler_keeps_the_contract(name: str) -> None:
    check_class(cast("type[Any]", IN_TREE[name].factory))


@pytest.mark.parametrize(
    "plugin",
    [
        Good,
        made_of(filter=method("s", "p", "n")),
        made_of(filter=method("state", "pod", "node", "verbose=False")),
        made_of(filter=method("*everything")),
        made_of(filter=staticmethod(lambda state, pod, node: None)),
        made_of(filter=FILTER, helper=3, filters=()),
        type("Child", (Good,), {}),
    ],
    ids=["plain", "own names", "more with defaults", "any", "static", "other members", "inherited"],
)
def test_class_with_the_methods_it_needs_is_a_plugin(plugin: type[Any]) -> None:
    assert entry_of(plugin).name == plugin.name


@pytest.mark.parametrize(
    ("plugin", "message", "hint"),
    [
        (type("Mine", (), {"filter": FILTER}), "Mine has no `name`", 'name = "Mine"'),
        (made_of(name="", filter=FILTER), "Mine has the name ''", 'name = "Mine"'),
        (made_of(name=property(lambda _: "x"), filter=FILTER), "Mine has the name <property", 'name = "Mine"'),
        (made_of(), "Mine has no method of an extension point", "give it one of: pre_enqueue, "),
        (made_of(events_to_register=method()), "Mine has no method of an extension point", "give it one of"),
        (made_of(Filter=FILTER), "Mine.Filter is no method of the contract", "def filter(self, state, pod, node)"),
        (made_of(filter=FILTER, prescore=FILTER), "Mine.prescore is no method", "def pre_score(self, state, pod, table"),
        (made_of(score=FILTER, normalise_score=FILTER), "Mine.normalise_score is no", "def normalize_score("),
        (made_of(filter=method("pod", "node")), "Mine.filter(self, pod, node): too many", "def filter(self, state, pod"),
        (made_of(filter=method("a", "b", "c", "d")), "missing a required argument: 'd'", "def filter(self, state, pod"),
        (made_of(filter=3), "Mine.filter is int, not a method", "write def filter("),
        (made_of(filter=asynchronous), "Mine.filter is async", "returns Work"),
        (made_of(filter_nodes=method("a", "b", "c", "d"), score=FILTER), "has filter_nodes but no filter", "add def filter("),
        (made_of(reserve=FILTER), "Mine has reserve but no unreserve", "add def unreserve(self, state, pod, node_name)"),
        (made_of(pre_bind=FILTER), "Mine has pre_bind but no pre_bind_pre_flight", "return None, or SKIP if not"),
        (made_of(filter=FILTER, Args=dict), "Mine.Args is no dataclass", "@dataclass"),
        (made_of(filter=FILTER, __init__=method("arg")), "Mine.__init__ asks for `arg`", "did you mean `args`?"),
        (made_of(filter=FILTER, __init__=method("x", "y")), "Mine.__init__ asks for `x`", "`args`, `handle`, both or"),
        (cast("type[Any]", Good()), "is no class", "a plugin is a class"),
    ],
)  # fmt: skip
def test_class_that_is_no_plugin(plugin: type[Any], message: str, hint: str) -> None:
    with pytest.raises(PluginClassError) as caught:
        entry_of(plugin)

    assert message in caught.value.message
    assert hint in caught.value.hint


def test_fields_whose_types_are_unknown_are_found_at_once() -> None:
    @dataclass
    class Args:
        limit: Missing = None  # type: ignore[name-defined]  # noqa: F821 - that is the mistake

    with pytest.raises(PluginClassError, match="type is not known: name 'Missing' is not defined"):
        entry_of(made_of(filter=FILTER, Args=Args))


class TestEntry:
    @pytest.mark.parametrize("accepted", [(), ("args",), ("handle",), ("handle", "args")])
    def test_constructor_gets_what_it_asks_for(self, accepted: tuple[str, ...]) -> None:
        class Plugin(Good):
            def __init__(self, **given: Any) -> None:
                self.given = given

        Plugin.__init__.__signature__ = _signature(accepted)  # type: ignore[attr-defined]

        made = entry_of(Plugin).factory("the args", HANDLE)

        assert made.given == {name: {"args": "the args", "handle": HANDLE}[name] for name in accepted}

    def test_arguments_are_decoded_into_the_class_of_arguments(self) -> None:
        class Plugin(Good):
            @dataclass
            class Args:
                hard_limit: int = 3

        entry = entry_of(Plugin)

        assert entry.args is not None
        assert entry.args({"hardLimit": 5}) == Plugin.Args(5)

    def test_mapping_is_passed_on_without_a_class_of_arguments(self) -> None:
        entry = entry_of(made_of(filter=FILTER, __init__=method("args")))

        assert entry.args is not None
        assert entry.args({"a": 1}) == {"a": 1}

    def test_arguments_for_a_plugin_without_any_are_refused(self) -> None:
        entry = entry_of(Good)

        assert entry.args is not None
        assert entry.args({}) == {}
        with pytest.raises(PluginArgsError, match="Good takes no arguments"):
            entry.args({"a": 1})

    def test_constructor_that_raises_is_told(self) -> None:
        class Plugin(Good):
            def __init__(self) -> None:
                raise KeyError("zone")

        with pytest.raises(ValueError, match=r"Plugin.__init__ raised KeyError: 'zone'"):
            entry_of(Plugin).factory(None, HANDLE)

    def test_broken_invariant_is_not_the_plugins(self) -> None:
        class Plugin(Good):
            def __init__(self) -> None:
                raise InvariantError("ours")

        with pytest.raises(InvariantError):
            entry_of(Plugin).factory(None, HANDLE)

    def test_instance_has_the_name_of_its_class(self) -> None:
        class Plugin(Good):
            def __init__(self) -> None:
                self.name = "Other"

        with pytest.raises(ValueError, match="the instance calls itself 'Other', its class 'Good'"):
            entry_of(Plugin).factory(None, HANDLE)


def _signature(accepted: tuple[str, ...]) -> Any:
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Signature([inspect.Parameter(name, kind) for name in ("self", *accepted)])


def test_parameters_are_those_of_the_protocols() -> None:
    assert PARAMETERS["filter"] == ("state", "pod", "node")
    assert PARAMETERS["resume"] == ("state", "pod", "node_name", "work", "outcomes")
