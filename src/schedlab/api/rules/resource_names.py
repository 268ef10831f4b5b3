"""Kinds of resource names.

Mirrors: pkg/apis/core/v1/helper/helpers.go and IsScalarResourceName in pkg/scheduler/util/utils.go (v1.36).
Differs: nothing.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from schedlab.api.rules.requests import HUGE_PAGES_PREFIX
from schedlab.apimachinery.names import check_qualified_name

NATIVE_NAMESPACE: Final = "kubernetes.io/"
REQUESTS_PREFIX: Final = "requests."
ATTACHABLE_VOLUMES_PREFIX: Final = "attachable-volumes-"
#: Before the name of a DeviceClass: the extended resource that stands for one of its devices.
DEVICE_CLASS_PREFIX: Final = "deviceclass.resource.kubernetes.io/"


def is_native_resource(name: str) -> bool:
    """Whether the name belongs to Kubernetes itself."""
    return "/" not in name or NATIVE_NAMESPACE in name


@lru_cache(maxsize=4096)
def is_extended_resource(name: str) -> bool:
    """Whether the name is someone else's, fit for a quota too."""
    if is_native_resource(name) or name.startswith(REQUESTS_PREFIX):
        return False
    return not check_qualified_name(REQUESTS_PREFIX + name)


@lru_cache(maxsize=4096)
def is_scalar_resource(name: str) -> bool:
    """Whether the scheduler counts the resource as a plain number beside cpu, memory and ephemeral storage."""
    return (
        is_extended_resource(name)
        or name.startswith((HUGE_PAGES_PREFIX, ATTACHABLE_VOLUMES_PREFIX))
        or NATIVE_NAMESPACE in name
    )
