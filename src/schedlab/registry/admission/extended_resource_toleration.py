"""ExtendedResourceToleration: pods tolerate the taints of nodes that are kept for the resources they ask for.

Off by default.

Mirrors: plugin/pkg/admission/extendedresourcetoleration/admission.go (v1.36). Differs: nothing.
"""

from __future__ import annotations

from typing import Any, Final

from schedlab.api.rules.resource_names import is_extended_resource
from schedlab.registry.admission.chain import Admission, Attributes
from schedlab.registry.core import Core


def _admit(attributes: Attributes, _core: Core) -> None:
    if attributes.obj is None:
        return
    spec = attributes.obj["spec"]
    containers = (*spec["containers"], *(spec.get("initContainers") or ()))
    asked = {name for each in containers for name in (each.get("resources") or {}).get("requests") or ()}
    tolerations: list[dict[str, Any]] = list(spec.get("tolerations") or ())
    for name in sorted(asked):
        wanted = {"key": name, "operator": "Exists", "effect": "NoSchedule"}
        if is_extended_resource(name) and wanted not in tolerations:
            tolerations.append(wanted)
    if tolerations:
        spec["tolerations"] = tolerations


EXTENDED_RESOURCE_TOLERATION: Final = Admission(
    "ExtendedResourceToleration", mutate=_admit, resources=("pods",), subresources=("",), repeats=True
)
