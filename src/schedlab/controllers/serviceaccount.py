"""The service account controller: every living namespace has the account `default`.

Mirrors: pkg/controller/serviceaccount/serviceaccounts_controller.go (v1.36). Differs: nothing.
"""

from __future__ import annotations

from typing import ClassVar, Final

from schedlab.api.object import WatchEvent
from schedlab.client.protocol import Write
from schedlab.controllers.framework.controller import Controller, ControllerContext, Steps, attempt
from schedlab.controllers.framework.pod_control import is_namespace_going

_ACCOUNTS: Final = "serviceaccounts"
_DEFAULT: Final = "default"


class ServiceAccountController(Controller):
    """Keys are names of namespaces."""

    name: ClassVar[str] = "serviceaccount-controller"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._namespaces = context.lister("namespaces")
        self._accounts = context.lister(_ACCOUNTS)
        self._namespaces.on_change(self._on_namespace)
        self._accounts.on_change(self._on_account)

    def _on_namespace(self, event: WatchEvent) -> None:
        if event.type != "DELETED":
            self.queue.add(event.object.name)

    def _on_account(self, event: WatchEvent) -> None:
        if event.type == "DELETED":
            self.queue.add(event.object.namespace)

    def sync(self, key: str) -> Steps:
        """Create the account of a namespace if it is missing."""
        namespace = self._namespaces.get(key)
        if namespace is None or namespace.status.phase != "Active":
            return
        if self._accounts.stored(_DEFAULT, key) is not None:
            return
        error = (yield from attempt(new_default_account(key))).error
        if error is not None and error.reason != "AlreadyExists" and not is_namespace_going(error):
            raise error


def new_default_account(namespace: str) -> Write:
    """Return the creation of a namespace's account."""
    metadata = {"name": _DEFAULT, "namespace": namespace}
    body = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}
    return Write("create", _ACCOUNTS, namespace, _DEFAULT, body)
