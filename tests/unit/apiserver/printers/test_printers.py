"""What `kubectl get` shows of each kind: one full object and one that says nothing."""

from typing import Any

import pytest

from schedlab.apimachinery import time
from schedlab.apimachinery.schema import read_data
from schedlab.apimachinery.table import DEFAULT
from schedlab.apiserver import printers

NOW = time.parse_time("2026-01-02T03:04:05Z")
AGE = "4m5s"
#: Upstream describes these by fields that do not exist, or not at all.
UNDESCRIBED = ("BinaryVersion", "EmulationVersion", "Handler", "Window", "cpu", "memory")
TEMPLATE = {
    "spec": {"containers": [{"name": "a", "image": "i"}, {"name": "b", "image": "j"}], "nodeSelector": {"n": "1"}}
}
SELECTOR = {"matchLabels": {"a": "b"}}


def obj(**parts: Any) -> dict[str, Any]:
    metadata = {"name": "x", "creationTimestamp": "2026-01-02T03:00:00Z", **parts.pop("metadata", {})}
    return {"metadata": metadata, **parts}


DELETED = {"deletionTimestamp": "2026-01-02T03:04:00Z"}

CASES: list[tuple[str, dict[str, Any], list[Any]]] = [
    ("namespaces", obj(status={"phase": "Active"}), ["x", "Active", AGE]),
    ("serviceaccounts", obj(), ["x", AGE]),
    ("configmaps", obj(data={"a": "1", "b": "2"}, binaryData={"c": ""}), ["x", 3, AGE]),
    ("configmaps", obj(), ["x", 0, AGE]),
    ("secrets", obj(type="Opaque", data={"a": ""}), ["x", "Opaque", 1, AGE]),
    (
        "nodes",
        obj(
            metadata={"labels": {"node-role.kubernetes.io/b": "", "kubernetes.io/role": "a", "node-role.kubernetes.io/": ""}},
            spec={"unschedulable": True},
            status={
                "conditions": [{"type": "MemoryPressure", "status": "False"}, {"type": "Ready", "status": "True"}],
                "addresses": [{"type": "InternalIP", "address": "1"}, {"type": "ExternalIP", "address": "2"}],
                "nodeInfo": {
                    "kubeletVersion": "v1",
                    "osImage": "Debian",
                    "kernelVersion": "6.1",
                    "architecture": "amd64",
                    "containerRuntimeVersion": "c",
                },
            },
        ),
        ["x", "Ready,SchedulingDisabled", "a,b", AGE, "v1", "1", "2", "Debian", "6.1 (amd64)", "c"],
    ),
    (
        "nodes",
        obj(status={"conditions": [{"type": "Ready", "status": "Unknown"}], "nodeInfo": {"kernelVersion": "6.1"}}),
        ["x", "NotReady", "<none>", AGE, "", "<none>", "<none>", "<unknown>", "6.1", "<unknown>"],
    ),
    (
        "nodes",
        obj(),
        ["x", "Unknown", "<none>", AGE, "", "<none>", "<none>", "<unknown>", "<unknown>", "<unknown>"],
    ),
    (
        "services",
        obj(
            spec={
                "type": "NodePort",
                "clusterIPs": ["10.0.0.1"],
                "externalIPs": ["1.1.1.1", "2.2.2.2"],
                "ports": [{"port": 80, "nodePort": 30000, "protocol": "TCP"}, {"port": 53, "protocol": "UDP"}],
                "selector": {"b": "2", "a": "1"},
            }
        ),
        ["x", "NodePort", "10.0.0.1", "1.1.1.1,2.2.2.2", "80:30000/TCP,53/UDP", AGE, "a=1,b=2"],
    ),
    ("services", obj(spec={"type": "ClusterIP"}), ["x", "ClusterIP", "<none>", "<none>", "<none>", AGE, "<none>"]),
    (
        "services",
        obj(
            spec={"type": "LoadBalancer", "externalIPs": ["9.9.9.9"]},
            status={"loadBalancer": {"ingress": [{"hostname": "h"}, {"ip": "1.1.1.1", "hostname": "z"}, {}]}},
        ),
        ["x", "LoadBalancer", "<none>", "1.1.1.1,h,9.9.9.9", "<none>", AGE, "<none>"],
    ),
    ("services", obj(spec={"type": "LoadBalancer"}), ["x", "LoadBalancer", "<none>", "<pending>", "<none>", AGE, "<none>"]),
    (
        "services",
        obj(spec={"type": "ExternalName", "externalName": "e.com"}),
        ["x", "ExternalName", "<none>", "e.com", "<none>", AGE, "<none>"],
    ),
    ("services", obj(), ["x", "", "<none>", "<unknown>", "<none>", AGE, "<none>"]),
    (
        "endpoints",
        obj(
            subsets=[
                {"addresses": [{"ip": "1.1.1.1"}, {"ip": "::1"}], "ports": [{"port": 80}, {"port": 81}]},
                {"addresses": [{"ip": "2.2.2.2"}]},
            ]
        ),
        ["x", "1.1.1.1:80,[::1]:80,1.1.1.1:81 + 2 more...", AGE],
    ),
    ("endpoints", obj(subsets=[{"addresses": [{"ip": "1.1.1.1"}]}]), ["x", "1.1.1.1", AGE]),
    ("endpoints", obj(), ["x", "<none>", AGE]),
    (
        "events",
        obj(
            type="Warning",
            reason="Failed",
            message=" m\n",
            involvedObject={"kind": "Pod", "name": "p", "fieldPath": "spec.containers{c}"},
            source={"component": "kubelet", "host": "n"},
            firstTimestamp="2026-01-02T03:02:05Z",
            lastTimestamp="2026-01-02T03:03:05Z",
            count=3,
        ),
        ["60s", "Warning", "Failed", "pod/p", "spec.containers{c}", "kubelet, n", "m", "2m", 3, "x"],
    ),
    (
        "events",
        obj(
            eventTime="2026-01-02T03:03:05.000000Z",
            involvedObject={"kind": "Node"},
            reportingComponent="s",
            series={"count": 7, "lastObservedTime": "2026-01-02T03:04:00.000000Z"},
        ),
        ["5s", "", "", "node", "", "s", "", "60s", 7, "x"],
    ),
    ("events", obj(), ["<unknown>", "", "", "", "", "", "", "<unknown>", 1, "x"]),
    (
        "events.events.k8s.io",
        obj(
            regarding={"kind": "Pod", "name": "p"},
            note="n",
            reportingController="s",
            reportingInstance="s-1",
            eventTime="2026-01-02T03:03:05.000000Z",
            deprecatedCount=2,
        ),
        ["60s", "", "", "pod/p", "", "s, s-1", "n", "60s", 2, "x"],
    ),
    (
        "persistentvolumes",
        obj(
            spec={
                "capacity": {"storage": "1Gi"},
                "accessModes": ["ReadWriteMany", "ReadWriteOnce", "ReadWriteOnce"],
                "persistentVolumeReclaimPolicy": "Retain",
                "claimRef": {"namespace": "n", "name": "c"},
                "storageClassName": "sc",
                "volumeAttributesClassName": "vac",
                "volumeMode": "Block",
            },
            status={"phase": "Bound", "reason": "R"},
        ),
        ["x", "1Gi", "RWO,RWX", "Retain", "Bound", "n/c", "sc", "vac", "R", AGE, "Block"],
    ),
    (
        "persistentvolumes",
        obj(metadata={**DELETED, "annotations": {"volume.beta.kubernetes.io/storage-class": "old"}}, spec={"storageClassName": "sc"}),
        ["x", "0", "", "", "Terminating", "", "old", "<unset>", "", AGE, "<unset>"],
    ),
    (
        "persistentvolumeclaims",
        obj(
            spec={"volumeName": "v", "storageClassName": "sc", "volumeMode": "Filesystem"},
            status={"phase": "Bound", "accessModes": ["ReadWriteOncePod", "ReadOnlyMany"], "capacity": {"storage": "2Gi"}},
        ),
        ["x", "Bound", "v", "2Gi", "ROX,RWOP", "sc", "<unset>", AGE, "Filesystem"],
    ),
    (
        "persistentvolumeclaims",
        obj(status={"phase": "Pending", "accessModes": ["ReadWriteOnce"]}),
        ["x", "Pending", "", "", "", "", "<unset>", AGE, "<unset>"],
    ),
    (
        "replicationcontrollers",
        obj(spec={"replicas": 3, "selector": {"a": "b"}, "template": TEMPLATE}, status={"replicas": 2, "readyReplicas": 1}),
        ["x", 3, 2, 1, AGE, "a,b", "i,j", "a=b"],
    ),
    (
        "podtemplates",
        obj(template={**TEMPLATE, "metadata": {"labels": {"a": "b"}}}),
        ["x", "a,b", "i,j", "a=b"],
    ),
    (
        "resourcequotas",
        obj(status={"hard": {"pods": "5", "limits.cpu": "2", "cpu": "1"}, "used": {"cpu": "500m"}}),
        ["x", "cpu: 500m/1, pods: 0/5", "limits.cpu: 0/2", AGE],
    ),
    (
        "componentstatuses",
        obj(conditions=[{"type": "Healthy", "status": "False", "message": "m", "error": "e"}]),
        ["x", "Unhealthy", "m", "e"],
    ),
    ("componentstatuses", obj(), ["x", "Unknown", "", ""]),
    (
        "deployments.apps",
        obj(
            spec={"replicas": 3, "selector": SELECTOR, "template": TEMPLATE},
            status={"readyReplicas": 1, "updatedReplicas": 2, "availableReplicas": 1},
        ),
        ["x", "1/3", 2, 1, AGE, "a,b", "i,j", "a=b"],
    ),
    (
        "deployments.apps",
        obj(spec={"selector": {"matchExpressions": [{"key": "a", "operator": "?"}]}}),
        ["x", "0/0", 0, 0, AGE, "", "", "<invalid>"],
    ),
    (
        "replicasets.apps",
        obj(spec={"replicas": 3, "selector": SELECTOR, "template": TEMPLATE}, status={"replicas": 2, "readyReplicas": 1}),
        ["x", 3, 2, 1, AGE, "a,b", "i,j", "a=b"],
    ),
    (
        "statefulsets.apps",
        obj(spec={"replicas": 3, "template": TEMPLATE}, status={"readyReplicas": 1}),
        ["x", "1/3", AGE, "a,b", "i,j"],
    ),
    (
        "daemonsets.apps",
        obj(
            spec={"selector": SELECTOR, "template": TEMPLATE},
            status={
                "desiredNumberScheduled": 5,
                "currentNumberScheduled": 4,
                "numberReady": 3,
                "updatedNumberScheduled": 2,
                "numberAvailable": 1,
            },
        ),
        ["x", 5, 4, 3, 2, 1, "n=1", AGE, "a,b", "i,j", "a=b"],
    ),
    (
        "controllerrevisions.apps",
        obj(
            metadata={"ownerReferences": [{"name": "o"}, {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "controller": True}]},
            revision=7,
        ),
        ["x", "daemonset.apps/d", 7, AGE],
    ),
    ("controllerrevisions.apps", obj(), ["x", "<none>", 0, AGE]),
    (
        "jobs.batch",
        obj(
            spec={"completions": 5, "selector": SELECTOR, "template": TEMPLATE},
            status={"succeeded": 2, "startTime": "2026-01-02T03:03:05Z"},
        ),
        ["x", "Running", "2/5", "60s", AGE, "a,b", "i,j", "a=b"],
    ),
    (
        "jobs.batch",
        obj(
            spec={"parallelism": 3},
            status={
                "startTime": "2026-01-02T03:03:05Z",
                "completionTime": "2026-01-02T03:03:35Z",
                "conditions": [{"type": "Complete", "status": "True"}],
            },
        ),
        ["x", "Complete", "0/1 of 3", "30s", AGE, "", "", "<none>"],
    ),
    ("jobs.batch", obj(metadata=DELETED), ["x", "Terminating", "0/1", "", AGE, "", "", "<none>"]),
    (
        "cronjobs.batch",
        obj(
            spec={
                "schedule": "* * * * *",
                "timeZone": "UTC",
                "suspend": False,
                "jobTemplate": {"spec": {"selector": SELECTOR, "template": TEMPLATE}},
            },
            status={"active": [{}, {}], "lastScheduleTime": "2026-01-02T03:03:05Z"},
        ),
        ["x", "* * * * *", "UTC", "False", 2, "60s", AGE, "a,b", "i,j", "a=b"],
    ),
    ("cronjobs.batch", obj(), ["x", "", "<none>", "<unset>", 0, "<none>", AGE, "", "", "<none>"]),
    (
        "storageclasses.storage.k8s.io",
        obj(
            metadata={"annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
            provisioner="p",
            reclaimPolicy="Retain",
            volumeBindingMode="WaitForFirstConsumer",
            allowVolumeExpansion=True,
        ),
        ["x (default)", "p", "Retain", "WaitForFirstConsumer", True, AGE],
    ),
    ("storageclasses.storage.k8s.io", obj(provisioner="p"), ["x", "p", "Delete", "Immediate", False, AGE]),
    ("volumeattributesclasses.storage.k8s.io", obj(driverName="d"), ["x", "d", AGE]),
    (
        "volumeattachments.storage.k8s.io",
        obj(spec={"attacher": "a", "source": {"persistentVolumeName": "v"}, "nodeName": "n"}, status={"attached": True}),
        ["x", "a", "v", "n", True, AGE],
    ),
    ("csinodes.storage.k8s.io", obj(spec={"drivers": [{}, {}]}), ["x", 2, AGE]),
    ("csidrivers.storage.k8s.io", obj(), ["x", True, False, False, "<unset>", False, "<none>", AGE]),
    (
        "csidrivers.storage.k8s.io",
        obj(
            spec={
                "attachRequired": False,
                "podInfoOnMount": True,
                "storageCapacity": True,
                "tokenRequests": [{"audience": "a"}, {"audience": ""}],
                "requiresRepublish": True,
                "volumeLifecycleModes": ["Persistent", "Ephemeral"],
            }
        ),
        ["x", False, True, True, "a,", True, "Persistent,Ephemeral", AGE],
    ),
    ("csistoragecapacities.storage.k8s.io", obj(), ["x", "2026-01-02T03:00:00Z"]),
    (
        "priorityclasses.scheduling.k8s.io",
        obj(value=10, globalDefault=True, preemptionPolicy="Never"),
        ["x", 10, True, AGE, "Never"],
    ),
    ("leases.coordination.k8s.io", obj(spec={"holderIdentity": "h"}), ["x", "h", AGE]),
    (
        "leasecandidates.coordination.k8s.io",
        obj(spec={"leaseName": "l", "binaryVersion": "1", "emulationVersion": "2"}),
        ["x", "l", "1", "2", AGE],
    ),
    (
        "poddisruptionbudgets.policy",
        obj(spec={"minAvailable": 0, "maxUnavailable": "50%"}, status={"disruptionsAllowed": 2}),
        ["x", "0", "50%", 2, AGE],
    ),
    ("poddisruptionbudgets.policy", obj(), ["x", "N/A", "N/A", 0, AGE]),
    ("resourceclaims.resource.k8s.io", obj(), ["x", "pending", AGE]),
    (
        "resourceclaims.resource.k8s.io",
        obj(metadata=DELETED, status={"allocation": {}, "reservedFor": [{}]}),
        ["x", "deleted,allocated,reserved", AGE],
    ),
    ("resourceclaims.resource.k8s.io", obj(metadata=DELETED), ["x", "deleted", AGE]),
    ("resourceclaimtemplates.resource.k8s.io", obj(), ["x", AGE]),
    ("deviceclasses.resource.k8s.io", obj(), ["x", AGE]),
    (
        "resourceslices.resource.k8s.io",
        obj(spec={"nodeName": "n", "driver": "d", "pool": {"name": "p"}}),
        ["x", "n", "d", "p", AGE],
    ),
    (
        "ingresses.networking.k8s.io",
        obj(
            spec={"ingressClassName": "c", "tls": [{}], "rules": [{"host": "a"}, {}, {"host": "b"}, {"host": "c"}, {"host": "d"}]},
            status={"loadBalancer": {"ingress": [{"ip": "1.1.1.1"}]}},
        ),
        ["x", "c", "a,b,c + 2 more...", "1.1.1.1", "80, 443", AGE],
    ),
    ("ingresses.networking.k8s.io", obj(), ["x", "<none>", "*", "", "80", AGE]),
    (
        "ingressclasses.networking.k8s.io",
        obj(spec={"controller": "c", "parameters": {"apiGroup": "g", "kind": "K", "name": "n"}}),
        ["x", "c", "K.g/n", AGE],
    ),
    ("ingressclasses.networking.k8s.io", obj(), ["x", "", "<none>", AGE]),
    ("networkpolicies.networking.k8s.io", obj(spec={"podSelector": SELECTOR}), ["x", "a=b", AGE]),
    ("networkpolicies.networking.k8s.io", obj(spec={"podSelector": {}}), ["x", "<none>", AGE]),
    ("servicecidrs.networking.k8s.io", obj(spec={"cidrs": ["a", "b"]}), ["x", "a,b", AGE]),
    (
        "ipaddresses.networking.k8s.io",
        obj(spec={"parentRef": {"group": "g", "resource": "Rs", "namespace": "n", "name": "m"}}),
        ["x", "rs.g/n/m"],
    ),
    ("ipaddresses.networking.k8s.io", obj(), ["x", "<none>"]),
    (
        "endpointslices.discovery.k8s.io",
        obj(
            addressType="IPv4",
            ports=[{"port": 80}, {"name": "n"}, {}, {"port": 1}],
            endpoints=[{"addresses": ["1", "2"]}, {"addresses": ["3", "4"]}],
        ),
        ["x", "IPv4", "80,n,* + 1 more...", "1,2,3 + 1 more...", AGE],
    ),
    ("endpointslices.discovery.k8s.io", obj(), ["x", "", "<unset>", "<unset>", AGE]),
    (
        "rolebindings.rbac.authorization.k8s.io",
        obj(
            roleRef={"kind": "Role", "name": "r"},
            subjects=[
                {"kind": "User", "name": "u"},
                {"kind": "User", "name": "v"},
                {"kind": "Group", "name": "g"},
                {"kind": "ServiceAccount", "namespace": "n", "name": "s"},
            ],
        ),
        ["x", "Role/r", AGE, "u, v", "g", "n/s"],
    ),
    ("clusterrolebindings.rbac.authorization.k8s.io", obj(), ["x", "/", AGE, "", "", ""]),
    ("validatingwebhookconfigurations.admissionregistration.k8s.io", obj(webhooks=[{}, {}]), ["x", 2, AGE]),
    (
        "validatingadmissionpolicies.admissionregistration.k8s.io",
        obj(spec={"validations": [{}], "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}}),
        ["x", 1, "v1/ConfigMap", AGE],
    ),
    ("mutatingadmissionpolicies.admissionregistration.k8s.io", obj(spec={"mutations": [{}]}), ["x", 1, "<unset>", AGE]),
    (
        "validatingadmissionpolicybindings.admissionregistration.k8s.io",
        obj(spec={"policyName": "p", "paramRef": {"name": "n"}}),
        ["x", "p", "*/n", AGE],
    ),
    (
        "mutatingadmissionpolicybindings.admissionregistration.k8s.io",
        obj(
            spec={
                "policyName": "p",
                "paramRef": {
                    "selector": {
                        "matchLabels": {"b": "c", "a": "b"},
                        "matchExpressions": [{"key": "k", "operator": "In", "values": ["v", "w"]}],
                    }
                },
            }
        ),
        [
            "x",
            "p",
            ("&LabelSelector{MatchLabels:map[string]string{a: b,b: c,},"
            "MatchExpressions:[]LabelSelectorRequirement{LabelSelectorRequirement{Key:k,Operator:In,Values:[v w],},},}"),
            AGE,
        ],
    ),
    ("validatingadmissionpolicybindings.admissionregistration.k8s.io", obj(), ["x", "", "<unset>", AGE]),
    (
        "certificatesigningrequests.certificates.k8s.io",
        obj(
            spec={"signerName": "s", "username": "u", "expirationSeconds": 600},
            status={"conditions": [{"type": "Approved"}, {"type": "Failed"}], "certificate": "c"},
        ),
        ["x", AGE, "s", "u", "10m", "Approved,Failed,Issued"],
    ),
    ("certificatesigningrequests.certificates.k8s.io", obj(), ["x", AGE, "<none>", "", "<none>", "Pending"]),
    ("clustertrustbundles.certificates.k8s.io", obj(), ["x", "<none>"]),
    (
        "flowschemas.flowcontrol.apiserver.k8s.io",
        obj(
            spec={
                "priorityLevelConfiguration": {"name": "p"},
                "matchingPrecedence": 5,
                "distinguisherMethod": {"type": "ByUser"},
            },
            status={"conditions": [{"type": "Dangling", "status": "False"}]},
        ),
        ["x", "p", 5, "ByUser", AGE, "False"],
    ),
    ("flowschemas.flowcontrol.apiserver.k8s.io", obj(), ["x", "", 0, "<none>", AGE, "?"]),
    (
        "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io",
        obj(
            spec={
                "type": "Limited",
                "limited": {
                    "nominalConcurrencyShares": 5,
                    "limitResponse": {"queuing": {"queues": 1, "handSize": 2, "queueLengthLimit": 3}},
                },
            }
        ),
        ["x", "Limited", 5, 1, 2, 3, AGE],
    ),
    (
        "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io",
        obj(spec={"type": "Exempt"}),
        ["x", "Exempt", "<none>", "<none>", "<none>", "<none>", AGE],
    ),
    ("runtimeclasses.node.k8s.io", obj(handler="h"), ["x", "h", AGE]),
    (
        "storageversionmigrations.storagemigration.k8s.io",
        obj(spec={"resource": {"group": "g", "version": "v", "resource": "r"}}),
        ["x", "r.v.g"],
    ),
    ("roles.rbac.authorization.k8s.io", obj(), ["x", "2026-01-02T03:00:00Z"]),
]  # fmt: skip


@pytest.mark.parametrize(("resource", "value", "cells"), CASES)
def test_the_cells_of_a_kind(resource: str, value: dict[str, Any], cells: list[Any]) -> None:
    found = list(printers.find(resource).row(value, NOW).cells)

    assert found == cells
    assert [type(cell) for cell in found] == [type(cell) for cell in cells]


AUTOSCALER_METRICS: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"type": "?"}, {}, "<unknown type>"),
    ({"type": "Pods", "pods": {"target": {"averageValue": "5"}}}, {}, "<unknown>/5"),
    ({"type": "Pods", "pods": {"target": {"averageValue": "5"}}}, {"pods": {"current": {"averageValue": "3"}}}, "3/5"),
    ({"type": "Object", "object": {"target": {"value": "5"}}}, {"object": {"current": {"value": "3"}}}, "3/5"),
    ({"type": "Object", "object": {"target": {"averageValue": "5"}}}, {}, "<unknown>/5 (avg)"),
    (
        {"type": "External", "external": {"target": {"averageValue": "5"}}},
        {"external": {"current": {"averageValue": "3"}}},
        "3/5 (avg)",
    ),
    ({"type": "External", "external": {"target": {"value": "5"}}}, {}, "<unknown>/5"),
    (
        {"type": "Resource", "resource": {"name": "cpu", "target": {"averageUtilization": 80}}},
        {"resource": {"current": {"averageUtilization": 50}}},
        "cpu: 50%/80%",
    ),
    ({"type": "Resource", "resource": {"name": "cpu", "target": {}}}, {}, "cpu: <unknown>/<auto>"),
    (
        {"type": "ContainerResource", "containerResource": {"name": "memory", "target": {"averageValue": "1Gi"}}},
        {"containerResource": {"current": {"averageValue": "500Mi"}}},
        "memory: 500Mi/1Gi",
    ),
]


