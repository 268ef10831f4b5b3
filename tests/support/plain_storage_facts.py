"""Facts about volumes and devices, worked out again from manifests alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from tests.support.plain_manifests import (
    Facts,
    Json,
    Sight,
    key_of,
    labels_of,
    name_of,
    namespace_of,
    number,
    requirements,
    shown,
    spec_of,
    term_met,
    term_text,
)

NAMED_MAX = 3
_ZONES = ("failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region")
_STABLE = dict(zip(_ZONES, ("topology.kubernetes.io/zone", "topology.kubernetes.io/region"), strict=True))

_CLAIMS, _VOLUMES = "persistentvolumeclaims", "persistentvolumes"


def claims_of(pod: Json) -> list[str]:
    """Return the names of the claims behind a pod's volumes."""
    found = []
    for volume in spec_of(pod).get("volumes") or ():
        if "persistentVolumeClaim" in volume:
            found.append(volume["persistentVolumeClaim"]["claimName"])
        elif "ephemeral" in volume:
            found.append(f"{name_of(pod)}-{volume['name']}")
    return found


def disks_of(pod: Json) -> list[tuple[str, bool]]:
    """Return the disks that a pod names itself, and whether it only reads them."""
    found: list[tuple[str, bool]] = []
    for volume in spec_of(pod).get("volumes") or ():
        if gce := volume.get("gcePersistentDisk"):
            found.append((f"gce/{gce['pdName']}", bool(gce.get("readOnly"))))
        if aws := volume.get("awsElasticBlockStore"):
            found.append((f"aws/{aws['volumeID']}", False))
        if iscsi := volume.get("iscsi"):
            found.append((f"iscsi/{iscsi['iqn']}", bool(iscsi.get("readOnly"))))
        if rbd := volume.get("rbd"):
            pool = rbd.get("pool") or "rbd"
            found += [(f"rbd/{pool}/{rbd['image']}/{each}", bool(rbd.get("readOnly"))) for each in rbd["monitors"]]
    return found


def _restrictions(sight: Sight, node: Json, facts: Facts) -> None:
    rest = list(facts)
    for disk, reads in disks_of(sight.pod):
        fact = rest.pop(0)
        holders = [
            key_of(other)
            for other in sight.pods.get(name_of(node), ())
            if any(name == disk and not (reads and shares) for name, shares in disks_of(other))
        ]
        assert fact["heldBy"] in (holders or [""])
        text = f"disk {disk} is held by {fact['heldBy']}" if holders else f"disk {disk} is free"
        shown(fact, text, not holders, disk=disk, heldBy=fact["heldBy"])
    alone = sorted(
        {
            name
            for name in claims_of(sight.pod)
            if (claim := sight.find(_CLAIMS, name, namespace_of(sight.pod))) is not None
            and "ReadWriteOncePod" in (spec_of(claim).get("accessModes") or ())
        }
    )
    for name, fact in zip(alone, rest, strict=False):
        key = f"{namespace_of(sight.pod)}/{name}"
        holders = [
            key_of(other)
            for other, _ in sight.placed
            if namespace_of(other) == namespace_of(sight.pod) and name in claims_of(other)
        ]
        assert fact["heldBy"] in (holders or [""]), (fact, holders)
        by = f"is held by {fact['heldBy']}" if holders else "is free"
        shown(fact, f"claim {key} (ReadWriteOncePod) {by}", not holders, claim=key, heldBy=fact["heldBy"])
    assert not rest or len(rest) == len(alone)


def _volumes_behind(sight: Sight, pod: Json) -> Iterator[tuple[Json, Json | None]]:
    for name in claims_of(pod):
        claim = sight.find(_CLAIMS, name, namespace_of(pod))
        if claim is not None:
            yield claim, sight.find(_VOLUMES, spec_of(claim).get("volumeName") or "")


def _zone(sight: Sight, node: Json, facts: Facts) -> None:
    labels = labels_of(node)
    told = {(fact["label"], tuple(fact["wants"])): fact for fact in facts}
    wanted: dict[tuple[str, tuple[str, ...]], None] = {}
    for _, volume in _volumes_behind(sight, sight.pod):
        of_volume = {} if volume is None else labels_of(volume)
        for key in (*_STABLE, *_STABLE.values()):
            if key in of_volume:
                wanted[key, tuple(sorted(of_volume[key].split("__")))] = None
    assert set(told) == set(wanted)
    knows = any(key in labels for key in (*_STABLE, *_STABLE.values()))
    for (key, values), fact in told.items():
        value = labels.get(key) or labels.get(_STABLE.get(key) or key)
        has = f"the node has {key}={value}" if value is not None else f"the node has no {key}"
        if not knows:
            has = "the node has no label of a zone or region, which counts as every one"
        text = f"a volume is in {key}={' or '.join(values)}, {has}"
        shown(fact, text, value in values or not knows, label=key, wants=list(values), has=value)


