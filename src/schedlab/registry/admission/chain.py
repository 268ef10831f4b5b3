"""The admission steps of a registry, in order.

Mirrors: staging/src/k8s.io/apiserver/pkg/admission/{attributes,chain}.go, pkg/kubeapiserver/options/plugins.go (v1.36)
Differs: a step is a pair of functions.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from schedlab.api.object import Object
from schedlab.kernel.errors import SchedlabError

if TYPE_CHECKING:
    from schedlab.apimachinery.user import User
    from schedlab.registry.core import Core
    from schedlab.registry.resource import Resource

Operation: TypeAlias = Literal["CREATE", "UPDATE", "DELETE"]


class Attributes(msgspec.Struct):
    """One request as admission sees it; `obj` is None for a deletion, `old` for a creation."""

    operation: Operation
    resource: Resource
    namespace: str
    name: str
    obj: Object | None
    old: Object | None
    subresource: str
    dry_run: bool
    user: User
    warnings: list[str]


#: Looks at a request, may change `obj`, raises StatusError to refuse.
Step: TypeAlias = Callable[[Attributes, "Core"], None]


@dataclass(frozen=True, slots=True)
class Admission:
    """One admission plugin."""

    name: str
    mutate: Step | None = None
    validate: Step | None = None
    #: The resources it looks at; None is all.
    resources: Collection[str] | None = None
    #: The subresources of them, "" being the object itself; None is all.
    subresources: Collection[str] | None = None
    #: Whether what it does depends on nothing but the request, the store, `core.random` and the second of the request,
    #: so that it need not be asked about a request that is like an earlier one.
    repeats: bool = False

    def looks_at(self, resource: str, subresource: str) -> bool:
        return (self.resources is None or resource in self.resources) and (
            self.subresources is None or subresource in self.subresources
        )


@dataclass(frozen=True, slots=True)
class _Steps:
    """What looks at the requests of one resource or subresource."""

    mutate: tuple[Step, ...]
    validate: tuple[Step, ...]
    repeats: bool


class Chain:
    """The plugins that are switched on."""

    def __init__(self, plugins: Iterable[Admission]) -> None:
        self._arrange(tuple(plugins))

    def append(self, plugin: Admission) -> None:
        """Let a plugin run after all others."""
        self._arrange((*self.plugins, plugin))

    def _arrange(self, plugins: Sequence[Admission]) -> None:
        self.plugins = plugins
        self._of: dict[tuple[str, str], _Steps] = {}

    def _steps(self, resource: str, subresource: str) -> _Steps:
        found = self._of.get((resource, subresource))
        if found is None:
            concerned = [plugin for plugin in self.plugins if plugin.looks_at(resource, subresource)]
            found = self._of[resource, subresource] = _Steps(
                tuple(plugin.mutate for plugin in concerned if plugin.mutate is not None),
                tuple(plugin.validate for plugin in concerned if plugin.validate is not None),
                repeats=all(plugin.repeats for plugin in concerned),
            )
        return found

    def repeats(self, resource: str, subresource: str) -> bool:
        """Say whether a request that is like an earlier one, of which nothing has changed, meets the same steps."""
        return self._steps(resource, subresource).repeats

    def mutate(self, attributes: Attributes, core: Core) -> None:
        for step in self._steps(attributes.resource.name, attributes.subresource).mutate:
            step(attributes, core)

    def validate(self, attributes: Attributes, core: Core) -> None:
        for step in self._steps(attributes.resource.name, attributes.subresource).validate:
            step(attributes, core)


def choose(known: Sequence[Admission], names: Iterable[str]) -> Chain:
    """Switch on the named plugins, in the order of `known`; raises SchedlabError for an unknown name."""
    wanted = dict.fromkeys(names)
    for name in wanted:
        if all(plugin.name != name for plugin in known):
            raise SchedlabError(
                f'"{name}" is no admission plugin',
                location="admission",
                hint=f"choose from {', '.join(plugin.name for plugin in known)}",
            )
    return Chain(plugin for plugin in known if plugin.name in wanted)