@pytest.mark.parametrize(("metric", "status", "text"), AUTOSCALER_METRICS)
def test_an_autoscaler_shows_current_and_wanted_numbers(
    metric: dict[str, Any], status: dict[str, Any], text: str
) -> None:
    scaler = obj(
        spec={
            "scaleTargetRef": {"kind": "Deployment", "name": "d"},
            "minReplicas": 1,
            "maxReplicas": 5,
            "metrics": [metric],
        },
        status={"currentReplicas": 2, "currentMetrics": [status]},
    )

    assert list(printers.find("horizontalpodautoscalers.autoscaling").row(scaler, NOW).cells) == [
        "x",
        "Deployment/d",
        text,
        "1",
        5,
        2,
        AGE,
    ]


def test_an_autoscaler_shows_two_metrics_and_the_number_of_others() -> None:
    printer = printers.find("horizontalpodautoscalers.autoscaling")

    assert printer.row(obj(spec={"metrics": [{}, {}, {}]}), NOW).cells[2:4] == (
        "<unknown type>, <unknown type> + 1 more...",
        "<unset>",
    )
    assert printer.row(obj(), NOW).cells[2] == "<none>"


def test_a_scale_has_columns_whatever_it_belongs_to() -> None:
    printer = printers.find("deployments.apps", "scale")

    assert list(printer.row(obj(spec={"replicas": 3}, status={"replicas": 2}), NOW).cells) == ["x", 3, 2, AGE]
    assert printer.columns[0].format == ""


@pytest.mark.parametrize(
    ("conditions", "status"),
    [
        ([("Failed", "True")], "Failed"),
        ([("Suspended", "True")], "Suspended"),
        ([("FailureTarget", "True")], "FailureTarget"),
        ([("Complete", "False"), ("Complete", "True")], "Running"),
    ],
)
def test_the_status_of_a_job_follows_its_conditions(conditions: list[tuple[str, str]], status: str) -> None:
    job = obj(status={"conditions": [{"type": kind, "status": value} for kind, value in conditions]})

    assert printers.find("jobs.batch").row(job, NOW).cells[1] == status


def test_every_column_that_names_a_field_has_its_description() -> None:
    types = read_data("descriptions.json.gz")["types"]

    for printer in (DEFAULT, printers.find("", "scale"), *(printer for _, printer in printers.all_printers())):
        for column in printer.columns:
            assert column.field is None or types[column.field[0]][1][column.field[1]]
            assert column.field or column.description or column.name in UNDESCRIBED


def test_every_printer_copes_with_an_object_that_says_nothing() -> None:
    for _, printer in printers.all_printers():
        assert printer.row({"metadata": {}}, NOW).cells
