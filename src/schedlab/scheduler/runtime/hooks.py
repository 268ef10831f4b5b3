"""A plugin with hooks around its methods; to the runtime it looks like the plugin itself.

Mirrors: wrappedPlugin of kube-scheduler-simulator (scheduler/plugin/wrappedplugin.go).
Differs: only plugins with hooks are wrapped; results are recorded by the runtime, not here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from schedlab.kernel.errors import InvariantError
from schedlab.scheduler.framework.interface import Work
from schedlab.scheduler.framework.status import is_success
from schedlab.scheduler.runtime.errors import as_status, text_of

if TYPE_CHECKING:
    from schedlab.scheduler.framework.interface import CycleState

Method = Callable[..., Any]
Wrap = Callable[[Method, Method | None, Method | None], Method]

# What cannot answer for the hooks around a method and is therefore not to be seen.
_HIDDEN: Final[Mapping[str, tuple[str, ...]]] = {
    "pre_filter": ("sign_pod", "is_row_local", "is_pod_local", "skips", "pre_binds_nothing", "changed_verdicts"),
    "filter": ("filter_nodes", "looks_at", "sign_pod", "is_row_local", "changed_verdicts"),
    "pre_score": ("sign_pod", "is_row_local", "is_pod_local", "skips"),
    "score": ("score_nodes", "score_looks_at", "sign_pod", "is_row_local"),
    "normalize_score": ("normalized_zeros", "sign_pod"),
    "reserve": ("reserves_nothing", "pre_binds_nothing"),
}


class HookError(Exception):
    """A hook that raised."""


class HookedPlugin:
    """A plugin and the hooks around it: methods with hooks are replaced, everything else is the plugin's own."""

    def __init__(self, plugin: Any, hooks: Any) -> None:
        self._plugin = plugin
        self._hidden: dict[str, None] = {}
        self.name: str = plugin.name
        # After-hooks that wait until the work of their point is done.
        self._after_work: dict[str, Method] = {}
        for point, wrap in _WRAPS.items():
            before, after = _hook(hooks, f"before_{point}"), _hook(hooks, f"after_{point}")
            if hasattr(plugin, point) and (before is not None or after is not None):
                setattr(self, point, wrap(getattr(plugin, point), before, after))
                self._hidden |= dict.fromkeys(_HIDDEN.get(point, ()))
        for point in ("pre_bind", "bind"):
            before, after = _hook(hooks, f"before_{point}"), _hook(hooks, f"after_{point}")
            if hasattr(plugin, point) and (before is not None or after is not None):
                setattr(self, point, self._around_work(point, before, after))
        if self._after_work and hasattr(plugin, "resume"):
            self.resume = self._resume
        after = _hook(hooks, "after_post_filter")
        if after is not None and hasattr(plugin, "resume_post_filter"):
            self.resume_post_filter = _around_post_filter(plugin.resume_post_filter, None, after)

    def __getattr__(self, name: str) -> Any:
        if name in self._hidden:
            raise AttributeError(f"{name} knows nothing of the hooks around {self.name}")
        return getattr(self._plugin, name)

    def _around_work(self, point: str, before: Method | None, after: Method | None) -> Method:
        method = getattr(self._plugin, point)
        if after is not None:
            self._after_work[point] = after

        def call(state: CycleState, *rest: Any) -> Any:
            if before is not None:
                refusal = as_status(before(state, *rest))
                if not is_success(refusal):
                    return refusal
            answer = method(state, *rest)
            if isinstance(answer, Work):
                state.write((HookedPlugin, self.name), point)
                return answer
            return answer if after is None else after(state, *rest, as_status(answer))

        return call

    def _resume(self, state: CycleState, pod: Any, node_name: str, *rest: Any) -> Any:
        answer = self._plugin.resume(state, pod, node_name, *rest)
        after = self._after_work.get(state.find((HookedPlugin, self.name)) or "")
        # Background work has no node and no hooks.
        if isinstance(answer, Work) or after is None or not node_name:
            return answer
        return after(state, pod, node_name, as_status(answer))


def _hook(hooks: Any, name: str) -> Method | None:
    """Return a hook that says who it is when it raises."""
    hook: Method | None = getattr(hooks, name, None)
    if hook is None:
        return None

    def call(*arguments: Any) -> Any:
        try:
            return hook(*arguments)
        except InvariantError:
            raise
        except Exception as error:
            raise HookError(f"{type(hooks).__name__}.{name}: {text_of(error)}") from error

    return call


# --- One wrap per form of answer ---


def _around_status(method: Method, before: Method | None, after: Method | None) -> Method:
    """The answer is a status."""

    def call(*arguments: Any) -> Any:
        if before is not None:
            refusal = as_status(before(*arguments))
            if not is_success(refusal):
                return refusal
        answer = as_status(method(*arguments))
        return answer if after is None else after(*arguments, answer)

    return call


def _around_pair(place: int) -> Wrap:
    """The answer is a pair with the status at that place."""

    def wrap(method: Method, before: Method | None, after: Method | None) -> Method:
        def call(*arguments: Any) -> Any:
            if before is not None:
                first = before(*arguments)
                if not is_success(as_status(first[place])):
                    return first
            answer = method(*arguments)
            return answer if after is None else after(*arguments, *answer)

        return call

    return wrap


def _around_post_filter(method: Method, before: Method | None, after: Method | None) -> Method:
    """The answer is a result, a status and work; with requests to extenders it is not the last one."""

    def call(*arguments: Any) -> Any:
        if before is not None:
            result, refusal = before(*arguments)
            if not is_success(as_status(refusal)):
                return result, refusal, None
        result, status, work = method(*arguments)
        if after is None or (work is not None and work.calls):
            return result, status, work
        return (*after(*arguments[:3], result, status), work)

    return call


def _around_nothing(method: Method, before: Method | None, after: Method | None) -> Method:
    """There is no answer."""

    def call(*arguments: Any) -> None:
        if before is not None and not is_success(as_status(before(*arguments))):
            return
        method(*arguments)
        if after is not None:
            after(*arguments)

    return call


_WRAPS: Final[Mapping[str, Wrap]] = {
    "pre_filter": _around_pair(1),
    "filter": _around_status,
    "post_filter": _around_post_filter,
    "pre_score": _around_status,
    "score": _around_pair(1),
    "normalize_score": _around_status,
    "reserve": _around_status,
    "unreserve": _around_nothing,
    "permit": _around_pair(0),
    "post_bind": _around_nothing,
}
