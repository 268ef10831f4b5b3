"""What `kubectl get` shows of each built-in resource: one module for each API group with columns of its own."""

from schedlab.apiserver.printers.catalog import all_printers, find

__all__ = ["all_printers", "find"]
