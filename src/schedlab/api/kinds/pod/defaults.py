"""Defaults of pods and of the pod specs inside templates.

Mirrors: pkg/apis/core/v1/{defaults,zz_generated.defaults}.go (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from schedlab.api.kinds.images import pull_policy
from schedlab.api.kinds.pod.conversion import settle_pod, settle_template
from schedlab.api.kinds.resource_lists import aggregate, allows_overcommit, is_huge_page, is_pod_level, round_up
from schedlab.api.kinds.strategy import Context
from schedlab.api.object import Object

_CONTAINER_LISTS: Final = ("initContainers", "containers", "ephemeralContainers")
_PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")
_FILE_MODE: Final = 0o644
_TOKEN_SECONDS: Final = 3600


def default_pod(pod: Object, context: Context) -> None:
    """Fill in a pod."""
    settle_pod(pod)
    spec = pod["spec"]
    for key in ("containers", "initContainers"):
        for container in spec.get(key) or ():
            _default_requests(container["resources"])
    if spec.get("resources") is not None and context.features.enabled("PodLevelResources"):
        _default_pod_level(spec)
    spec.setdefault("enableServiceLinks", True)
    if spec.get("hostNetwork"):
        for key in ("containers", "initContainers"):
            for container in spec.get(key) or ():
                for port in container.get("ports") or ():
                    if not port.get("hostPort"):
                        port["hostPort"] = port["containerPort"]
    default_pod_spec(spec)


def _default_requests(resources: Object) -> None:
    """A limit is also a request, where there is none."""
    if limits := resources.get("limits"):
        resources["requests"] = {**limits, **resources.get("requests", {})}


def _default_pod_level(spec: Object) -> None:
    """Complete the resources of the pod as a whole by what its containers say."""
    resources = spec["resources"]
    requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
    if requests or limits:
        for name, amount in aggregate(spec, "limits").items():
            if is_huge_page(name) and name not in requests and name not in limits:
                limits[name] = str(amount)
        if limits:
            resources["limits"] = limits
    if not limits:
        return
    for name, amount in aggregate(spec, "requests").items():
        if is_pod_level(name) and allows_overcommit(name):
            requests.setdefault(name, str(amount))
    for name, text in limits.items():
        if is_pod_level(name):
            requests.setdefault(name, text)
    if requests:
        resources["requests"] = requests


def default_pod_spec(spec: Object) -> None:
    """Fill in the spec of a pod or of a template."""
    spec.setdefault("dnsPolicy", "ClusterFirst")
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("securityContext", {})
    spec.setdefault("terminationGracePeriodSeconds", 30)
    spec.setdefault("schedulerName", "default-scheduler")
    for volume in spec.get("volumes") or ():
        _default_volume(volume)
    for key in _CONTAINER_LISTS:
        for container in spec.get(key) or ():
            _default_container(container)
    round_up(spec.get("overhead"))
    if resources := spec.get("resources"):
        round_up(resources.get("limits"))
        round_up(resources.get("requests"))


def _default_container(container: Object) -> None:
    if "imagePullPolicy" not in container:
        container["imagePullPolicy"] = pull_policy(container.get("image", ""))
    container.setdefault("terminationMessagePath", "/dev/termination-log")
    container.setdefault("terminationMessagePolicy", "File")
    for port in container.get("ports") or ():
        port.setdefault("protocol", "TCP")
    for variable in container.get("env") or ():
        if source := variable.get("valueFrom"):
            _default_variable_source(source)
    resources = container["resources"]
    if resources:
        round_up(resources.get("limits"))
        round_up(resources.get("requests"))
    for key in _PROBES:
        if key in container:
            _default_probe(container[key])
    for handler in (container.get("lifecycle") or {}).values():
        if isinstance(handler, dict) and "httpGet" in handler:
            _default_http_get(handler["httpGet"])


def _default_variable_source(source: Object) -> None:
    if "fieldRef" in source:
        source["fieldRef"].setdefault("apiVersion", "v1")
    if "fileKeyRef" in source:
        source["fileKeyRef"].setdefault("optional", False)


def _default_probe(probe: Object) -> None:
    probe.setdefault("timeoutSeconds", 1)
    probe.setdefault("periodSeconds", 10)
    probe.setdefault("successThreshold", 1)
    probe.setdefault("failureThreshold", 3)
    if "httpGet" in probe:
        _default_http_get(probe["httpGet"])
    if "grpc" in probe and probe["grpc"].get("service") is None:
        probe["grpc"]["service"] = ""


def _default_http_get(action: Object) -> None:
    action.setdefault("path", "/")
    action.setdefault("scheme", "HTTP")


def _default_volume(volume: Object) -> None:
    if len(volume) == 1:
        volume["emptyDir"] = {}
    for key, default in _VOLUME_DEFAULTS.items():
        if key in volume:
            default(volume[key])


def _default_mode(source: Object) -> None:
    source.setdefault("defaultMode", _FILE_MODE)


def _default_downward_api(source: Object) -> None:
    _default_mode(source)
    _default_downward_files(source)


def _default_downward_files(source: Object) -> None:
    for item in source.get("items") or ():
        if "fieldRef" in item:
            item["fieldRef"].setdefault("apiVersion", "v1")


def _default_projected(source: Object) -> None:
    _default_mode(source)
    for projection in source.get("sources") or ():
        if "downwardAPI" in projection:
            _default_downward_files(projection["downwardAPI"])
        if "serviceAccountToken" in projection:
            projection["serviceAccountToken"].setdefault("expirationSeconds", _TOKEN_SECONDS)


def _default_image(source: Object) -> None:
    if not source.get("pullPolicy"):
        source["pullPolicy"] = pull_policy(source.get("reference", ""))


def _default_ephemeral(source: Object) -> None:
    if template := source.get("volumeClaimTemplate"):
        default_claim_spec(template["spec"])


def default_claim_spec(spec: Object) -> None:
    """Fill in the spec of a volume claim."""
    spec.setdefault("volumeMode", "Filesystem")
    resources = spec.get("resources") or {}
    round_up(resources.get("limits"))
    round_up(resources.get("requests"))


def fill(values: Mapping[str, Any]) -> Callable[[Object], None]:
    """Return a function that sets the values that are missing."""

    def default(source: Object) -> None:
        for key, value in values.items():
            if source.get(key) is None:
                source[key] = value

    return default


#: Volume sources that volumes of pods and persistent volumes share.
SOURCE_DEFAULTS: Final[Mapping[str, Callable[[Object], None]]] = {
    "hostPath": fill({"type": ""}),
    "iscsi": fill({"iscsiInterface": "default"}),
    "rbd": fill({"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"}),
    "azureDisk": fill({"cachingMode": "ReadWrite", "fsType": "ext4", "readOnly": False, "kind": "Shared"}),
    "scaleIO": fill({"storageMode": "ThinProvisioned", "fsType": "xfs"}),
}
_VOLUME_DEFAULTS: Final[Mapping[str, Callable[[Object], None]]] = {
    **SOURCE_DEFAULTS,
    "secret": _default_mode,
    "configMap": _default_mode,
    "downwardAPI": _default_downward_api,
    "projected": _default_projected,
    "image": _default_image,
    "ephemeral": _default_ephemeral,
}


def default_template(template: Object) -> None:
    """Fill in a pod template."""
    settle_template(template)
    default_pod_spec(template["spec"])
