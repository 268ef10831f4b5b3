"""The cluster roles of the controllers, each for the service account of that name in kube-system.

Mirrors: plugin/pkg/auth/authorizer/rbac/bootstrappolicy/controller_policy.go (v1.36), default feature gates
Differs: nothing.
"""

from __future__ import annotations

from typing import Final

from schedlab.apiserver.policy.forms import Role, rule

#: Stands before the name of the controller.
PREFIX: Final = "system:controller:"

#: Named by the controller.
CONTROLLER_ROLES: Final = (
    Role(
        "attachdetach-controller",
        (
            rule("list watch", "core", "persistentvolumeclaims persistentvolumes"),
            rule("get list watch", "core", "nodes"),
            rule("patch update", "core", "nodes/status"),
            rule("list watch", "core", "pods"),
            rule("create patch update", "core events.k8s.io", "events"),
            rule("create delete get list watch", "storage.k8s.io", "volumeattachments"),
            rule("get list watch", "storage.k8s.io", "csidrivers"),
            rule("get list watch", "storage.k8s.io", "csinodes"),
        ),
    ),
    Role(
        "clusterrole-aggregation-controller",
        (rule("escalate get list patch update watch", "rbac.authorization.k8s.io", "clusterroles"),),
    ),
    Role(
        "cronjob-controller",
        (
            rule("get list update watch", "batch", "cronjobs"),
            rule("create delete get list patch update watch", "batch", "jobs"),
            rule("update", "batch", "cronjobs/status"),
            rule("update", "batch", "cronjobs/finalizers"),
            rule("delete list watch", "core", "pods"),
            rule("create patch update", "core events.k8s.io", "events"),
        ),
    ),
    Role(
        "daemon-set-controller",
        (
            rule("get list watch", "apps extensions", "daemonsets"),
            rule("update", "apps extensions", "daemonsets/status"),
            rule("update", "apps extensions", "daemonsets/finalizers"),
            rule("list watch", "core", "nodes"),
            rule("create delete list patch watch", "core", "pods"),
            rule("create", "core", "pods/binding"),
            rule("create delete get list patch update watch", "apps", "controllerrevisions"),
            rule("create patch update", "core events.k8s.io", "events"),
        ),
    ),
    Role(
        "deployment-controller",
        (
            rule("get list update watch", "apps extensions", "deployments"),
            rule("update", "apps extensions", "deployments/status"),
            rule("update", "apps extensions", "deployments/finalizers"),
            rule("create delete get list patch update watch", "apps extensions", "replicasets"),
            rule("get list update watch", "core", "pods"),
            rule("create patch update", "core events.k8s.io", "events"),
        ),
    ),
    Role(
        "disruption-controller",
        (
            rule("get list watch", "apps extensions", "deployments"),
            rule("get list watch", "apps extensions", "replicasets"),
            rule("get list watch", "core", "replicationcontrollers"),
            rule("get list watch", "policy", "poddisruptionbudgets"),
            rule("get list watch", "apps", "statefulsets"),
            rule("update", "policy", "poddisruptionbudgets/status"),
            rule("patch update", "core", "pods/status"),
            rule("get", "*", "*/scale"),
            rule("create patch update", "core events.k8s.io", "events"),
        ),
    ),
    Role(
        "endpoint-controller",
        (
            rule("get list watch", "core", "pods services"),
            rule("create delete get list update watch", "core", "endpoints"),
            rule("create", "core", "endpoints/restricted"),
            rule("create patch update", "core events.k8s.io", "events"),
        ),
    ),
    Role(
        "endpointslice-controller",
        (
            rule("get list watch", "core", "nodes pods services"),
            rule("update", "core", "services/finalizers"),
            rule("create delete get list update watch", "discovery.k8s.io", "endpointslices"),
            rule("create", "discovery.k8s.io", "endpointslices/restricted"),
            rule("create patch update", "core events.k8s.io", "events"),
        ),
    ),
    Role(
        "endpointslicemirroring-controller",
        (
            rule("get list watch", "core", "endpoints services"),
            rule("update", "core", "services/finalizers"),
            rule("update", "core", "endpoints/finalizers"),
            rule("create delete get list update watch", "discovery.k8s.io", "endpointslices"),
            rule("create", "discovery.k8s.io", "endpointslices/restricted"),
            rule("create patch update", "core events.k8s.io", "events"),
        ),
    ),
    Role(
        "expand-controller",
        (
            rule("get list patch update watch", "core", "persistentvolumes"),
            rule("patch update", "core", "persistentvolumeclaims/status"),
            rule("get list watch", "core", "persistentvolumeclaims"),
            rule("create patch update", "core events.k8s.io", "events"),
        ),
    ),
    Role(
        "ephemeral-volume-controller",
        (
            rule("get list watch", "core", "pods"),
            rule("update", "core", "pods/finalizers"),
            rule("create get list watch", "core", "persistentvolumeclaims"),
            rule("create patch update", "core events.k8s.io", "events"),
        ),
    ),
    Role(
        "resource-claim-controller",
        (
            rule("get list watch", "core", "pods"),
            rule("update", "core", "pods/finalizers"),
            rule("create delete get list watch", "resource.k8s.io", "resourceclaims"),
            rule("patch update", "resource.k8s.io", "resourceclaims resourceclaims/status"),
            rule("patch update", "core", "pods/status"),
            rule("create patch update", "core events.k8s.io", "events"),
            rule("patch update", "resource.k8s.io", "resourceclaims/binding"),
        ),
    ),
    Role(
        "device-taint-eviction-controller",
        (
            rule("delete get list watch", "core", "pods"),
            rule("patch update", "core", "pods/status"),
            rule("get list watch", "resource.k8s.io", "resourceclaims"),
            rule("get list watch", "resource.k8s.io", "resourceslices"),
            rule("get list watch", "resource.k8s.io", "deviceclasses"),
            rule("create patch update", "core events.k8s.io", "events"),
        ),
    ),
    Role(
        "generic-garbage-collector",
        (
            rule("delete get list patch update watch", "*", "*"),
            rule("create patch update", "core events.k8s.io", "events"),
        ),
    ),
    Role(
        "horizontal-pod-autoscaler",
        (
            rule("get list watch", "autoscaling", "horizontalpodautoscalers"),
            rule("update", "autoscaling", "horizontalpodautoscalers/status"),
            rule("get update", "*", "*/scale"),
            rule("list watch", "core", "pods"),
            rule("list watch", "metrics.k8s.io", "pods"),
            rule("get list watch", "custom.metrics.k8s.io", "*"),
            rule("get list watch", "external.metrics.k8s.io", "*"),
            rule("create patch update", "core events.k8s.io", "events"),
        ),
    ),
    Role(
        "job-controller",
        (
            rule("get list patch update watch", "batch", "jobs"),
            rule("update", "batch", "jobs/status"),
            rule("update", "batch", "jobs/finalizers"),
            rule("create delete list patch watch", "core", "pods"),
            rule("create patch update", "core events.k8s.io", "events"),
        ),
    ),
    Role(
        "namespace-controller",
        (
            rule("delete get list watch", "core", "namespaces"),
            rule("update", "core", "namespaces/finalize namespaces/status"),
            rule("delete deletecollection get list watch", "*", "*"),
        ),
    ),
    Role(
        "node-controller",
        (
            rule("delete get list patch update watch", "core", "nodes"),
            rule("patch update", "core", "nodes/status"),
            rule("patch update", "core", "pods/status"),
            rule("delete get list watch", "core", "pods"),
            rule("create patch update", "core events.k8s.io", "events"),
        ),
    ),
    Role(
        "persistent-volume-binder",
        (
            rule("create delete get list update watch", "core", "persistentvolumes"),
            rule("update", "core", "persistentvolumes/status"),
            rule("get list update watch", "core", "persistentvolumeclaims"),
            rule("update", "core", "persistentvolumeclaims/status"),
            rule("create delete get list watch", "core", "pods"),
            rule("get list watch", "storage.k8s.io", "storageclasses"),
            rule("list watch", "core", "nodes"),
            rule("create patch update", "core events.k8s.io", "events"),
            rule("watch", "core", "events"),
        ),
    ),
    Role(
        "pod-garbage-collector",
        (
            rule("delete list watch", "core", "pods"),
            rule("get list watch", "core", "nodes"),
            rule("patch", "core", "pods/status"),
        ),
    ),
    Role(
        "replicaset-controller",
        (
            rule("get list update watch", "apps extensions", "replicasets"),
            rule("update", "apps extensions", "replicasets/status"),
            rule("update", "apps extensions", "replicasets/finalizers"),
            rule("create delete list patch watch", "core", "pods"),
            rule("create patch update", "core events.k8s.io", "events"),
        ),
    ),
    Role(
        "replication-controller",
        (
            rule("get list update watch", "core", "replicationcontrollers"),
            rule("update", "core", "replicationcontrollers/status"),
            rule("update", "core", "replicationcontrollers/finalizers"),
            rule("create delete list patch watch", "core", "pods"),
            rule("create patch update", "core events.k8s.io", "events"),
        ),
    ),
    Role(
        "resourcequota-controller",
        (
            rule("list watch", "*", "*"),
            rule("update", "core", "resourcequotas/status"),
            rule("create patch update", "core events.k8s.io", "events"),
        ),
    ),
    Role(
        "route-controller",
        (
            rule("list watch", "core", "nodes"),
            rule("patch", "core", "nodes/status"),
            rule("create patch update", "core events.k8s.io", "events"),
        ),
    ),
    Role(
        "service-account-controller",
        (
            rule("create", "core", "serviceaccounts"),
            rule("create patch update", "core events.k8s.io", "events"),
        ),
    ),
    Role(
        "service-controller",
        (
            rule("get list watch", "core", "services"),
            rule("patch update", "core", "services/status"),
            rule("list watch", "core", "nodes"),
            rule("create patch update", "core events.k8s.io", "events"),
        ),
    ),
    Role(
        "service-cidrs-controller",
        (
            rule("get list patch update watch", "networking.k8s.io", "servicecidrs"),
            rule("patch update", "networking.k8s.io", "servicecidrs/finalizers"),
            rule("patch update", "networking.k8s.io", "servicecidrs/status"),
            rule("get list watch", "networking.k8s.io", "ipaddresses"),
            rule("create patch update", "core events.k8s.io", "events"),
        ),
    ),
    Role(
        "statefulset-controller",
        (
            rule("list watch", "core", "pods"),
            rule("get list watch", "apps", "statefulsets"),
            rule("update", "apps", "statefulsets/status"),
            rule("update", "apps", "statefulsets/finalizers"),
            rule("create delete get patch update", "core", "pods"),
            rule("create delete get list patch update watch", "apps", "controllerrevisions"),
            rule("create get list watch", "core", "persistentvolumeclaims"),
            rule("delete update", "core", "persistentvolumeclaims"),
            rule("update", "core", "pods/finalizers"),
            rule("create patch update", "core events.k8s.io", "events"),
        ),
    ),
    Role(
        "ttl-controller",
        (
            rule("list patch update watch", "core", "nodes"),
            rule("create patch update", "core events.k8s.io", "events"),
        ),
    ),
    Role(
        "certificate-controller",
        (
            rule("delete get list watch", "certificates.k8s.io", "certificatesigningrequests"),
            rule(
                "update", "certificates.k8s.io", "certificatesigningrequests/approval certificatesigningrequests/status"
            ),
            rule("approve", "certificates.k8s.io", "signers", names="kubernetes.io/kube-apiserver-client-kubelet"),
            rule(
                "sign",
                "certificates.k8s.io",
                "signers",
                names="kubernetes.io/kube-apiserver-client kubernetes.io/kube-apiserver-client-kubelet kubernetes.io/kubelet-serving kubernetes.io/legacy-unknown",
            ),
            rule("create", "authorization.k8s.io", "subjectaccessreviews"),
            rule("create patch update", "core events.k8s.io", "events"),
        ),
    ),
    Role(
        "pvc-protection-controller",
        (
            rule("get list update watch", "core", "persistentvolumeclaims"),
            rule("update", "core", "persistentvolumeclaims/status"),
            rule("get list watch", "core", "pods"),
            rule("create patch update", "core events.k8s.io", "events"),
        ),
    ),
    Role(
        "pv-protection-controller",
        (
            rule("get list update watch", "core", "persistentvolumes"),
            rule("create patch update", "core events.k8s.io", "events"),
        ),
    ),
    Role(
        "volumeattributesclass-protection-controller",
        (
            rule("get list watch", "core", "persistentvolumeclaims"),
            rule("get list watch", "core", "persistentvolumes"),
            rule("get list update watch", "storage.k8s.io", "volumeattributesclasses"),
            rule("create patch update", "core events.k8s.io", "events"),
        ),
    ),
    Role(
        "ttl-after-finished-controller",
        (
            rule("delete get list watch", "batch", "jobs"),
            rule("create patch update", "core events.k8s.io", "events"),
        ),
    ),
    Role(
        "root-ca-cert-publisher",
        (
            rule("create update", "core", "configmaps"),
            rule("create patch update", "core events.k8s.io", "events"),
        ),
    ),
    Role(
        "service-ca-cert-publisher",
        (
            rule("create update", "core", "configmaps"),
            rule("create patch update", "core events.k8s.io", "events"),
        ),
    ),
    Role(
        "validatingadmissionpolicy-status-controller",
        (
            rule("get list watch", "admissionregistration.k8s.io", "validatingadmissionpolicies"),
            rule("get patch update", "admissionregistration.k8s.io", "validatingadmissionpolicies/status"),
            rule("create patch update", "core events.k8s.io", "events"),
        ),
    ),
    Role(
        "legacy-service-account-token-cleaner",
        (
            rule("get", "core", "configmaps", names="kube-apiserver-legacy-service-account-token-tracking"),
            rule("delete patch", "core", "secrets"),
        ),
    ),
    Role(
        "selinux-warning-controller",
        (
            rule("create patch update", "core events.k8s.io", "events"),
            rule("get list watch", "core", "persistentvolumes"),
            rule("get list watch", "core", "persistentvolumeclaims"),
            rule("get list watch", "core", "pods"),
            rule("get list watch", "storage.k8s.io", "csidrivers"),
        ),
    ),
)
