"""PodNodeSelector: all pods of a namespace go to the nodes that its annotation selects.

    metadata.annotations["scheduler.alpha.kubernetes.io/node-selector"] = "pool=a,disk=fast"

Off by default.

Mirrors: plugin/pkg/admission/podnodeselector/admission.go (v1.36)
Differs: there is no configuration file, and so no default for the cluster and no list of labels that are allowed.
"""

from __future__ import annotations

from typing import Final

from schedlab.apimachinery.errors import new_unknown
from schedlab.registry.admission.chain import Admission, Attributes
from schedlab.registry.admission.errors import forbidden
from schedlab.registry.core import Core

_ANNOTATION: Final = "scheduler.alpha.kubernetes.io/node-selector"


def _admit(attributes: Attributes, core: Core) -> None:
    if attributes.obj is None:
        return
    if attributes.operation != "CREATE":
        return
    namespace = core.find("namespaces", "", attributes.namespace)
    annotations = {} if namespace is None else namespace.raw["metadata"].get("annotations") or {}
    selected = _read(annotations.get(_ANNOTATION, ""))
    spec = attributes.obj["spec"]
    own = spec.get("nodeSelector") or {}
    if any(own.get(key, value) != value for key, value in selected.items()):
        raise forbidden(attributes, "pod node label selector conflicts with its namespace node label selector")
    if selected:
        spec["nodeSelector"] = {**selected, **own}


def _read(text: str) -> dict[str, str]:
    """Read `key=value,key=value`; raises StatusError."""
    found = {}
    for part in text.split(",") if text else ():
        pair = part.split("=")
        if len(pair) != 2:
            raise new_unknown(f"invalid selector: [{' '.join(pair)}]")
        found[pair[0].strip()] = pair[1].strip()
    return found


POD_NODE_SELECTOR: Final = Admission(
    "PodNodeSelector", mutate=_admit, resources=("pods",), subresources=("",), repeats=True
)
