"""An anonymous cluster fits together as the real one does, decides the same, and holds no word of its users.

Whatever a user thinks of has `zq` in it, which is in no pseudonym: those have hexadecimal digits only.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from schedlab.mirror.anonymize import Anonymizer
from schedlab.mirror.kinds import KINDS
from schedlab.mirror.snapshot import check, load
from tests.property.clusters import few, objects, optional
from tests.support.clusters import Lab

TOKEN = "zq"
PREFIX = "kube-scheduler-simulator.sigs.k8s.io/"
HOSTNAME, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
GPU = "zqcorp.example/zqgpu"
POOL, TEAM = "zqcorp.example/zqpool", "zqteam"
RESTRICTED, ROLE = "zqcorp.node-restriction.kubernetes.io/zqlevel", "node-role.kubernetes.io/zqrole"
NODES = ("zqnode-a", "kube-zqnode-b", "7")
IMAGES = ("zqhub.example:5000/zqimage", "zqhub.example:5000/zqimage:latest", "zqother:zq1")
UID = "0000000{}-0000-4000-8000-00000000000{}"

node_keys = st.sampled_from((POOL, RESTRICTED, ROLE, "zqcores"))
node_values = st.sampled_from(("zqred", "zqblue", "2", "10"))
pod_labels = st.dictionaries(
    st.sampled_from((TEAM, "app", "app.kubernetes.io/name")), st.sampled_from(("zqx", "zqy", "3")), max_size=2
)
taints = objects(
    key=st.sampled_from(("zqcorp.example/zqtaint", "zqtaint")),
    value=st.sampled_from(("", "zqvalue", "5")),
    effect=st.sampled_from(("NoSchedule", "PreferNoSchedule")),
)
tolerations = st.one_of(
    objects(key=st.sampled_from(("zqcorp.example/zqtaint", "zqtaint")), operator=st.just("Exists")),
    taints.map(lambda taint: {**taint, "operator": "Equal"}),
)
selectors = objects(
    matchLabels=optional(pod_labels),
    matchExpressions=few(
        st.one_of(
            objects(
                key=st.sampled_from((TEAM, "app")),
                operator=st.sampled_from(("In", "NotIn")),
                values=st.lists(st.sampled_from(("zqx", "zqy", "3")), min_size=1, max_size=2),
            ),
            objects(key=st.sampled_from((TEAM, "app")), operator=st.sampled_from(("Exists", "DoesNotExist"))),
        ),
        1,
    ),
)
topology_keys = st.sampled_from((HOSTNAME, ZONE, POOL))
pod_terms = objects(
    topologyKey=topology_keys,
    labelSelector=selectors,
    namespaces=optional(st.just(["zqspace", "default"])),
    namespaceSelector=optional(st.just({"matchLabels": {"zqowner": "zqpeople"}})),
)
pod_affinities = objects(
    requiredDuringSchedulingIgnoredDuringExecution=few(pod_terms, 1),
    preferredDuringSchedulingIgnoredDuringExecution=few(objects(weight=st.just(7), podAffinityTerm=pod_terms), 1),
)
node_terms = objects(
    matchExpressions=few(
        st.one_of(
            objects(
                key=node_keys,
                operator=st.sampled_from(("In", "NotIn")),
                values=st.lists(node_values, min_size=1, max_size=2),
            ),
            objects(key=node_keys, operator=st.just("Exists")),
            objects(key=st.just("zqcores"), operator=st.sampled_from(("Gt", "Lt")), values=st.just(["5"])),
        )
    ),
    matchFields=few(
        objects(
            key=st.just("metadata.name"),
            operator=st.sampled_from(("In", "NotIn")),
            values=st.sampled_from(NODES).map(lambda name: [name]),
        ),
        1,
    ),
)
node_affinities = objects(
    requiredDuringSchedulingIgnoredDuringExecution=optional(
        objects(nodeSelectorTerms=st.lists(node_terms, min_size=1, max_size=2))
    ),
    preferredDuringSchedulingIgnoredDuringExecution=few(objects(weight=st.just(50), preference=node_terms), 1),
)
ports = objects(
    name=st.just("zqport"),
    containerPort=st.just(80),
    hostPort=st.just(80),
    hostIP=optional(st.sampled_from(("10.66.0.1", "10.66.0.2", "0.0.0.0"))),
)
nodes = objects(
    labels=st.dictionaries(node_keys, node_values, max_size=3),
    zone=st.sampled_from(("zqzone-1", "zqzone-2")),
    taints=few(taints, 1),
    images=few(st.sampled_from(IMAGES[1:]), 1),
)
pods = objects(
    labels=pod_labels,
    namespace=st.sampled_from(("default", "zqspace")),
    image=st.sampled_from(IMAGES),
    ports=few(ports, 1),
    gpus=optional(st.just("1")),
    claim=st.booleans(),
    spec=objects(
        tolerations=few(tolerations),
        nodeSelector=optional(st.dictionaries(node_keys, node_values, min_size=1, max_size=1)),
        affinity=objects(
            nodeAffinity=optional(node_affinities),
            podAffinity=optional(pod_affinities),
            podAntiAffinity=optional(pod_affinities),
        ),
        topologySpreadConstraints=few(
            objects(
                maxSkew=st.just(1),
                topologyKey=topology_keys,
                whenUnsatisfiable=st.sampled_from(("DoNotSchedule", "ScheduleAnyway")),
                labelSelector=selectors,
            ),
            1,
        ),
        priorityClassName=optional(st.just("zqclass")),
        os=optional(st.just({"name": "linux"})),
    ),
)


def node(number: int, drawn: Mapping[str, Any]) -> dict[str, Any]:
    name = NODES[number]
    amounts = {"cpu": "4", "memory": "8Gi", "pods": "10", GPU: "1"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "uid": UID.format(number, 1),
            "labels": {**drawn["labels"], HOSTNAME: name, ZONE: drawn["zone"], "kubernetes.io/os": "linux"},
            "annotations": {"zqcorp.example/zqnote": "zqnote"},
        },
        "spec": {"taints": drawn.get("taints", []), "providerID": "zqcloud://zqid"},
        "status": {
            "capacity": amounts,
            "allocatable": amounts,
            "images": [{"names": [image], "sizeBytes": 500 * 1024 * 1024} for image in drawn.get("images", ())],
            "conditions": [
                {"type": "Ready", "status": "True", "reason": "zqReason", "message": "zqmessage"},
                {"type": "zqcorp.example/ZqHealthy", "status": "True", "reason": "ZqReason"},
            ],
            "nodeInfo": {"osImage": "zqOS", "kernelVersion": "zqkernel"},
            "addresses": [{"type": "InternalIP", "address": "10.66.0.9"}, {"type": "Hostname", "address": "zqhost"}],
        },
    }


def pod(name: str, drawn: Mapping[str, Any], node_name: str = "") -> dict[str, Any]:
    requests = {"cpu": "100m", **({GPU: drawn["gpus"]} if "gpus" in drawn else {})}
    volumes: list[dict[str, Any]] = [
        {"name": "zqconfig", "configMap": {"name": "zqconfig", "items": [{"key": "zqfile", "path": "zqpath"}]}},
        {"name": "zqsecret", "secret": {"secretName": "zqsecret"}},
        {"name": "zqhost", "hostPath": {"path": "/zq/data", "type": "Directory"}},
        {"name": "zqnfs", "nfs": {"server": "zqserver", "path": "/zq/share"}},
        {"name": "zqmemory", "emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"}},
        {"name": "zqcsi", "csi": {"driver": "zqcsi.example", "volumeAttributes": {"zqkey": "zqattribute"}}},
        {
            "name": "zqdown",
            "downwardAPI": {
                "items": [
                    {"path": "zqlabel", "fieldRef": {"fieldPath": "metadata.labels['zqcorp.example/zqpool']"}},
                    {
                        "path": "zqcpu",
                        "resourceFieldRef": {"containerName": "zqmain", "resource": "limits.cpu", "divisor": "1m"},
                    },
                ]
            },
        },
    ]
    if drawn["claim"]:
        volumes.append({"name": "zqclaim", "persistentVolumeClaim": {"claimName": "zqclaim"}})
    container = {
        "name": "zqmain",
        "image": drawn["image"],
        "command": ["zqcommand"],
        "args": ["--zqargument=zq"],
        "env": [
            {"name": "ZQ", "value": "zqenv"},
            {"name": "Z", "valueFrom": {"secretKeyRef": {"name": "zqsecret", "key": "zqkey"}}},
        ],
        "envFrom": [{"configMapRef": {"name": "zqconfig"}}],
        "resources": {"requests": requests, "limits": {key: value for key, value in requests.items() if key == GPU}},
        "ports": drawn.get("ports", []),
        "volumeMounts": [{"name": "zqhost", "mountPath": "/zq/mount"}],
        "livenessProbe": {"exec": {"command": ["zqprobe"]}},
    }
    owners = [
        {"apiVersion": "v1", "kind": "Node", "name": NODES[0], "uid": UID.format(0, 1)},
        {"apiVersion": "zqcorp.example/v1", "kind": "ZqApp", "name": "zqapp", "uid": UID.format(0, 2)},
    ]
    spec = {
        **drawn["spec"],
        "containers": [container],
        "volumes": volumes,
        "readinessGates": [{"conditionType": "zqcorp.example/zqgate"}],
        **({"nodeName": node_name} if node_name else {}),
    }
    metadata = {
        "name": name,
        "namespace": drawn["namespace"],
        "labels": drawn["labels"],
        "annotations": {"zqcorp.example/zqnote": "zqnote"},
        "ownerReferences": owners,
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def volumes_and_claims(zones: str) -> dict[str, list[dict[str, Any]]]:
    """Return a claim in each namespace, bound to a volume that some zones reach."""
    claims, volumes = [], []
    for number, namespace in enumerate(("default", "zqspace")):
        uid = UID.format(number, 3)
        volume = f"zqvolume-{namespace}"
        storage = {"accessModes": ["ReadWriteMany"], "storageClassName": "zqstorage"}
        claims.append(
            {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "metadata": {
                    "name": "zqclaim",
                    "namespace": namespace,
                    "uid": uid,
                    "annotations": {"pv.kubernetes.io/bind-completed": "yes", "zqcorp.example/zq": "zqnote"},
                },
                "spec": {**storage, "resources": {"requests": {"storage": "1Gi"}}, "volumeName": volume},
                "status": {"phase": "Bound", "accessModes": ["ReadWriteMany"], "capacity": {"storage": "1Gi"}},
            }
        )
        volumes.append(
            {
                "apiVersion": "v1",
                "kind": "PersistentVolume",
                "metadata": {"name": volume, "labels": {ZONE: zones}},
                "spec": {
                    **storage,
                    "capacity": {"storage": "1Gi"},
                    "csi": {"driver": "zqcsi.example", "volumeHandle": "zqhandle", "volumeAttributes": {"zqkey": "zq"}},
                    "claimRef": {
                        "kind": "PersistentVolumeClaim",
                        "namespace": namespace,
                        "name": "zqclaim",
                        "uid": uid,
                    },
                },
                "status": {"phase": "Bound", "lastPhaseTransitionTime": "2026-01-01T00:00:00Z"},
            }
        )
    return {"pvcs": claims, "pvs": volumes}


def cluster(some_nodes: list[dict[str, Any]], some_pods: list[dict[str, Any]], zones: str) -> dict[str, Any]:
    made = [node(number, drawn) for number, drawn in enumerate(some_nodes)]
    return {
        "namespaces": [
            {
                "apiVersion": "v1",
                "kind": "Namespace",
                "metadata": {"name": "zqspace", "labels": {"zqowner": "zqpeople"}},
            }
        ],
        "priorityClasses": [
            {
                "apiVersion": "scheduling.k8s.io/v1",
                "kind": "PriorityClass",
                "metadata": {"name": "zqclass"},
                "value": 5,
                "description": "zqdescription",
            }
        ],
        "storageClasses": [
            {
                "apiVersion": "storage.k8s.io/v1",
                "kind": "StorageClass",
                "metadata": {
                    "name": "zqstorage",
                    "annotations": {"storageclass.kubernetes.io/is-default-class": "true"},
                },
                "provisioner": "zqcsi.example",
                "parameters": {"zqkey": "zqparameter"},
                "mountOptions": ["zqoption"],
            }
        ],
        **volumes_and_claims(zones),
        "nodes": made,
        "pods": [
            pod(f"zqpod-{number}", drawn, made[number % len(made)]["metadata"]["name"])
            for number, drawn in enumerate(some_pods)
        ],
    }


def anonymous(anonymizer: Anonymizer, document: Mapping[str, Any]) -> dict[str, Any]:
    return {kind.snapshot: [anonymizer.anonymous(obj) for obj in document[kind.snapshot]] for kind in KINDS}


def decided(document: Mapping[str, Any], last: dict[str, Any]) -> dict[str, Any]:
    """Return for every node whether each filter let the pod pass, or what each plugin scored."""
    lab = Lab()
    loaded = load(lab.registry, check(document))
    assert loaded.problems == []
    lab.run()
    lab.create("pods", last, last["metadata"]["namespace"])
    lab.run()
    annotations = lab.registry.get(
        "pods", last["metadata"]["name"], last["metadata"]["namespace"]
    ).view.metadata.annotations
    filtered = json.loads(annotations.get(PREFIX + "filter-result") or "{}")
    scored = json.loads(annotations.get(PREFIX + "finalscore-result") or "{}")
    passed = {name: {each: text == "passed" for each, text in by.items()} for name, by in filtered.items()}
    return {name: (passed.get(name), scored.get(name)) for name in {*passed, *scored}}


clusters = st.builds(
    cluster,
    st.lists(nodes, min_size=2, max_size=3),
    st.lists(pods, max_size=3),
    st.sampled_from(("zqzone-1", "zqzone-1__zqzone-2")),
)


@given(clusters, pods)
def test_the_scheduler_decides_the_same(document: dict[str, Any], drawn: dict[str, Any]) -> None:
    anonymizer = Anonymizer(b"key")
    last = pod("zqlast", drawn)
    # Objects get a new uid when they are loaded, so that the owner would be another one.
    del last["metadata"]["ownerReferences"]

    real = decided(document, last)

    assert decided(anonymous(anonymizer, document), anonymizer.anonymous(last)) == {
        anonymizer.name(name): told for name, told in real.items()
    }


@given(clusters)
def test_no_word_of_a_user_is_left(document: dict[str, Any]) -> None:
    anonymizer = Anonymizer(b"key")
    others = [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "zqconfig"}, "data": {"zqfile": "zqcontent"}},
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "zqsecret"}, "stringData": {"zqkey": "zqcontent"}},
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "zqservice"}, "spec": {"selector": {TEAM: "zqx"}}},
    ]
    text = json.dumps([anonymous(anonymizer, document), *map(anonymizer.anonymous, others)]).lower()

    assert TOKEN not in text, text[text.index(TOKEN) - 200 : text.index(TOKEN) + 50]
    assert "10.66." not in text


@given(clusters)
def test_what_belonged_together_still_does(document: dict[str, Any]) -> None:
    anonymizer = Anonymizer(b"key")
    copy = anonymous(anonymizer, document)
    nodes_by_name = {each["metadata"]["name"]: each for each in copy["nodes"]}
    claims = {(each["metadata"]["namespace"], each["metadata"]["name"]): each for each in copy["pvcs"]}
    (storage,), (priority,) = copy["storageClasses"], copy["priorityClasses"]

    for key in (HOSTNAME, ZONE, POOL, RESTRICTED, ROLE, "zqcores"):
        renamed = anonymizer.label_key(key)
        pairs = {
            (before["metadata"]["labels"].get(key), after["metadata"]["labels"].get(renamed))
            for before, after in zip(document["nodes"], copy["nodes"], strict=True)
        }
        assert len({before for before, _ in pairs}) == len({after for _, after in pairs}) == len(pairs)
    for volume in copy["pvs"]:
        reference = volume["spec"]["claimRef"]
        claim = claims[reference["namespace"], reference["name"]]
        assert claim["metadata"]["uid"] == reference["uid"]
        assert claim["spec"]["volumeName"] == volume["metadata"]["name"]
        assert claim["spec"]["storageClassName"] == storage["metadata"]["name"]
        assert volume["spec"]["csi"]["driver"] == storage["provisioner"]
    for each in copy["pods"]:
        (owner,) = each["metadata"]["ownerReferences"]
        assert nodes_by_name[owner["name"]]["metadata"]["uid"] == owner["uid"]
        assert each["spec"]["nodeName"] in nodes_by_name
        assert each["spec"].get("priorityClassName", priority["metadata"]["name"]) == priority["metadata"]["name"]
        for used in each["spec"]["volumes"]:
            if "persistentVolumeClaim" in used:
                assert (each["metadata"]["namespace"], used["persistentVolumeClaim"]["claimName"]) in claims
    assert anonymous(Anonymizer(b"key"), document) == copy
