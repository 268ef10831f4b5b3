"""Warnings about pods: what is allowed, but old, without effect or probably a mistake.

Mirrors: pkg/api/pod/warnings.go, pkg/api/node/util.go, pkg/api/persistentvolumeclaim/util.go (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from schedlab.api.validation.node_labels import node_label_warning
from schedlab.api.validation.pods.annotations import APP_ARMOR, SECCOMP, SECCOMP_OF_CONTAINER
from schedlab.api.validation.pods.known_specs import KnownSpecs
from schedlab.api.validation.pods.overlaps import overlap_warnings
from schedlab.api.validation.pods.rules import PodRules, Spec, each_container
from schedlab.apimachinery import ip, names
from schedlab.apimachinery.field import Path
from schedlab.apimachinery.gojson import quote
from schedlab.apimachinery.quantity import parse_cached

_OLD_ANNOTATIONS: Final[Mapping[str, str]] = {
    "scheduler.alpha.kubernetes.io/critical-pod": (
        'non-functional in v1.16+; use the "priorityClassName" field instead'
    ),
    "security.alpha.kubernetes.io/sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
    "security.alpha.kubernetes.io/unsafe-sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
}
#: Volume sources of old: name in paths, what is said.
_OLD_VOLUMES: Final[Mapping[str, tuple[str, str]]] = {
    "photonPersistentDisk": ("photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"),
    "gitRepo": ("gitRepo", ""),
    "scaleIO": ("scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    "flocker": ("flocker", "deprecated in v1.22, non-functional in v1.25+"),
    "storageos": ("storageOS", "deprecated in v1.22, non-functional in v1.25+"),
    "quobyte": ("quobyte", "deprecated in v1.22, non-functional in v1.25+"),
    "glusterfs": ("glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    "ephemeral": ("ephemeral", ""),
    "cephfs": ("cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    "rbd": ("rbd", "deprecated in v1.28, non-functional in v1.31+"),
}
_BYTES: Final = ("memory", "ephemeral-storage")
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_NO_SELECTOR: Final = "a null labelSelector results in matching no pod"
_quiet_specs: Final = KnownSpecs()
_NO_SECCOMP: Final = 'non-functional in v1.27+; use the "seccompProfile" field instead'


def pod_name_warnings(name: str) -> list[str]:
    found = names.check_dns1123_label(name)
    if not found:
        return []
    advice = "this is used in the Pod's hostname, which can result in surprising behavior"
    return [f"metadata.name: {advice}; a DNS label is recommended: [{' '.join(found)}]"]


def pod_warnings(metadata: Mapping[str, Any], spec: Spec, rules: PodRules, path: Path | None = None) -> list[str]:
    """Look at a pod, or at a template that is at a path."""
    key = None if path is not None or metadata.get("annotations") else _quiet_specs.key(spec, rules)
    if key in _quiet_specs:
        return []
    warnings = _warnings(metadata, spec, rules, path)
    if key is not None and not warnings:
        _quiet_specs.add(key)
    return warnings


def _warnings(metadata: Mapping[str, Any], spec: Spec, rules: PodRules, path: Path | None) -> list[str]:
    here = _Place(path, (spec.get("securityContext") or {}).get("appArmorProfile"))
    annotations = metadata.get("annotations") or {}
    warnings = _node_label_warnings(spec, here.spec)
    warnings += [f"{here.annotations.key(key)}: {text}" for key, text in _OLD_ANNOTATIONS.items() if key in annotations]
    volumes = spec.get("volumes") or ()
    warnings += _volume_warnings(volumes, here.spec.child("volumes"), rules)
    warnings += overlap_warnings(volumes)
    warnings += _repetition_warnings(spec, here.spec)
    warnings += _fraction_warnings(spec.get("overhead") or {}, here.spec.child("overhead"))
    if SECCOMP in annotations and "seccompProfile" not in (spec.get("securityContext") or {}):
        warnings.append(f"{here.annotations.key(SECCOMP)}: {_NO_SECCOMP}")
    for container, own in each_container(spec, here.spec):
        warnings += _container_warnings(container, own, annotations, here)
    warnings += _port_warnings(spec, here.spec)
    warnings += _port_name_warnings(spec, here.spec)
    if spec.get("terminationGracePeriodSeconds", 0) < 0:
        own = here.spec.child("terminationGracePeriodSeconds")
        warnings.append(f"{own}: must be >= 0; negative values are invalid and will be treated as 1")
    if affinity := spec.get("affinity"):
        warnings += _affinity_warnings(affinity, here.spec.child("affinity"))
    return warnings + _address_warnings(spec, here.spec)


class _Place:
    """Paths into a pod or a template, and the AppArmor profile that its containers inherit."""

    def __init__(self, path: Path | None, profile: Mapping[str, Any] | None) -> None:
        self.profile = profile
        self.is_template = path is not None
        self.spec = Path("spec") if path is None else path.child("spec")
        self.annotations = Path("metadata", "annotations") if path is None else path.child("metadata", "annotations")


def _node_label_warnings(spec: Spec, path: Path) -> list[str]:
    selector = path.child("nodeSelector")
    warnings = [
        f"{selector.key(key)}: {warning}"
        for key in spec.get("nodeSelector") or ()
        if (warning := node_label_warning(key))
    ]
    node = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    own = path.child("affinity", "nodeAffinity")
    for i, term in enumerate((node.get(_REQUIRED) or {}).get("nodeSelectorTerms") or ()):
        warnings += term_warnings(term, own.child(_REQUIRED, "nodeSelectorTerms").index(i))
    for i, term in enumerate(node.get(_PREFERRED) or ()):
        preference = term.get("preference") or {}
        warnings += term_warnings(preference, own.child(_PREFERRED).index(i).child("preference"), values=True)
    for i, constraint in enumerate(spec.get("topologySpreadConstraints") or ()):
        own = path.child("topologySpreadConstraints").index(i)
        key = constraint.get("topologyKey", "")
        if warning := node_label_warning(key):
            warnings.append(f"{own.child('topologyKey')}: {key} is {warning}")
        if constraint.get("labelSelector") is None:
            warnings.append(f"{own.child('labelSelector')}: {_NO_SELECTOR}")
    return warnings


def term_warnings(term: Mapping[str, Any], path: Path, *, values: bool = False) -> list[str]:
    """Look at a term of a node selector; `values` looks at values that no label can have, too."""
    warnings: list[str] = []
    for i, expression in enumerate(term.get("matchExpressions") or ()):
        own, key = path.child("matchExpressions").index(i), expression.get("key", "")
        if warning := node_label_warning(key):
            warnings.append(f"{own.child('key')}: {key} is {warning}")
        for j, value in enumerate(expression.get("values") or () if values else ()):
            found = names.check_label_value(value)
            warnings += [f"{own.child('values').index(j)}: {value} is invalid, {text}" for text in found]
    return warnings


def _volume_warnings(volumes: Sequence[Mapping[str, Any]], path: Path, rules: PodRules) -> list[str]:
    warnings: list[str] = []
    for i, volume in enumerate(volumes):
        for key, (name, text) in _OLD_VOLUMES.items():
            if key not in volume:
                continue
            own = path.index(i).child(name)
            if key == "ephemeral":
                spec = (volume[key].get("volumeClaimTemplate") or {}).get("spec") or {}
                warnings += claim_spec_warnings(spec, own.child("volumeClaimTemplate", "spec"))
            elif key == "gitRepo":
                works = rules.features.enabled("GitRepoVolumeDriver")
                warnings.append(
                    f"{own}: deprecated in v1.11" + ("" if works else ", and disabled by default in v1.33+")
                )
            else:
                warnings.append(f"{own}: {text}")
    return warnings


def claim_spec_warnings(spec: Mapping[str, Any], path: Path) -> list[str]:
    """Look at the sizes of a volume claim."""
    warnings: list[str] = []
    for kind in ("requests", "limits"):
        amounts = (spec.get("resources") or {}).get(kind) or {}
        warnings += _fraction_warnings(amounts, path.child("resources", kind), ("storage",))
    return warnings


def _fraction_warnings(amounts: Mapping[str, str], path: Path, keys: Sequence[str] = _BYTES) -> list[str]:
    """There are no parts of bytes."""
    return [
        f"{path.key(key)}: fractional byte value {quote(str(parse_cached(amounts[key])))} is invalid, must be an integer"
        for key in keys
        if key in amounts and parse_cached(amounts[key]).milli_value() % 1000
    ]


def _repetition_warnings(spec: Spec, path: Path) -> list[str]:
    warnings: list[str] = []
    for key, member, what in (("hostAliases", "ip", "ip"), ("imagePullSecrets", "name", "name")):
        seen: list[str] = []
        for i, entry in enumerate(spec.get(key) or ()):
            value = entry.get(member, "")
            if value in seen:
                warnings.append(f"{path.child(key).index(i).child(member)}: duplicate {what} {quote(value)}")
            seen.append(value)
    for i, secret in enumerate(spec.get("imagePullSecrets") or ()):
        if not secret.get("name"):
            warnings.append(f'{path.child("imagePullSecrets").index(i).child("name")}: invalid empty name ""')
    return warnings


def _container_warnings(
    container: Mapping[str, Any], path: Path, annotations: Mapping[str, str], here: _Place
) -> list[str]:
    context, name = container.get("securityContext") or {}, container.get("name", "")
    warnings: list[str] = []
    key = SECCOMP_OF_CONTAINER + name
    if key in annotations and "seccompProfile" not in context:
        warnings.append(f"{here.annotations.key(key)}: {_NO_SECCOMP}")
    if here.is_template and "appArmorProfile" not in context:
        warnings += _app_armor_warnings(name, annotations, here)
    resources = container.get("resources") or {}
    if resources:
        for byte_kind in _BYTES:
            for kind in ("limits", "requests"):
                own = path.child("resources", kind)
                warnings += _fraction_warnings(resources.get(kind) or {}, own, (byte_kind,))
    seen: list[str] = []
    for i, variable in enumerate(container.get("env") or ()):
        own_name = variable.get("name", "")
        if own_name in seen and _hides(variable, own_name):
            text = f"hides previous definition of {quote(own_name)}, which may be dropped when using apply"
            warnings.append(f"{path.child('env').index(i)}: {text}")
        seen.append(own_name)
    return warnings


def _app_armor_warnings(name: str, annotations: Mapping[str, str], here: _Place) -> list[str]:
    """Look at the profile of a container in a template; pods are warned about where theirs becomes a field."""
    key = APP_ARMOR + name
    if key not in annotations or annotations[key] == _annotation_of(here.profile):
        return []
    return [f'{here.annotations.key(key)}: deprecated since v1.30; use the "appArmorProfile" field instead']


def _annotation_of(profile: Mapping[str, Any] | None) -> str | None:
    """Return the annotation that says the same as a field."""
    if profile is None:
        return None
    simple = {"Unconfined": "unconfined", "RuntimeDefault": "runtime/default"}
    kind = profile.get("type", "")
    return simple.get(kind, f"localhost/{profile.get('localhostProfile', '')}")


def _hides(variable: Mapping[str, Any], name: str) -> bool:
    """Whether another definition of a variable makes nothing of the one before."""
    value, reference = variable.get("value", ""), f"$({name})"
    return "valueFrom" in variable or value == reference or reference not in value


def _port_warnings(spec: Spec, path: Path) -> list[str]:
    warnings: list[str] = []
    known: dict[tuple[int, str], list[tuple[Path, str, int]]] = {}
    for container, container_path in each_container(spec, path):
        for i, port in enumerate(container.get("ports") or ()):
            own, host_ip, host_port = (
                container_path.child("ports").index(i),
                port.get("hostIP", ""),
                port.get("hostPort", 0),
            )
            number, protocol = port.get("containerPort", 0), port.get("protocol", "")
            if host_ip and not host_port:
                shown = f"{{Name:{port.get('name', '')} HostPort:0 ContainerPort:{number} Protocol:{protocol} HostIP:{host_ip}}}"
                warnings.append(f"{own}: hostIP set without hostPort: {shown}")
            others = known.setdefault((number, protocol), [])
            for other, other_ip, other_port in others:
                kind = _overlap(host_ip, host_port, other_ip, other_port)
                if kind:
                    warnings.append(f"{own}: {kind} port definition with {other}")
            others.append((own, host_ip, host_port))
    return warnings


def _overlap(host_ip: str, host_port: int, other_ip: str, other_port: int) -> str:
    """Say how two ports of the same number and protocol are in each other's way."""
    if (host_ip, host_port) == (other_ip, other_port):
        return "duplicate"
    if not host_port or not other_port:
        return "overlapping"
    return "dangerously ambiguous" if host_port == other_port and bool(host_ip) != bool(other_ip) else ""


