"""AppArmor profiles in annotations of pods, which fields took the place of.

Mirrors: pkg/registry/core/pod/strategy.go (applyAppArmorVersionSkew), pkg/api/pod/util.go (ApparmorFieldForAnnotation)
(v1.36)
Differs: nothing.
"""

from __future__ import annotations

from typing import Final

from schedlab.api.kinds.strategy import Context
from schedlab.api.object import Object
from schedlab.api.validation.pods.annotations import APP_ARMOR
from schedlab.apimachinery import names
from schedlab.apimachinery.field import Path

_SIMPLE: Final = {"unconfined": "Unconfined", "runtime/default": "RuntimeDefault"}
_LOCALHOST: Final = "localhost/"
_NAME_LENGTH_MAX: Final = 4095


def copy_to_fields(pod: Object, context: Context) -> None:
    """Give containers without a profile the one that an annotation names, and warn about it."""
    annotations = pod["metadata"].get("annotations")
    spec = pod["spec"]
    if not annotations or (spec.get("os") or {}).get("name") == "windows":
        return
    of_pod = (spec.get("securityContext") or {}).get("appArmorProfile")
    for key in ("initContainers", "containers", "ephemeralContainers"):
        for container in spec.get(key) or ():
            annotation = APP_ARMOR + container.get("name", "")
            if annotation not in annotations or "appArmorProfile" in (container.get("securityContext") or {}):
                continue
            profile = profile_of(annotations[annotation])
            if profile is not None and profile == of_pod:
                continue
            if profile is not None:
                container.setdefault("securityContext", {})["appArmorProfile"] = profile
            path = Path("metadata", "annotations").key(annotation)
            context.warnings.append(f'{path}: deprecated since v1.30; use the "appArmorProfile" field instead')


def profile_of(annotation: str) -> Object | None:
    """Return the field that says the same as an annotation, None where it says nothing valid."""
    if annotation in _SIMPLE:
        return {"type": _SIMPLE[annotation]}
    name = annotation.removeprefix(_LOCALHOST)
    if not annotation.startswith(_LOCALHOST) or name != name.strip() or not name:
        return None
    too_long = names.byte_length(name) > _NAME_LENGTH_MAX
    return None if too_long else {"type": "Localhost", "localhostProfile": name}