def _csi(sight: Sight, pod: Json) -> dict[str, str] | None:
    """Return the CSI volumes of a pod and their drivers; None where drivers were replaced by others."""
    found: dict[str, str] = {}
    if any({"awsElasticBlockStore", "gcePersistentDisk"} & set(each) for each in spec_of(pod).get("volumes") or ()):
        return None
    for claim, volume in _volumes_behind(sight, pod):
        if volume is not None:
            csi = spec_of(volume).get("csi")
            if csi is None:
                return None
            found[f"{csi['driver']}/{csi['volumeHandle']}"] = csi["driver"]
            continue
        of_class = sight.find("storageclasses.storage.k8s.io", spec_of(claim).get("storageClassName") or "")
        if of_class is None or of_class["provisioner"] == "kubernetes.io/no-provisioner":
            if of_class is not None:
                found[f"unmade/{key_of(claim)}"] = of_class["provisioner"]
            continue
        if of_class["provisioner"].startswith("kubernetes.io/"):
            return None
        found[f"unmade/{key_of(claim)}"] = of_class["provisioner"]
    return found


def _limits(sight: Sight, node: Json, facts: Facts) -> None:
    wanted = _csi(sight, sight.pod)
    there = [_csi(sight, other) for other in sight.pods.get(name_of(node), ())]
    if wanted is None or None in there:
        return
    used = {volume: driver for each in there if each is not None for volume, driver in each.items()}
    attached = dict(used)
    for attachment in sight.others.get("volumeattachments.storage.k8s.io", ()):
        spec = spec_of(attachment)
        volume = sight.find(_VOLUMES, spec["source"].get("persistentVolumeName") or "")
        csi = None if volume is None else spec_of(volume).get("csi")
        if spec["nodeName"] == name_of(node) and csi is not None:
            attached[f"{spec['attacher']}/{csi['volumeHandle']}"] = spec["attacher"]
    csi_node = sight.find("csinodes.storage.k8s.io", name_of(node))
    drivers = () if csi_node is None else spec_of(csi_node).get("drivers") or ()
    limits = {each["name"]: (each.get("allocatable") or {}).get("count") for each in drivers}
    for driver, fact in zip(dict.fromkeys(wanted.values()), facts, strict=False):
        new = sum(volume not in used for volume, of in wanted.items() if of == driver)
        held, limit = sum(of == driver for of in attached.values()), limits.get(driver)
        most = "has no limit" if limit is None else f"takes {limit}"
        volumes = "1 volume is" if held == 1 else f"{held} volumes are"
        text = f"driver {driver} {most}: {volumes} there, the pod brings {new} more"
        fits = limit is None or not new or held + new <= limit
        shown(fact, text, fits, driver=driver, limit=limit, attached=held, needs=new)


def _binding(sight: Sight, node: Json, facts: Facts) -> None:
    told = {fact["claim"]: fact for fact in facts if "claim" in fact}
    for claim, volume in _volumes_behind(sight, sight.pod):
        fact, key, spec = told[key_of(claim)], key_of(claim), spec_of(claim)
        name = spec.get("volumeName")
        if not name:
            _unbound(claim, node, fact)
        elif volume is None:
            text = f"claim {key} is bound to volume {name}, which does not exist"
            shown(fact, text, fits=False, claim=key, volume=name)
        else:
            _bound(claim, volume, node, fact)


def _unbound(claim: Json, node: Json, fact: Json) -> None:
    of_class = spec_of(claim).get("storageClassName") or ""
    size = (spec_of(claim).get("resources") or {}).get("requests", {}).get("storage", "0")
    assert number(fact["size"]) == number(size)
    assert fact["class"] == of_class
    what = f"claim {key_of(claim)} ({fact['size']}, class {of_class})"
    selected = (claim["metadata"].get("annotations") or {}).get("volume.kubernetes.io/selected-node")
    if fact["fits"]:
        assert fact["text"] == f"{what} gets {'volume ' + fact['volume'] if fact['volume'] else 'a new volume'}"
    elif selected is not None and selected != name_of(node):
        assert fact["text"] == f"{what} is being provisioned for node {selected}"
        assert fact["selectedNode"] == selected
    else:
        assert fact["text"].startswith(f"{what} waits for a node: ")


