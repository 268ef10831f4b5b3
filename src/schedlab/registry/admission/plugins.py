"""Every admission plugin there is, in the order in which they run.

Mirrors: pkg/kubeapiserver/options/plugins.go (AllOrderedPlugins) (v1.36)
Differs: those of kinds that no controller answers for are missing.
"""

from __future__ import annotations

from typing import Final

from schedlab.registry.admission.default_classes import DEFAULT_INGRESS_CLASS, DEFAULT_STORAGE_CLASS
from schedlab.registry.admission.default_toleration_seconds import DEFAULT_TOLERATION_SECONDS
from schedlab.registry.admission.extended_resource_toleration import EXTENDED_RESOURCE_TOLERATION
from schedlab.registry.admission.limit_pod_hard_anti_affinity_topology import LIMIT_POD_HARD_ANTI_AFFINITY_TOPOLOGY
from schedlab.registry.admission.limit_ranger import LIMIT_RANGER
from schedlab.registry.admission.namespace_lifecycle import NAMESPACE_LIFECYCLE
from schedlab.registry.admission.persistent_volume_claim_resize import PERSISTENT_VOLUME_CLAIM_RESIZE
from schedlab.registry.admission.pod_node_selector import POD_NODE_SELECTOR
from schedlab.registry.admission.pod_resize import POD_RESIZE_VALIDATOR
from schedlab.registry.admission.pod_topology_labels import POD_TOPOLOGY_LABELS
from schedlab.registry.admission.priority import PRIORITY
from schedlab.registry.admission.resource_quota import RESOURCE_QUOTA
from schedlab.registry.admission.runtime_class import RUNTIME_CLASS
from schedlab.registry.admission.service_account import SERVICE_ACCOUNT
from schedlab.registry.admission.storage_object_in_use_protection import STORAGE_OBJECT_IN_USE_PROTECTION
from schedlab.registry.admission.taint_nodes_by_condition import TAINT_NODES_BY_CONDITION

KNOWN: Final = (
    NAMESPACE_LIFECYCLE,
    LIMIT_POD_HARD_ANTI_AFFINITY_TOPOLOGY,
    LIMIT_RANGER,
    SERVICE_ACCOUNT,
    TAINT_NODES_BY_CONDITION,
    POD_NODE_SELECTOR,
    PRIORITY,
    DEFAULT_TOLERATION_SECONDS,
    EXTENDED_RESOURCE_TOLERATION,
    DEFAULT_STORAGE_CLASS,
    STORAGE_OBJECT_IN_USE_PROTECTION,
    PERSISTENT_VOLUME_CLAIM_RESIZE,
    RUNTIME_CLASS,
    DEFAULT_INGRESS_CLASS,
    POD_TOPOLOGY_LABELS,
    POD_RESIZE_VALIDATOR,
    RESOURCE_QUOTA,
)

_OFF: Final = (LIMIT_POD_HARD_ANTI_AFFINITY_TOPOLOGY, POD_NODE_SELECTOR, EXTENDED_RESOURCE_TOLERATION)
#: What kube-apiserver switches on by itself.
DEFAULT_NAMES: Final = tuple(plugin.name for plugin in KNOWN if plugin not in _OFF)
