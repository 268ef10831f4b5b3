"""schedlab: a whole simulated Kubernetes control plane in one Python process.

    from schedlab import Cluster

The folders below this one are layers, ordered so that imports point downwards only; docs/architecture.md draws
them and import-linter proves the order. What programs use is in `laboratory`; its class is offered here, too, and
imported when it is asked for, so that the command line need not wait for it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from schedlab.laboratory import Cluster as Cluster

__all__ = ["Cluster", "__version__"]

__version__: Final = "0.1.0"


def __getattr__(name: str) -> Any:
    if name == "Cluster":
        return import_module("schedlab.laboratory").Cluster
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
