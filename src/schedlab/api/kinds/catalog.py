"""Every kind that is served, one line each; some only while their feature is on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from schedlab.api.kinds.admissionpolicy import MUTATING_ADMISSION_POLICY, VALIDATING_ADMISSION_POLICY
from schedlab.api.kinds.admissionpolicybinding import (
    MUTATING_ADMISSION_POLICY_BINDING,
    VALIDATING_ADMISSION_POLICY_BINDING,
)
from schedlab.api.kinds.apiservice import API_SERVICE
from schedlab.api.kinds.certificatesigningrequest import CERTIFICATE_SIGNING_REQUEST
from schedlab.api.kinds.configmap import CONFIG_MAP
from schedlab.api.kinds.controllerrevision import CONTROLLER_REVISION
from schedlab.api.kinds.cronjob import CRON_JOB
from schedlab.api.kinds.csidriver import CSI_DRIVER
from schedlab.api.kinds.csinode import CSI_NODE
from schedlab.api.kinds.csistoragecapacity import CSI_STORAGE_CAPACITY
from schedlab.api.kinds.customresourcedefinition import CUSTOM_RESOURCE_DEFINITION
from schedlab.api.kinds.daemonset import DAEMON_SET
from schedlab.api.kinds.deployment import DEPLOYMENT
from schedlab.api.kinds.deviceclass import DEVICE_CLASS
from schedlab.api.kinds.endpoints import ENDPOINTS
from schedlab.api.kinds.endpointslice import ENDPOINT_SLICE
from schedlab.api.kinds.event import EVENT, EVENT_V1
from schedlab.api.kinds.flowschema import FLOW_SCHEMA
from schedlab.api.kinds.horizontalpodautoscaler import HORIZONTAL_POD_AUTOSCALER, HORIZONTAL_POD_AUTOSCALER_V1
from schedlab.api.kinds.ingress import INGRESS
from schedlab.api.kinds.ingressclass import INGRESS_CLASS
from schedlab.api.kinds.ipaddress import IP_ADDRESS
from schedlab.api.kinds.job import JOB
from schedlab.api.kinds.lease import LEASE
from schedlab.api.kinds.limitrange import LIMIT_RANGE
from schedlab.api.kinds.namespace import NAMESPACE
from schedlab.api.kinds.networkpolicy import NETWORK_POLICY
from schedlab.api.kinds.node import NODE
from schedlab.api.kinds.persistentvolume import PERSISTENT_VOLUME
from schedlab.api.kinds.persistentvolumeclaim import PERSISTENT_VOLUME_CLAIM
from schedlab.api.kinds.pod.strategy import POD
from schedlab.api.kinds.poddisruptionbudget import POD_DISRUPTION_BUDGET
from schedlab.api.kinds.podgroup import POD_GROUP, WORKLOAD
from schedlab.api.kinds.podtemplate import POD_TEMPLATE
from schedlab.api.kinds.priorityclass import PRIORITY_CLASS
from schedlab.api.kinds.prioritylevelconfiguration import PRIORITY_LEVEL_CONFIGURATION
from schedlab.api.kinds.replicaset import REPLICA_SET
from schedlab.api.kinds.replicationcontroller import REPLICATION_CONTROLLER
from schedlab.api.kinds.resourceclaim import RESOURCE_CLAIM, RESOURCE_CLAIM_TEMPLATE
from schedlab.api.kinds.resourcequota import RESOURCE_QUOTA
from schedlab.api.kinds.resourceslice import RESOURCE_SLICE
from schedlab.api.kinds.role import CLUSTER_ROLE, ROLE
from schedlab.api.kinds.rolebinding import CLUSTER_ROLE_BINDING, ROLE_BINDING
from schedlab.api.kinds.runtimeclass import RUNTIME_CLASS
from schedlab.api.kinds.secret import SECRET
from schedlab.api.kinds.service import SERVICE
from schedlab.api.kinds.serviceaccount import SERVICE_ACCOUNT
from schedlab.api.kinds.servicecidr import SERVICE_CIDR
from schedlab.api.kinds.statefulset import STATEFUL_SET
from schedlab.api.kinds.storageclass import STORAGE_CLASS
from schedlab.api.kinds.strategy import Strategy
from schedlab.api.kinds.volumeattachment import VOLUME_ATTACHMENT
from schedlab.api.kinds.volumeattributesclass import VOLUME_ATTRIBUTES_CLASS
from schedlab.api.kinds.webhookconfiguration import MUTATING_WEBHOOK_CONFIGURATION, VALIDATING_WEBHOOK_CONFIGURATION

_STRATEGIES: Final = (
    API_SERVICE,
    CERTIFICATE_SIGNING_REQUEST,
    CLUSTER_ROLE,
    CLUSTER_ROLE_BINDING,
    CONFIG_MAP,
    CONTROLLER_REVISION,
    CRON_JOB,
    CSI_DRIVER,
    CSI_NODE,
    CSI_STORAGE_CAPACITY,
    CUSTOM_RESOURCE_DEFINITION,
    DAEMON_SET,
    DEPLOYMENT,
    DEVICE_CLASS,
    ENDPOINTS,
    ENDPOINT_SLICE,
    EVENT,
    EVENT_V1,
    FLOW_SCHEMA,
    HORIZONTAL_POD_AUTOSCALER,
    HORIZONTAL_POD_AUTOSCALER_V1,
    INGRESS,
    INGRESS_CLASS,
    IP_ADDRESS,
    JOB,
    LEASE,
    LIMIT_RANGE,
    MUTATING_ADMISSION_POLICY,
    MUTATING_ADMISSION_POLICY_BINDING,
    MUTATING_WEBHOOK_CONFIGURATION,
    NAMESPACE,
    NETWORK_POLICY,
    NODE,
    PERSISTENT_VOLUME,
    PERSISTENT_VOLUME_CLAIM,
    POD,
    POD_DISRUPTION_BUDGET,
    POD_GROUP,
    POD_TEMPLATE,
    PRIORITY_CLASS,
    PRIORITY_LEVEL_CONFIGURATION,
    REPLICATION_CONTROLLER,
    REPLICA_SET,
    RESOURCE_CLAIM,
    RESOURCE_CLAIM_TEMPLATE,
    RESOURCE_QUOTA,
    RESOURCE_SLICE,
    ROLE,
    ROLE_BINDING,
    RUNTIME_CLASS,
    SECRET,
    SERVICE,
    SERVICE_ACCOUNT,
    SERVICE_CIDR,
    STATEFUL_SET,
    STORAGE_CLASS,
    VALIDATING_ADMISSION_POLICY,
    VALIDATING_ADMISSION_POLICY_BINDING,
    VALIDATING_WEBHOOK_CONFIGURATION,
    VOLUME_ATTACHMENT,
    VOLUME_ATTRIBUTES_CLASS,
    WORKLOAD,
)

#: By resource name with group, as kubectl prints it.
STRATEGIES: Final[Mapping[str, Strategy]] = {strategy.resource: strategy for strategy in _STRATEGIES}
