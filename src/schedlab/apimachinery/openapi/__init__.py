"""OpenAPI documents of the served resources, generated from the type table and made when first asked for.

    schemas     the components: one JSON schema per type
    paths       the operations of a resource
    documents   the index, the document of each group version (v3), the whole in one (v2)

Mirrors: k8s.io/kube-openapi/pkg/{builder,builder3,handler3}, k8s.io/apiserver/pkg/endpoints (v1.36)
"""

from schedlab.apimachinery.openapi.documents import OpenAPI

__all__ = ["OpenAPI"]
