"""Kubelets see their own node and its pods, and what these use; refusals have upstream's words."""

from typing import Any

import pytest

from schedlab.apiserver.authentication import UserInfo
from schedlab.apiserver.authorization import Verdict
from schedlab.apiserver.node_authorizer import NodeFirst
from schedlab.apiserver.rbac import Access, RBACAuthorizer
from schedlab.apiserver.request_info import RequestInfo, parse_query, read_request_info
from schedlab.registry import DeleteOptions, Registry
from tests.support.api_server import make_app

NODE = UserInfo("system:node:n", groups=("system:nodes", "system:authenticated"))
CORE = "/api/v1/namespaces/default"
NO_RELATION = "no relationship found between node 'n' and this object"


def create(registry: Registry, resource: str, name: str, obj: dict[str, Any]) -> None:
    made = registry.decode(resource, {**obj, "metadata": {"name": name, **obj.get("metadata", {})}})
    registry.create(resource, made, "default" if registry.resource(resource).namespaced else "")


def pod(registry: Registry, name: str, node: str, uses: str) -> None:
    """Store a pod on a node whose every reference begins with a word."""
    container = {
        "name": "c",
        "image": "i",
        "env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": f"{uses}-env", "key": "k"}}}],
        "envFrom": [{"configMapRef": {"name": f"{uses}-all"}}],
    }
    sources = [{"secret": {"name": f"{uses}-projected"}}, {"configMap": {"name": f"{uses}-projected"}}]
    volumes = [
        {"name": "a", "secret": {"secretName": f"{uses}-volume"}},
        {"name": "b", "projected": {"sources": sources}},
        {"name": "c", "persistentVolumeClaim": {"claimName": f"{uses}-claim"}},
        {"name": "d", "csi": {"driver": "x.y", "nodePublishSecretRef": {"name": f"{uses}-csi"}}},
    ]
    spec: dict[str, Any] = {
        "nodeName": node,
        "containers": [container],
        "volumes": volumes,
        "imagePullSecrets": [{"name": f"{uses}-pull"}],
        "resourceClaims": [{"name": "r", "resourceClaimName": f"{uses}-devices"}],
    }
    create(registry, "pods", name, {"spec": spec})


@pytest.fixture(scope="module")
def authorizer() -> NodeFirst:
    registry = make_app()[1]
    for name, node in (("mine", "n"), ("others", "m")):
        pod(registry, name, node, name)
        claim = {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
            "volumeName": f"{name}-v",
        }
        create(registry, "persistentvolumeclaims", f"{name}-claim", {"spec": claim})
        csi = {"driver": "x.y", "volumeHandle": "h", "nodeStageSecretRef": {"name": f"{name}-stage", "namespace": "s"}}
        volume = {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "csi": csi,
            "claimRef": {"namespace": "default", "name": f"{name}-claim"},
        }
        create(registry, "persistentvolumes", f"{name}-v", {"spec": volume})
        attachment = {"attacher": "x.y", "nodeName": node, "source": {"persistentVolumeName": f"{name}-v"}}
        create(registry, "volumeattachments.storage.k8s.io", f"{name}-a", {"spec": attachment})
    return NodeFirst(registry, RBACAuthorizer(Access(registry)))


def ask(authorizer: NodeFirst, method: str, url: str, user: UserInfo = NODE) -> Verdict:
    path, _, query = url.partition("?")
    return authorizer.authorize(user, read_request_info(method, path, parse_query(query.encode())))


@pytest.mark.parametrize(
    ("method", "url"),
    [
        *(("GET", f"{CORE}/secrets/mine-{use}") for use in ("env", "projected", "volume", "csi", "pull")),
        *(("GET", f"{CORE}/configmaps/mine-{use}") for use in ("all", "projected")),
        ("GET", f"{CORE}/secrets?watch=true&fieldSelector=metadata.name%3Dmine-env"),
        ("GET", "/api/v1/namespaces/s/secrets/mine-stage"),
        ("GET", f"{CORE}/persistentvolumeclaims/mine-claim"),
        ("PATCH", f"{CORE}/persistentvolumeclaims/mine-claim/status"),
        ("GET", "/api/v1/persistentvolumes/mine-v"),
        ("GET", "/apis/storage.k8s.io/v1/volumeattachments/mine-a"),
        ("GET", "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/mine-devices"),
        ("POST", f"{CORE}/serviceaccounts/default/token"),
        ("GET", f"{CORE}/pods/mine"),
        ("GET", "/api/v1/pods?fieldSelector=spec.nodeName%3Dn&watch=1"),
        ("PATCH", f"{CORE}/pods/others/status"),  # NodeRestriction's business
        ("POST", f"{CORE}/pods/mine/eviction"),
        ("GET", "/api/v1/nodes/n"),
        ("GET", "/api/v1/nodes?fieldSelector=metadata.name%3Dn"),
        ("POST", "/api/v1/nodes"),
        ("PATCH", "/api/v1/nodes/n/status"),
        ("PUT", "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n"),
        ("PUT", "/apis/storage.k8s.io/v1/csinodes/n"),
        ("GET", "/apis/resource.k8s.io/v1/resourceslices?fieldSelector=nodeName%3Dn"),
        ("POST", f"{CORE}/events"),
        ("GET", "/apis/storage.k8s.io/v1/csidrivers?watch=1"),
        ("GET", "/healthz"),
    ],
)
def test_what_a_node_may_do(authorizer: NodeFirst, method: str, url: str) -> None:
    assert ask(authorizer, method, url).allowed