def _bound(claim: Json, volume: Json, node: Json, fact: Json) -> None:
    key, name = key_of(claim), name_of(volume)
    required = (spec_of(volume).get("nodeAffinity") or {}).get("required")
    if required is None:
        text = f"claim {key} is bound to volume {name}, which every node can reach"
        shown(fact, text, fits=True, claim=key, volume=name)
        return
    terms = [term for term in required["nodeSelectorTerms"] if term.get("matchExpressions")]
    if any(term.get("matchFields") for term in required["nodeSelectorTerms"]):
        return
    reach = " or ".join(f"({term_text(term)})" for term in terms)
    keys = dict.fromkeys(each["key"] for term in terms for each in requirements(term))
    has = {each: labels_of(node).get(each) for each in keys}
    there = ", ".join(f"{each}={value}" if value is not None else f"no {each}" for each, value in has.items())
    text = f"claim {key} is bound to volume {name}, which is for nodes with {reach}; the node has {there}"
    fits = any(term_met(term, node) for term in terms)
    shown(fact, text, fits, claim=key, volume=name, volumeIsFor=reach, has=has)


# --- Devices ----------------------------------------------------------------------------------------------------------

_RESOURCE_CLAIMS, _SLICES = "resourceclaims.resource.k8s.io", "resourceslices.resource.k8s.io"


def _devices(sight: Sight, node: Json, facts: Facts) -> None:
    devices = set(_devices_for(sight, node))
    holders = {device: key_of(claim) for claim in sight.others.get(_RESOURCE_CLAIMS, ()) for device in _taken(claim)}
    for fact in facts:
        if "claim" not in fact:
            continue
        namespace, _, name = fact["claim"].partition("/")
        claim = sight.find(_RESOURCE_CLAIMS, name, namespace)
        assert claim is not None, fact
        if fact.get("allocated"):
            can = "can" if fact["fits"] else "cannot"
            text = f"claim {fact['claim']} has its devices, which the node {can} use"
            shown(fact, text, _reaches(claim, node), claim=fact["claim"], allocated=True)
            continue
        taken = devices & set(holders)
        assert (fact["devices"], fact["free"]) == (len(devices), len(devices) - len(taken)), fact
        assert set(fact["heldBy"]) == {holders[device] for device in taken}
        assert fact["requests"] == ", ".join(map(_request_text, claim["spec"]["devices"]["requests"]))
        by = f", taken by {', '.join(fact['heldBy'][:NAMED_MAX])}" if taken and not fact["fits"] else ""
        text = (
            f"claim {fact['claim']} asks for {fact['requests']}; the node has {fact['free']} of {fact['devices']} "
            f"devices free{by}"
        )
        assert fact["text"].startswith(text)


def _request_text(request: Json) -> str:
    def one(each: Json) -> str:
        count = "all devices" if each.get("allocationMode") == "All" else str(each.get("count") or 1)
        return f"{count} of class {each['deviceClassName']}"

    return one(request["exactly"]) if "exactly" in request else " or ".join(map(one, request["firstAvailable"]))


def _taken(claim: Json) -> Iterator[tuple[str, str, str]]:
    allocation = (claim.get("status") or {}).get("allocation") or {}
    for result in (allocation.get("devices") or {}).get("results") or ():
        if not result.get("adminAccess"):
            yield result["driver"], result["pool"], result["device"]


def _reaches(claim: Json, node: Json) -> bool:
    selector = claim["status"]["allocation"].get("nodeSelector")
    return selector is None or any(term_met(term, node) for term in selector["nodeSelectorTerms"])


def _devices_for(sight: Sight, node: Json) -> Iterator[tuple[str, str, str]]:
    """Yield what the slices of the newest generation of each pool have for a node."""
    slices = sight.others.get(_SLICES, ())
    pools: dict[tuple[str, str], list[Json]] = {}
    for each in slices:
        pools.setdefault((each["spec"]["driver"], each["spec"]["pool"]["name"]), []).append(each)
    current: list[Json] = []
    for of_pool in pools.values():
        newest = max(each["spec"]["pool"].get("generation", 0) for each in of_pool)
        found = [each for each in of_pool if each["spec"]["pool"].get("generation", 0) == newest]
        # A pool that is being updated has nothing to give.
        current += found if len(found) >= found[0]["spec"]["pool"].get("resourceSliceCount", 1) else []
    for each in current:
        spec = each["spec"]
        pool = spec["pool"]
        for device in spec.get("devices") or ():
            place = device if spec.get("perDeviceNodeSelection") else spec
            if (
                place.get("allNodes")
                or place.get("nodeName") == name_of(node)
                or (
                    place.get("nodeSelector")
                    and any(term_met(t, node) for t in place["nodeSelector"]["nodeSelectorTerms"])
                )
            ):
                yield spec["driver"], pool["name"], device["name"]


CHECKS: Mapping[str, Callable[[Sight, Json, Facts], None]] = {
    "VolumeRestrictions": _restrictions,
    "VolumeZone": _zone,
    "NodeVolumeLimits": _limits,
    "VolumeBinding": _binding,
    "DynamicResources": _devices,
}
