"""The publisher of the root CA: every living namespace has a configmap with the certificate of the API server's CA.

Mirrors: pkg/controller/certificates/rootcacertpublisher/publisher.go (v1.36). Differs: nothing.
"""

from __future__ import annotations

from typing import ClassVar, Final

from schedlab.api.object import WatchEvent
from schedlab.client.protocol import Write
from schedlab.controllers.framework.controller import Controller, ControllerContext, Steps, ask, attempt
from schedlab.controllers.framework.pod_control import is_namespace_going

CONFIG_MAP: Final = "kube-root-ca.crt"
_CONFIG_MAPS: Final = "configmaps"
_ANNOTATION: Final = "kubernetes.io/description"
_DESCRIPTION: Final = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the "
    "internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes "
    "clusters."
)


class RootCACertPublisher(Controller):
    """Keys are names of namespaces."""

    name: ClassVar[str] = "root-ca-certificate-publisher-controller"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._namespaces = context.lister("namespaces")
        self._config_maps = context.lister(_CONFIG_MAPS)
        self._namespaces.on_change(self._on_namespace)
        self._config_maps.on_change(self._on_config_map)

    def _on_namespace(self, event: WatchEvent) -> None:
        if event.type != "DELETED" and event.object.view.status.phase != "Terminating":
            self.queue.add(event.object.name)

    def _on_config_map(self, event: WatchEvent) -> None:
        if event.object.name == CONFIG_MAP and event.type != "ADDED":
            self.queue.add(event.object.namespace)

    def sync(self, key: str) -> Steps:
        """Create the configmap of a namespace, or put it right."""
        data = {"ca.crt": self.context.root_ca}
        annotations = {_ANNOTATION: _DESCRIPTION}
        found = self._config_maps.stored(CONFIG_MAP, key)
        if found is None:
            metadata = {"name": CONFIG_MAP, "namespace": key, "annotations": annotations}
            new = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}
            error = (yield from attempt(Write("create", _CONFIG_MAPS, key, CONFIG_MAP, new))).error
            if error is not None and error.reason != "NotFound" and not is_namespace_going(error):
                raise error
            return
        if found.raw.get("data") == data and found.view.metadata.annotations.get(_ANNOTATION):
            return
        body = found.thaw()
        body["data"] = data
        body["metadata"]["annotations"] = {**body["metadata"].get("annotations", {}), **annotations}
        yield from ask(Write("update", _CONFIG_MAPS, key, CONFIG_MAP, body))
