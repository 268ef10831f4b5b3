"""Attributes that are computed when they are first asked for.

Differs: functools.cached_property takes a lock at every first use; nothing here is shared between threads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class lazy(Generic[T]):  # noqa: N801 - used as a decorator, like property
    """Turns a method into an attribute; its value takes the place of this descriptor in the object."""

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute = compute
        self._name = compute.__name__
        self.__doc__ = compute.__doc__

    @overload
    def __get__(self, owner: None, kind: type[Any]) -> lazy[T]: ...

    @overload
    def __get__(self, owner: object, kind: type[Any] | None = None) -> T: ...

    def __get__(self, owner: object | None, kind: type[Any] | None = None) -> lazy[T] | T:
        if owner is None:
            return self
        value = owner.__dict__[self._name] = self._compute(owner)
        return value
