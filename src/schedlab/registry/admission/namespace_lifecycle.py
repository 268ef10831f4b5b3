"""NamespaceLifecycle: no object without its namespace, none in a namespace that ends, three namespaces never end.

Mirrors: staging/src/k8s.io/apiserver/pkg/admission/plugin/namespace/lifecycle/admission.go (v1.36)
Differs: there is no cache to be stale.
"""

from __future__ import annotations

from typing import Final

from schedlab.apimachinery.errors import new_forbidden, new_not_found
from schedlab.registry.admission.chain import Admission, Attributes
from schedlab.registry.admission.errors import forbidden
from schedlab.registry.core import Core

_IMMORTAL: Final = ("default", "kube-system", "kube-public")


def _admit(attributes: Attributes, core: Core) -> None:
    resource = attributes.resource
    if resource.name == "namespaces":
        if attributes.operation == "DELETE" and attributes.name in _IMMORTAL:
            raise new_forbidden(resource.group_resource, attributes.name, "this namespace may not be deleted")
        return
    name = attributes.namespace
    if not name or attributes.operation == "DELETE":
        return
    namespace = core.find("namespaces", "", name)
    if namespace is None:
        raise new_not_found(core.resources["namespaces"].group_resource, name)
    if attributes.operation == "CREATE" and namespace.view.status.phase == "Terminating":
        error = forbidden(
            attributes, f"unable to create new content in namespace {name} because it is being terminated"
        )
        cause = {
            "reason": "NamespaceTerminating",
            "message": f"namespace {name} is being terminated",
            "field": "metadata.namespace",
        }
        error.status["details"]["causes"] = [cause]
        raise error


NAMESPACE_LIFECYCLE: Final = Admission("NamespaceLifecycle", mutate=_admit, repeats=True)
