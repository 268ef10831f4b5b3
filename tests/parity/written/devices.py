"""Pods with resource claims and extended resources behind which there are devices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from schedlab.testing.builders import PodBuilder, make_node, make_pod
from tests.parity.written import objects
from tests.parity.written.building import (
    DEFAULT,
    HELPLESS,
    QUEUE,
    SKIP,
    STILL,
    Json,
    Profile,
    Step,
    apply,
    case,
    delete,
    gated,
    happens,
    only,
    places,
    refused,
    sole,
    unavailable,
    waits,
    with_args,
)

_PLUGIN: Final = "DynamicResources"
_FILE: Final = "dynamicresources/dynamicresources.go"
_UPDATED: Final = "resource.k8s.io/ResourceClaimUpdate"
_ADDED: Final = "resource.k8s.io/ResourceClaimAdd"
_NODE: Final = make_node("n1").capacity(cpu="4").dict()
_CLASS: Final = objects.device_class("gpu")
_GPU: Final = "example.com/gpu"
_CANNOT: Final = unavailable("1 cannot allocate all claims", f"1 {HELPLESS}", claims=STILL)


def cases() -> Iterator[Json]:
    """The cases."""
    yield from _claim_hints()
    yield from _generated()
    yield from _conditions()
    yield from _extended()


def _claiming(*names: str) -> PodBuilder:
    return make_pod("p").set("spec.resourceClaims", objects.refs(*names))


# --- Hints ---


def _claim_hints() -> Iterator[Json]:
    pod = _claiming("c")
    other = objects.device_claim("d", status=objects.allocation("n1", "g0"))

    def hints(name: str, words: str, *events: Step) -> Json:
        return case(
            f"claim-{name}",
            f"{_FILE}: isSchedulableAfterClaimChange: {words}",
            [_NODE, _CLASS, objects.slice_of("n1", "g0"), objects.device_claim("c"), other],
            [*waits(pod, _CANNOT, _PLUGIN), *events],
        )

    yield hints(
        "status-same",
        "its own claim counts if the status has changed",
        happens(apply(objects.device_claim("c", labels={"a": "b"})), pod, {_UPDATED: {_PLUGIN: SKIP}}),
        happens(
            apply(objects.device_claim("c", labels={"a": "b"}, status=objects.allocation("n1", "g1"))),
            pod,
            {_UPDATED: {_PLUGIN: QUEUE}},
        ),
    )
    yield hints(
        "others",
        "one of others counts if it gives its devices back",
        happens(apply(objects.device_claim("e")), pod, {_ADDED: {_PLUGIN: SKIP}}),
        happens(
            apply(other | {"metadata": other["metadata"] | {"labels": {"a": "b"}}}), pod, {_UPDATED: {_PLUGIN: SKIP}}
        ),
        happens(apply(objects.device_claim("d")), pod, {_UPDATED: {_PLUGIN: QUEUE}}),
    )
    yield hints(
        "gone",
        "while the pod's own claim is missing nothing counts",
        happens(delete(objects.device_claim("c")), pod, {}),
        happens(apply(objects.device_claim("d")), pod, {_UPDATED: {_PLUGIN: SKIP}}),
        happens(apply(objects.device_claim("c")), pod, {_ADDED: {_PLUGIN: QUEUE}}),
    )


# --- Claims made from templates ---


def _generated() -> Iterator[Json]:
    pod = make_pod("p").set("spec.resourceClaims", [{"name": "r", "resourceClaimTemplateName": "t"}])
    named = pod.set("status.resourceClaimStatuses", [{"name": "r", "resourceClaimName": "made"}])
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "uid-default/p", "controller": True}
    event = "UnschedulablePodUpdatePodGeneratedResourceClaim"
    text = 'pod "default/p": ResourceClaim not created yet'
    made = objects.device_claim("made", ownerReferences=[owner])
    function = "isSchedulableAfterPodChange, PreEnqueue"
    yield case(
        "claim-named",
        f"{_FILE}: {function}: the pod may be tried when its claims are there",
        [_NODE, _CLASS, objects.slice_of("n1", "g0"), made],
        [
            gated(pod, _PLUGIN, text),
            happens(apply(named.dict()), pod, {event: {_PLUGIN: QUEUE}}, to="active"),
        ],
    )
    for name, owners in (("unowned", []), ("of-another", [owner | {"uid": "another"}])):
        yield case(
            f"claim-{name}",
            f"{_FILE}: foreachPodResourceClaim, resourceclaim.IsForPod: the claim must be the pod's own",
            [_NODE, _CLASS, objects.slice_of("n1", "g0"), objects.device_claim("made", ownerReferences=owners)],
            [gated(named, _PLUGIN, "ResourceClaim default/made was not created for Pod default/p (Pod is not owner)")],
        )


# --- Claims that have devices ---


def _allocated(*, conditions: Mapping[str, str] | None = None, since: str | None = None, **result: Any) -> Json:
    """The status of a claim whose device has to become ready; conditions: type -> status of what the driver says."""
    status = objects.allocation("n1", "g0")
    status["allocation"]["devices"]["results"][0] |= {"bindingConditions": ["Ready"], **result}
    if since is not None:
        status["allocation"]["allocationTimestamp"] = since
    if conditions is not None:
        known = [
            {"type": kind, "status": value, "reason": "R", "message": "m", "lastTransitionTime": "2026-01-01T00:00:00Z"}
            for kind, value in conditions.items()
        ]
        status["devices"] = [{"driver": "gpu.example.com", "pool": "n1", "device": "g0", "conditions": known}]
    return status


_DEALLOCATED: Final = "deallocation of ResourceClaim completed"
_NOT_HERE: Final = "resourceclaim not available on the node"
_LONG_AGO: Final = "2026-01-01T23:49:59Z"
_LATELY: Final = "2026-01-01T23:50:01Z"


def _conditions() -> Iterator[Json]:
    """Cases begin on 2026-01-02T00:00:00Z; ten minutes are the default to become ready in."""
    yield _ready("true", "all conditions are true", {"Ready": "True"}, since=_LONG_AGO)
    broken: Json = {"bindingFailureConditions": ["Broken"]}
    yield _ready("no-failure", "a failure condition is there and false", {"Ready": "True", "Broken": "False"}, **broken)
    yield _given_back("failed", "a failure condition is true", {"Ready": "True", "Broken": "True"}, **broken)
    yield _given_back("overdue", "a condition is false for too long", {"Ready": "False"}, since=_LONG_AGO)
    yield _given_back("silent", "the driver says nothing for too long", None, since=_LONG_AGO)
    yield _given_back("other", "the driver says something else for too long", {"Far": "True"}, since=_LONG_AGO)
    yield _awaited("lately", "a condition is false, but not for long", {"Ready": "False"}, since=_LATELY)
    yield _awaited("timeless", "nobody knows for how long a condition is false", {"Ready": "False"})
    # The attempt is made two milliseconds after the beginning.
    yield _awaited(
        "on-time",
        "for exactly as long as the argument says",
        {"Ready": "False"},
        profile=with_args(_PLUGIN, bindingTimeout="60.002s"),
        since="2026-01-01T23:59:00Z",
    )
    yield _awaited("none", "no condition is asked for", None, since=_LONG_AGO, bindingConditions=[])
    yield _given_back(
        "timeout",
        "for longer than the argument says",
        {"Ready": "False"},
        since=_LATELY,
        args={"bindingTimeout": "60s"},
    )


def _conditioned(name: str, words: str, steps: list[Step], status: Json, **more: Any) -> Json:
    there = [_NODE, _CLASS, objects.slice_of("n1", "g0"), objects.device_claim("c", status=status)]
    function = f"{_FILE}: Filter, isClaimReadyForBinding, isClaimTimeout: {words}"
    return case(f"device-{name}", function, there, steps, **more)


def _ready(name: str, words: str, conditions: Mapping[str, str], **status: Any) -> Json:
    noted = {
        "type": "Normal",
        "reason": "BindingConditionsPending",
        "action": "Scheduling",
        "note": "waiting for binding conditions for device on node n1",
    }
    return _conditioned(name, words, places(_claiming("c"), "n1", noted), _allocated(conditions=conditions, **status))


def _given_back(
    name: str, words: str, conditions: Mapping[str, str] | None, args: Json | None = None, **status: Any
) -> Json:
    """No node fits, and so the claim is deallocated."""
    profile = only(_PLUGIN, **(args or {}))
    claim = objects.device_claim("c", uid="uid-default/c", creationTimestamp="2025-12-31T23:00:00Z")
    claim["spec"]["devices"]["requests"][0]["exactly"] |= {"allocationMode": "ExactCount", "count": 1}
    step = refused(_claiming("c"), profile, _NOT_HERE, _DEALLOCATED, objects_after=[claim | {"status": {}}])
    return _conditioned(name, words, [step], _allocated(conditions=conditions, **status), profile=profile)


def _awaited(
    name: str, words: str, conditions: Mapping[str, str] | None, profile: Profile = DEFAULT, **status: Any
) -> Json:
    """The node is fine for the plugin; the next one turns it down, before anything is waited for."""
    rule = {"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [1]}}
    pod = _claiming("c").container(restartPolicy="Never", restartPolicyRules=[rule])
    message = unavailable("1 node(s) didn't match Pod's required features", f"1 {HELPLESS}", claims=STILL)
    plugin = "NodeDeclaredFeatures"
    steps = waits(pod, message, plugin, own={plugin: SKIP})
    return _conditioned(name, words, steps, _allocated(conditions=conditions, **status), profile=profile)


# --- Extended resources ---

_EXTENDED: Final = "dynamicresources/extendeddynamicresources.go"


def _extended() -> Iterator[Json]:
    offers = objects.device_class("gpu", extended_resource=_GPU)
    other = "example.com/other"
    # NodeResourcesFit does not look at the other resource.
    ignoring = with_args("NodeResourcesFit", ignoredResources=[other])
    pod = make_pod("p").req({_GPU: "1", other: "1"})
    yield case(
        "extended-not-offered",
        f"{_EXTENDED}: filterExtendedResources: nobody offers one of the resources",
        [_NODE, offers, objects.slice_of("n1", "g0")],
        waits(pod, unavailable("1 cannot fit resource", f"1 {HELPLESS}", claims=STILL), _PLUGIN),
        profile=ignoring,
    )
    yield case(
        "extended-none-left",
        f"{_EXTENDED}: filterExtendedResources: the node offers none of a resource behind which there are devices",
        [make_node("n1").capacity({_GPU: "0"}, cpu="4").dict(), offers],
        waits(make_pod("p").req({_GPU: "1"}), _CANNOT, _PLUGIN),
    )
    yield case(
        "extended-zero",
        f"{_EXTENDED}: hasDeviceClassMappedExtendedResource: a request of zero asks for nothing",
        [_NODE, offers],
        places(make_pod("p").req({_GPU: "0"}), "n1"),
    )
    yield case(
        "extended-by-node",
        f"{_EXTENDED}: filterExtendedResources: the node offers it itself",
        [make_node("n1").capacity({_GPU: "1"}, cpu="4").dict(), offers],
        places(make_pod("p").req({_GPU: "1"}), "n1"),
    )
    yield from _stale()
    yield _reused()
    yield case(
        "extended-too-many",
        f"{_EXTENDED}: createRequestsAndMappings: an init container needs more than there is beside the container's",
        [_NODE, offers, objects.slice_of("n1", "g0", "g1")],
        waits(make_pod("p").init_container(**_gpus(3)).container(**_gpus(1)), _CANNOT, _PLUGIN),
    )


def _gpus(count: int) -> Json:
    return {"resources": {"requests": {_GPU: str(count)}, "limits": {_GPU: str(count)}}}


def _stale() -> Iterator[Json]:
    """A claim is there that may be what a former attempt made for the pod."""
    there = [_NODE, objects.device_class("gpu", extended_resource=_GPU), objects.slice_of("n1", "g0")]
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "uid-default/p", "controller": True}
    annotation = {"resource.kubernetes.io/extended-resource-claim": "true"}
    finalizers = ["resource.kubernetes.io/delete-protection"]
    pod, profile = make_pod("p").req({_GPU: "1"}), only(_PLUGIN)
    former = objects.device_claim("f", ownerReferences=[owner], annotations=annotation, finalizers=finalizers)
    yield case(
        "extended-stale",
        f"{_EXTENDED}: findExtendedResourceClaim, filterExtendedResources, deleteClaim: the former claim has to go",
        [*there, former],
        [refused(pod, profile, "cannot schedule extended resource claim", "deletion of ResourceClaim completed")],
        profile=profile,
    )
    others: dict[str, Json] = {
        "name": {"ownerReferences": [owner | {"name": "q"}], "annotations": annotation},
        "uid": {"ownerReferences": [owner | {"uid": "q"}], "annotations": annotation},
        "mark": {"ownerReferences": [owner], "annotations": dict.fromkeys(annotation, "false")},
    }
    for name, metadata in others.items():
        yield case(
            f"extended-other-{name}",
            f"{_EXTENDED}: findExtendedResourceClaim: the pod's name and uid, and the annotation",
            [*there, objects.device_claim("f", **metadata)],
            places(pod, "n1"),
        )


def _reused() -> Json:
    """Of i0, i1, i2 and c0, which is what they are named, c0 needs one device of its own.

    All others use that first. i2 needs no more; i0 lacks one and i1 two, so there are two more, which both use.
    """
    pod = make_pod("p").container(**_gpus(1))
    for count in (2, 3, 1):
        pod = pod.init_container(**_gpus(count))
    profile, name = only(_PLUGIN), "p-extended-resources-gen5"
    shared, own = "container-1-request-0", "container-3-request-0"
    uses = (("c0", own), ("i0", own), ("i0", shared), ("i1", own), ("i1", shared), ("i2", own))
    requests = [
        {"name": request, "exactly": {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": count}}
        for request, count in ((shared, 2), (own, 1))
    ]
    results = [
        {"request": request, "driver": "gpu.example.com", "pool": "n1", "device": device}
        for request, device in ((shared, "g0"), (shared, "g1"), (own, "g2"))
    ]
    here = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "uid-default/p", "controller": True}
    claim = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {
            "name": name,
            "generateName": "p-extended-resources-",
            "namespace": "default",
            "uid": f"uid-default/{name}",
            "annotations": {"resource.kubernetes.io/extended-resource-claim": "true"},
            "ownerReferences": [owner],
            "finalizers": ["resource.kubernetes.io/delete-protection"],
        },
        "spec": {"devices": {"requests": requests}},
        "status": {
            "allocation": {"devices": {"results": results}, "nodeSelector": {"nodeSelectorTerms": [here]}},
            "reservedFor": [{"resource": "pods", "name": "p", "uid": "uid-default/p"}],
        },
    }
    mappings = [{"containerName": who, "resourceName": _GPU, "requestName": request} for who, request in uses]
    return case(
        "extended-reused",
        f"{_EXTENDED}: createRequestsAndMappings: init containers share what later ones have, and what they lack",
        [
            _NODE,
            objects.device_class("gpu", extended_resource=_GPU),
            objects.slice_of("n1", *(f"g{number}" for number in range(4))),
        ],
        [
            sole(
                pod,
                profile,
                prebind=[_PLUGIN],
                statusPatches=[{"pod": "default/p", "nominatedNodeName": "n1"}, {"pod": "default/p"}],
                objectsAfter=[claim],
                extendedResourceClaimStatus={"requestMappings": mappings, "resourceClaimName": name},
            )
        ],
        profile=profile,
    )