def _port_name_warnings(spec: Spec, path: Path) -> list[str]:
    warnings: list[str] = []
    known: dict[str, Path] = {}
    for container, container_path in each_container(spec, path):
        for i, port in enumerate(container.get("ports") or ()):
            name, own = port.get("name", ""), container_path.child("ports").index(i)
            if not name:
                continue
            if name in known:
                use = f"services and probes that select ports by name will use {known[name]}"
                warnings.append(f"{own}: duplicate port name {quote(name)} with {known[name]}, {use}")
            known.setdefault(name, own)
    return warnings


def _affinity_warnings(affinity: Mapping[str, Any], path: Path) -> list[str]:
    warnings: list[str] = []
    for key in ("podAffinity", "podAntiAffinity"):
        terms, own = affinity.get(key) or {}, path.child(key)
        for i, term in enumerate(terms.get(_REQUIRED) or ()):
            if term.get("labelSelector") is None:
                warnings.append(f"{own.child(_REQUIRED).index(i).child('labelSelector')}: {_NO_SELECTOR}")
        for i, weighted in enumerate(terms.get(_PREFERRED) or ()):
            if (weighted.get("podAffinityTerm") or {}).get("labelSelector") is None:
                place = own.child(_PREFERRED).index(i).child("podAffinityTerm", "labelSelector")
                warnings.append(f"{place}: {_NO_SELECTOR}")
    return warnings


def _address_warnings(spec: Spec, path: Path) -> list[str]:
    warnings: list[str] = []
    for i, server in enumerate((spec.get("dnsConfig") or {}).get("nameservers") or ()):
        warnings += ip.ip_warnings(path.child("dnsConfig", "nameservers").index(i), server)
    for i, alias in enumerate(spec.get("hostAliases") or ()):
        warnings += ip.ip_warnings(path.child("hostAliases").index(i).child("ip"), alias.get("ip", ""))
    return warnings
