"""Who makes a request.

Mirrors: staging/src/k8s.io/apiserver/pkg/authentication/user/user.go (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final


@dataclass(frozen=True, slots=True)
class User:
    """Name and groups of who asks, and what an authenticator says beyond."""

    name: str = ""
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


#: Who asks where nobody says so.
NOBODY: Final = User()
