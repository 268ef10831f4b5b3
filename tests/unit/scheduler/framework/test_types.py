"""What a pod and a node keep about volumes."""

from __future__ import annotations

from typing import Any

from schedlab.api.object import StoredObject
from schedlab.scheduler.framework.types import PodInfo
from schedlab.testing.builders import make_node, make_pod

EPHEMERAL = {"name": "e", "ephemeral": {}}
CLAIM = {"name": "a", "persistentVolumeClaim": {"claimName": "c", "readOnly": True}}


def stored(*volumes: dict[str, Any]) -> PodInfo:
    """A pod as it comes from the API server."""
    raw = {"apiVersion": "v1", "kind": "Pod", **make_pod().set("spec.volumes", list(volumes)).dict()}
    found = StoredObject.encode("pods", raw, 1)
    return PodInfo(found.view, found)


def test_claims_of_a_pod_are_those_it_names_and_those_made_for_its_ephemeral_volumes() -> None:
    pod = stored(CLAIM, EPHEMERAL, {"name": "x", "emptyDir": {}})

    assert pod.claim_keys == ("default/c", "default/pod-e")
    assert pod.named_claim_keys == ("default/c",)


def test_a_node_counts_the_claims_its_pods_name() -> None:
    node = make_node().obj(make_pod("p").claim("c").claim("c"), make_pod("q").claim("c"), make_pod("r"))

    assert node.claim_counts == {"default/c": 3}
    for name in ("p", "q"):
        node.remove_pod(make_pod(name).obj())
    assert node.claim_counts == {}


def test_sources_of_volumes_are_compared_whole_and_without_names() -> None:
    """Also where the typed view knows nothing of them; config maps and secrets do not count."""
    one = stored(CLAIM, {"name": "h", "hostPath": {"path": "/a"}}, {"name": "m", "configMap": {"name": "m"}})
    same = stored({"name": "s", "secret": {"secretName": "s"}}, {"name": "k", "hostPath": {"path": "/a"}}, CLAIM)
    other = stored(CLAIM, {"name": "h", "hostPath": {"path": "/b"}})

    assert one.volume_sources == same.volume_sources
    assert one.volume_sources != other.volume_sources
    assert one.volume_sources[0] == '{"hostPath":{"path":"/a"}}'
    assert stored().volume_sources == ()


def test_a_pod_that_was_never_stored_has_the_sources_of_its_view() -> None:
    pod = make_pod().set("spec.volumes", [CLAIM]).obj()

    assert pod.volume_sources == ('{"persistentVolumeClaim":{"claimName":"c","readOnly":true}}',)
