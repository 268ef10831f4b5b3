"""schedlab: a whole simulated Kubernetes control plane in one Python process.

The folders below this one are layers, ordered so that imports point downwards only; docs/architecture.md draws
them and import-linter proves the order. Nothing but the version lives here: import the folder you need.
"""

from typing import Final

__all__ = ["__version__"]

__version__: Final = "0.1.0"
