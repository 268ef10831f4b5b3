"""The Kubernetes release whose behaviour is simulated, as its components report it."""

from __future__ import annotations

from typing import Final

KUBERNETES_MAJOR: Final = "1"
KUBERNETES_MINOR: Final = "36"
KUBERNETES_VERSION: Final = "v1.36.2"
