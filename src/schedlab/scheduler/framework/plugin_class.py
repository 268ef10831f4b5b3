"""From a user's class to an entry of the plugin registry: whatever is wrong with the class is found before anything starts.

    class NodeNumber:
        name = "NodeNumber"                 # the name configurations use

        @dataclass
        class Args:                         # optional: what pluginConfig may give
            reverse: bool = False

        def __init__(self, args, handle):   # either, both or none of the two, by these names
            ...

        def score(self, state, pod, node):  # one method or more of the contract
            ...

The parameters of each method are compared with those of the protocols in `interface`.

Mirrors: nothing; upstream's compiler checks this.
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Mapping
from typing import Any, Final

from schedlab.kernel.errors import InvariantError, SchedlabError
from schedlab.scheduler.framework import claims, interface
from schedlab.scheduler.framework.interface import Handle, PluginEntry
from schedlab.scheduler.framework.plugin_args import PluginArgsError, decode_args, fields_of, is_args_class

# What a plugin may be asked for: the methods of every protocol whose name says that it is part of a plugin.
_PROTOCOLS: Final = (
    interface.PreEnqueuePlugin,
    interface.QueueSortPlugin,
    interface.EnqueueExtensions,
    interface.PreFilterPlugin,
    interface.PreFilterExtensions,
    interface.FilterPlugin,
    interface.FilterNodesPlugin,
    claims.RowLocalPlugin,
    claims.PodLocalPlugin,
    claims.TellingPlugin,
    interface.PostFilterPlugin,
    interface.PreScorePlugin,
    interface.ScorePlugin,
    interface.ScoreNodesPlugin,
    interface.ScoreExtensions,
    interface.ReservePlugin,
    claims.ReserveLessPlugin,
    interface.PermitPlugin,
    interface.PreBindPlugin,
    claims.PreBindLessPlugin,
    interface.BindPlugin,
    interface.PostBindPlugin,
    interface.ResumablePlugin,
    interface.SignPlugin,
)
PARAMETERS: Final[Mapping[str, tuple[str, ...]]] = {
    name: tuple(inspect.signature(method).parameters)[1:]
    for protocol in _PROTOCOLS
    for name, method in vars(protocol).items()
    if inspect.isfunction(method) and not name.startswith("_")
}
_ALONE_USELESS: Final = (
    "events_to_register",
    "add_pod",
    "remove_pod",
    "normalize_score",
    "unreserve",
    "pre_bind_pre_flight",
    "resume",
    "resume_post_filter",
    "sign_pod",
    "filter_nodes",
    "score_nodes",
    "is_row_local",
    "is_pod_local",
    "changed_verdicts",
    "reserves_nothing",
    "pre_binds_nothing",
)
_POINTS: Final = tuple(name for name in PARAMETERS if name not in _ALONE_USELESS)
# Who has the first method needs the second one too, and why.
_PARTNERS: Final = (
    ("filter_nodes", "filter", "the scalar form is the specification, the array form an optimisation"),
    ("score_nodes", "score", "the scalar form is the specification, the array form an optimisation"),
    ("normalize_score", "score", "there is nothing to normalise"),
    ("changed_verdicts", "filter_nodes", "verdicts are kept of filters that look at all nodes at once"),
    ("reserves_nothing", "reserve", "there is nothing to be asked less"),
    ("pre_binds_nothing", "pre_bind_pre_flight", "there is nothing to be asked less"),
    ("reserve", "unreserve", "what was reserved must be given back when the binding fails"),
    ("unreserve", "reserve", "there is nothing to give back"),
    ("add_pod", "remove_pod", "preemption takes pods away and puts them back"),
    ("remove_pod", "add_pod", "preemption takes pods away and puts them back"),
    ("add_pod", "pre_filter", "there is no state to keep right"),
    ("pre_bind", "pre_bind_pre_flight", "it says whether there is work for the pod: return None, or SKIP if not"),
    ("pre_bind_pre_flight", "pre_bind", "there is no work to announce"),
    ("resume_post_filter", "post_filter", "there is nothing to go on with"),
)


class PluginClassError(SchedlabError):
    """A class that is no plugin."""


def entry_of(plugin: Any) -> PluginEntry:
    """Return the registry's entry of a plugin class; raises PluginClassError with what to change."""
    if not isinstance(plugin, type):
        raise PluginClassError(f"{plugin!r} is no class", hint="a plugin is a class with a `name` and methods")
    check_class(plugin)
    accepted = _constructor(plugin)
    name = _name(plugin)
    args_class = getattr(plugin, "Args", None)
    takes_args = "args" in accepted

    def decode(raw: Mapping[str, Any]) -> Any:
        if args_class is not None:
            return decode_args(raw, args_class)
        if raw and not takes_args:
            raise PluginArgsError([("", f"{name} takes no arguments")], "leave out its pluginConfig")
        return raw

    def make(args: Any, handle: Handle) -> Any:
        given = {"args": args, "handle": handle}
        try:
            made: Any = plugin(**{parameter: given[parameter] for parameter in accepted})
        except InvariantError:
            raise
        except Exception as error:
            raise ValueError(f"{plugin.__name__}.__init__ raised {type(error).__name__}: {error}") from error
        if made.name != name:
            raise ValueError(f"the instance calls itself {made.name!r}, its class {name!r}")
        return made

    return PluginEntry(name, make, decode)


