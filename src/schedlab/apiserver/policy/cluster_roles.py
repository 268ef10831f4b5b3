"""The cluster roles of users, nodes and components, in the order in which kube-apiserver creates them.

Mirrors: plugin/pkg/auth/authorizer/rbac/bootstrappolicy/policy.go (v1.36), default feature gates. Differs: nothing.
"""

from __future__ import annotations

from typing import Final

from schedlab.apiserver.policy.forms import Role, path_rule, rule

CLUSTER_ROLES: Final = (
    Role(
        "cluster-admin",
        (
            rule("*", "*", "*"),
            path_rule("*", "*"),
        ),
    ),
    Role(
        "system:discovery",
        (path_rule("get", "/api /api/* /apis /apis/* /healthz /livez /openapi /openapi/* /readyz /version /version/"),),
    ),
    Role(
        "system:monitoring",
        (
            path_rule(
                "get", "/flagz /healthz /healthz/* /livez /livez/* /metrics /metrics/slis /readyz /readyz/* /statusz"
            ),
            rule("get", "core", "nodes/metrics"),
        ),
    ),
    Role(
        "system:basic-user",
        (
            rule("create", "authorization.k8s.io", "selfsubjectaccessreviews selfsubjectrulesreviews"),
            rule("create", "authentication.k8s.io", "selfsubjectreviews"),
        ),
    ),
    Role("system:public-info-viewer", (path_rule("get", "/healthz /livez /readyz /version /version/"),)),
    Role("admin", (), sum_of="admin"),
    Role("edit", (), part_of="admin", sum_of="edit"),
    Role("view", (), part_of="edit", sum_of="view"),
    Role(
        "system:aggregate-to-admin",
        (
            rule("create", "authorization.k8s.io", "localsubjectaccessreviews"),
            rule(
                "create delete deletecollection get list patch update watch",
                "rbac.authorization.k8s.io",
                "rolebindings roles",
            ),
        ),
        part_of="admin",
    ),
    Role(
        "system:aggregate-to-edit",
        (
            rule("get list watch", "core", "pods/attach pods/exec pods/portforward pods/proxy secrets services/proxy"),
            rule("impersonate", "core", "serviceaccounts"),
            rule(
                "create delete deletecollection patch update",
                "core",
                "pods pods/attach pods/exec pods/portforward pods/proxy",
            ),
            rule("create", "core", "pods/eviction"),
            rule(
                "create delete deletecollection patch update",
                "core",
                "configmaps persistentvolumeclaims replicationcontrollers replicationcontrollers/scale secrets serviceaccounts services services/proxy",
            ),
            rule("create", "core", "serviceaccounts/token"),
            rule("create delete deletecollection patch update", "core events.k8s.io", "events"),
            rule(
                "create delete deletecollection patch update",
                "apps",
                "daemonsets deployments deployments/rollback deployments/scale replicasets replicasets/scale statefulsets statefulsets/scale",
            ),
            rule("create delete deletecollection patch update", "autoscaling", "horizontalpodautoscalers"),
            rule("create delete deletecollection patch update", "batch", "cronjobs jobs"),
            rule(
                "create delete deletecollection patch update",
                "extensions",
                "daemonsets deployments deployments/rollback deployments/scale ingresses networkpolicies replicasets replicasets/scale replicationcontrollers/scale",
            ),
            rule("create delete deletecollection patch update", "policy", "poddisruptionbudgets"),
            rule("create delete deletecollection patch update", "networking.k8s.io", "ingresses networkpolicies"),
            rule("create delete deletecollection get list patch update watch", "coordination.k8s.io", "leases"),
            rule(
                "create delete deletecollection patch update",
                "resource.k8s.io",
                "resourceclaims resourceclaimtemplates",
            ),
        ),
        part_of="edit",
    ),
    Role(
        "system:aggregate-to-view",
        (
            rule(
                "get list watch",
                "core",
                "configmaps endpoints persistentvolumeclaims persistentvolumeclaims/status pods replicationcontrollers replicationcontrollers/scale serviceaccounts services services/status",
            ),
            rule(
                "get list watch",
                "core",
                "bindings limitranges namespaces/status pods/log pods/status replicationcontrollers/status resourcequotas resourcequotas/status",
            ),
            rule("get list watch", "core", "namespaces"),
            rule("get list watch", "core events.k8s.io", "events"),
            rule("get list watch", "discovery.k8s.io", "endpointslices"),
            rule(
                "get list watch",
                "apps",
                "controllerrevisions daemonsets daemonsets/status deployments deployments/scale deployments/status replicasets replicasets/scale replicasets/status statefulsets statefulsets/scale statefulsets/status",
            ),
            rule("get list watch", "autoscaling", "horizontalpodautoscalers horizontalpodautoscalers/status"),
            rule("get list watch", "batch", "cronjobs cronjobs/status jobs jobs/status"),
            rule(
                "get list watch",
                "extensions",
                "daemonsets daemonsets/status deployments deployments/scale deployments/status ingresses ingresses/status networkpolicies replicasets replicasets/scale replicasets/status replicationcontrollers/scale",
            ),
            rule("get list watch", "policy", "poddisruptionbudgets poddisruptionbudgets/status"),
            rule("get list watch", "networking.k8s.io", "ingresses ingresses/status networkpolicies"),
            rule("get list watch", "resource.k8s.io", "resourceclaims resourceclaims/status resourceclaimtemplates"),
        ),
        part_of="view",
    ),
    Role(
        "system:heapster",
        (
            rule("get list watch", "core", "events namespaces nodes pods"),
            rule("get list watch", "extensions", "deployments"),
        ),
    ),
    Role(
        "system:node",
        (
            rule("create", "authentication.k8s.io", "tokenreviews"),
            rule("create", "authorization.k8s.io", "localsubjectaccessreviews subjectaccessreviews"),
            rule("get list watch", "core", "services"),
            rule("create get list watch", "core", "nodes"),
            rule("patch update", "core", "nodes/status"),
            rule("patch update", "core", "nodes"),
            rule("create patch update", "core events.k8s.io", "events"),
            rule("get list watch", "core", "pods"),
            rule("create delete", "core", "pods"),
            rule("patch update", "core", "pods/status"),
            rule("create", "core", "pods/eviction"),
            rule("get list watch", "core", "configmaps secrets"),
            rule("get", "core", "persistentvolumeclaims persistentvolumes"),
            rule("get", "core", "endpoints"),
            rule("create get list watch", "certificates.k8s.io", "certificatesigningrequests"),
            rule("create delete get patch update", "coordination.k8s.io", "leases"),
            rule("get", "storage.k8s.io", "volumeattachments"),
            rule("create", "core", "serviceaccounts/token"),
            rule("get patch update", "core", "persistentvolumeclaims/status"),
            rule("get list watch", "storage.k8s.io", "csidrivers"),
            rule("create delete get patch update", "storage.k8s.io", "csinodes"),
            rule("get list watch", "node.k8s.io", "runtimeclasses"),
            rule("get", "resource.k8s.io", "resourceclaims"),
            rule("deletecollection", "resource.k8s.io", "resourceslices"),
            rule("get", "core", "serviceaccounts"),
        ),
    ),
    Role(
        "system:node-problem-detector",
        (
            rule("get", "core", "nodes"),
            rule("patch", "core", "nodes/status"),
            rule("create patch update", "core events.k8s.io", "events"),
        ),
    ),
    Role(
        "system:node-bootstrapper",
        (rule("create get list watch", "certificates.k8s.io", "certificatesigningrequests"),),
    ),
    Role(
        "system:auth-delegator",
        (
            rule("create", "authentication.k8s.io", "tokenreviews"),
            rule("create", "authorization.k8s.io", "subjectaccessreviews"),
        ),
    ),
    Role("system:kube-aggregator", (rule("get list watch", "core", "endpoints services"),)),
    Role(
        "system:kube-controller-manager",
        (
            rule("create patch update", "core events.k8s.io", "events"),
            rule("create", "coordination.k8s.io", "leases"),
            rule("get update", "coordination.k8s.io", "leases", names="kube-controller-manager"),
            rule("create", "core", "secrets serviceaccounts"),
            rule("delete", "core", "secrets"),
            rule("get", "core", "configmaps namespaces secrets serviceaccounts"),
            rule("update", "core", "secrets serviceaccounts"),
            rule("create", "authentication.k8s.io", "tokenreviews"),
            rule("create", "authorization.k8s.io", "subjectaccessreviews"),
            rule("list watch", "*", "*"),
            rule("create", "core", "serviceaccounts/token"),
        ),
    ),
    Role("system:kube-dns", (rule("list watch", "core", "endpoints services"),)),
    Role(
        "system:persistent-volume-provisioner",
        (
            rule("create delete get list watch", "core", "persistentvolumes"),
            rule("get list update watch", "core", "persistentvolumeclaims"),
            rule("get list watch", "storage.k8s.io", "storageclasses"),
            rule("watch", "core", "events"),
            rule("create patch update", "core events.k8s.io", "events"),
        ),
    ),
    Role(
        "system:certificates.k8s.io:certificatesigningrequests:nodeclient",
        (rule("create", "certificates.k8s.io", "certificatesigningrequests/nodeclient"),),
    ),
    Role(
        "system:certificates.k8s.io:certificatesigningrequests:selfnodeclient",
        (rule("create", "certificates.k8s.io", "certificatesigningrequests/selfnodeclient"),),
    ),
    Role(
        "system:volume-scheduler",
        (
            rule("get list patch update watch", "core", "persistentvolumes"),
            rule("get list watch", "storage.k8s.io", "storageclasses"),
            rule("get list patch update watch", "core", "persistentvolumeclaims"),
        ),
    ),
    Role(
        "system:certificates.k8s.io:legacy-unknown-approver",
        (rule("approve", "certificates.k8s.io", "signers", names="kubernetes.io/legacy-unknown"),),
    ),
    Role(
        "system:certificates.k8s.io:kubelet-serving-approver",
        (rule("approve", "certificates.k8s.io", "signers", names="kubernetes.io/kubelet-serving"),),
    ),
    Role(
        "system:certificates.k8s.io:kube-apiserver-client-approver",
        (rule("approve", "certificates.k8s.io", "signers", names="kubernetes.io/kube-apiserver-client"),),
    ),
    Role(
        "system:certificates.k8s.io:kube-apiserver-client-kubelet-approver",
        (rule("approve", "certificates.k8s.io", "signers", names="kubernetes.io/kube-apiserver-client-kubelet"),),
    ),
    Role(
        "system:service-account-issuer-discovery",
        (
            path_rule(
                "get",
                "/.well-known/openid-configuration /.well-known/openid-configuration/ /openid/v1/jwks /openid/v1/jwks/",
            ),
        ),
    ),
    Role(
        "system:kubelet-api-admin",
        (
            rule("get list watch", "core", "nodes"),
            rule("proxy", "core", "nodes"),
            rule("*", "core", "nodes/log nodes/metrics nodes/proxy nodes/stats"),
            rule("*", "core", "nodes/configz nodes/healthz nodes/pods"),
        ),
    ),
    Role(
        "system:node-proxier",
        (
            rule("list watch", "core", "endpoints services"),
            rule("get list watch", "core", "nodes"),
            rule("create patch update", "core events.k8s.io", "events"),
            rule("list watch", "networking.k8s.io", "servicecidrs"),
            rule("list watch", "discovery.k8s.io", "endpointslices"),
        ),
    ),
    Role(
        "system:kube-scheduler",
        (
            rule("create patch update", "core events.k8s.io", "events"),
            rule("create", "coordination.k8s.io", "leases"),
            rule("get list update watch", "coordination.k8s.io", "leases", names="kube-scheduler"),
            rule(
                "create delete deletecollection get list patch update watch", "coordination.k8s.io", "leasecandidates"
            ),
            rule("get list watch", "core", "nodes"),
            rule("delete get list watch", "core", "pods"),
            rule("create", "core", "bindings pods/binding"),
            rule("patch update", "core", "pods/status"),
            rule("get list watch", "core", "replicationcontrollers services"),
            rule("get list watch", "apps extensions", "replicasets"),
            rule("get list watch", "apps", "statefulsets"),
            rule("get list watch", "policy", "poddisruptionbudgets"),
            rule("get list watch", "core", "persistentvolumeclaims persistentvolumes"),
            rule("create", "authentication.k8s.io", "tokenreviews"),
            rule("create", "authorization.k8s.io", "subjectaccessreviews"),
            rule("get list watch", "storage.k8s.io", "csinodes"),
            rule("get list watch", "storage.k8s.io", "volumeattachments"),
            rule("get list watch", "core", "namespaces"),
            rule("get list watch", "storage.k8s.io", "csidrivers"),
            rule("get list watch", "storage.k8s.io", "csistoragecapacities"),
            rule("get list watch", "resource.k8s.io", "deviceclasses"),
            rule("get list patch update watch", "resource.k8s.io", "resourceclaims"),
            rule("get list patch update watch", "resource.k8s.io", "resourceclaims/status"),
            rule("update", "core", "pods/finalizers"),
            rule("get list watch", "resource.k8s.io", "resourceslices"),
            rule("create delete", "resource.k8s.io", "resourceclaims"),
            rule("patch update", "resource.k8s.io", "resourceclaims/binding"),
        ),
    ),
)