@pytest.mark.parametrize(
    ("method", "url", "reason"),
    [
        *(
            ("GET", f"{CORE}/secrets/others-{use}", NO_RELATION)
            for use in ("env", "projected", "volume", "csi", "pull")
        ),
        ("GET", f"{CORE}/configmaps/others-all", NO_RELATION),
        ("GET", f"{CORE}/secrets", "No Object name found"),
        ("GET", "/api/v1/secrets", "can only read namespaced object of this type"),
        ("DELETE", f"{CORE}/secrets/mine-env", "can only read resources of this type"),
        ("GET", "/api/v1/namespaces/s/secrets/others-stage", NO_RELATION),
        ("GET", "/api/v1/persistentvolumes/others-v", NO_RELATION),
        ("GET", "/api/v1/persistentvolumes", "can only get individual resources of this type"),
        ("GET", "/apis/storage.k8s.io/v1/volumeattachments/others-a", NO_RELATION),
        ("GET", f"{CORE}/persistentvolumeclaims/mine-claim/status", "can only get/update/patch this type"),
        ("POST", f"{CORE}/serviceaccounts/other/token", NO_RELATION),
        ("POST", f"{CORE}/serviceaccounts", "can only create tokens for individual service accounts"),
        ("GET", f"{CORE}/pods/others", NO_RELATION),
        ("GET", "/api/v1/pods", "can only list/watch pods with spec.nodeName field selector"),
        (
            "GET",
            "/api/v1/pods?fieldSelector=spec.nodeName%3Dm",
            "can only list/watch pods with spec.nodeName field selector",
        ),
        ("PUT", f"{CORE}/pods/mine", ""),
        ("GET", "/api/v1/nodes", "node 'n' cannot read all nodes, only its own Node object"),
        ("GET", "/api/v1/nodes/m", "node 'n' cannot read 'm', only its own Node object"),
        ("DELETE", "/api/v1/nodes/n", ""),
        (
            "GET",
            "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/m",
            "can only access node lease with the same name as the requesting node",
        ),
        (
            "GET",
            "/apis/coordination.k8s.io/v1/namespaces/default/leases/n",
            'can only access leases in the "kube-node-lease" system namespace',
        ),
        (
            "GET",
            "/apis/storage.k8s.io/v1/csinodes/m",
            "can only access CSINode with the same name as the requesting node",
        ),
        (
            "GET",
            "/apis/resource.k8s.io/v1/resourceslices",
            "can only list/watch/deletecollection resourceslices with nodeName field selector",
        ),
        ("GET", "/apis/apps/v1/deployments", ""),
    ],
)
def test_what_a_node_may_not_do(authorizer: NodeFirst, method: str, url: str, reason: str) -> None:
    assert ask(authorizer, method, url) == Verdict(False, reason)


def test_who_is_a_node(authorizer: NodeFirst) -> None:
    """Both the name and the group are needed; a node without a name is none."""
    url = "/api/v1/nodes/n"

    assert ask(authorizer, "GET", url, UserInfo("system:node:n")) == Verdict(False)
    assert ask(authorizer, "GET", url, UserInfo("n", groups=("system:nodes",))) == Verdict(False)
    assert ask(authorizer, "GET", url, UserInfo("system:node:", groups=("system:nodes",))) == Verdict(
        False, 'unknown node for user "system:node:"'
    )
    assert authorizer.rules(NODE, "default").error == "node authorizer does not support user rule resolution"


def test_relations_follow_the_pods() -> None:
    """A pod that comes or goes takes what it uses with it."""
    registry = make_app()[1]
    authorizer = NodeFirst(registry, RBACAuthorizer(Access(registry)))
    wanted = RequestInfo("", "get", True, "", "v1", "default", "secrets", "", "late-env")
    before = authorizer.authorize(NODE, wanted).allowed
    pod(registry, "late", "n", "late")
    there = authorizer.authorize(NODE, wanted).allowed
    registry.delete("pods", "late", "default", DeleteOptions(grace_period_seconds=0))

    assert (before, there, authorizer.authorize(NODE, wanted).allowed) == (False, True, False)
