"""Every admission plugin there is, in the order in which they run.

Mirrors: pkg/kubeapiserver/options/plugins.go (AllOrderedPlugins) (v1.36)
Differs: those of kinds that no controller answers for are missing.
"""

from __future__ import annotations

from typing import Final

from schedlab.registry.admission.default_toleration_seconds import DEFAULT_TOLERATION_SECONDS
from schedlab.registry.admission.namespace_lifecycle import NAMESPACE_LIFECYCLE
from schedlab.registry.admission.pod_topology_labels import POD_TOPOLOGY_LABELS
from schedlab.registry.admission.priority import PRIORITY
from schedlab.registry.admission.service_account import SERVICE_ACCOUNT
from schedlab.registry.admission.storage_object_in_use_protection import STORAGE_OBJECT_IN_USE_PROTECTION

KNOWN: Final = (
    NAMESPACE_LIFECYCLE,
    SERVICE_ACCOUNT,
    PRIORITY,
    DEFAULT_TOLERATION_SECONDS,
    STORAGE_OBJECT_IN_USE_PROTECTION,
    POD_TOPOLOGY_LABELS,
)

#: What kube-apiserver switches on by itself.
DEFAULT_NAMES: Final = tuple(plugin.name for plugin in KNOWN)