def check_class(plugin: type[Any]) -> None:
    """Refuse a class that breaks the contract; raises PluginClassError."""
    _name(plugin)
    _check_spelling(plugin)
    present = [name for name in PARAMETERS if hasattr(plugin, name)]
    if not any(name in _POINTS for name in present):
        raise PluginClassError(
            f"{plugin.__name__} has no method of an extension point", hint=f"give it one of: {', '.join(_POINTS)}"
        )
    for name in present:
        check_method(plugin, name, PARAMETERS[name])
    for name, partner, why in _PARTNERS:
        if name in present and partner not in present:
            raise PluginClassError(
                f"{plugin.__name__} has {name} but no {partner}", hint=f"add {_form(partner)}: {why}"
            )
    _check_args(plugin)


def _name(plugin: type[Any]) -> str:
    name = getattr(plugin, "name", None)
    if isinstance(name, str) and name and name.strip() == name:
        return name
    found = "has no `name`" if name is None else f"has the name {name!r}"
    raise PluginClassError(
        f"{plugin.__name__} {found}",
        hint=f'give the class the name that configurations use: name = "{plugin.__name__}"',
    )


def _check_spelling(plugin: type[Any]) -> None:
    """A method whose name differs from one of the contract only in case and underscores would never be called."""
    meant = {_bare(name): name for name in PARAMETERS}
    for name in vars(plugin):
        right = meant.get(_bare(name))
        if right is not None and name != right and not name.startswith("_") and not hasattr(plugin, right):
            raise PluginClassError(
                f"{plugin.__name__}.{name} is no method of the contract", hint=f"did you mean {_form(right)}?"
            )


def _bare(name: str) -> str:
    return name.replace("_", "").lower().replace("normalise", "normalize")


def check_method(owner: type[Any], name: str, parameters: tuple[str, ...]) -> None:
    """Refuse a method that cannot be called with these parameters; raises PluginClassError."""
    method = inspect.getattr_static(owner, name)
    bound = isinstance(method, (staticmethod, classmethod))
    function = getattr(owner, name) if bound else method
    where, form = f"{owner.__name__}.{name}", f"def {name}({', '.join(('self', *parameters))})"
    if not callable(function):
        raise PluginClassError(f"{where} is {type(function).__name__}, not a method", hint=f"write {form}")
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        raise PluginClassError(
            f"{where} is async", hint=f"write {form}; what has to wait returns Work (see the plugin contract)"
        )
    try:
        inspect.signature(function).bind(*(parameters if bound else ("self", *parameters)))
    except TypeError as error:
        raise PluginClassError(f"{where}{inspect.signature(function)}: {error}", hint=f"write {form}") from None


def _form(name: str) -> str:
    return f"def {name}({', '.join(('self', *PARAMETERS[name]))})"


def _constructor(plugin: type[Any]) -> tuple[str, ...]:
    """Return which of `args` and `handle` the class is made with."""
    accepted = []
    for parameter in inspect.signature(plugin).parameters.values():
        if parameter.kind in {parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD}:
            continue
        if parameter.name in {"args", "handle"} and parameter.kind is not parameter.POSITIONAL_ONLY:
            accepted.append(parameter.name)
        elif parameter.default is parameter.empty:
            close = difflib.get_close_matches(parameter.name, ("args", "handle"), 1)
            meant = f"; did you mean `{close[0]}`?" if close else ""
            raise PluginClassError(
                f"{plugin.__name__}.__init__ asks for `{parameter.name}`",
                hint=f"a plugin is made with `args`, `handle`, both or none of them{meant}",
            )
    return tuple(accepted)


def _check_args(plugin: type[Any]) -> None:
    args_class = getattr(plugin, "Args", None)
    if args_class is None:
        return
    if not is_args_class(args_class):
        raise PluginClassError(
            f"{plugin.__name__}.Args is no dataclass and no msgspec.Struct",
            hint="write `@dataclass` above `class Args`, and give each field a type and a default",
        )
    try:
        fields_of(args_class)
    except (NameError, TypeError) as error:
        raise PluginClassError(
            f"{plugin.__name__}.Args has a field whose type is not known: {error}",
            hint="types of fields must be names of the plugin's module",
        ) from error
