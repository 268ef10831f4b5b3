#!/usr/bin/env python3
"""Compile how kube-apiserver prints the objects that it holds inside, from the Go sources of their types.

    generate_internal_types.py SOURCES > src/schedlab/api/internal_types.json

SOURCES is a folder that holds the Go modules k8s.io/{kubernetes,api,apiextensions-apiserver} of Kubernetes 1.36.2.
Errors and diffs show internal types: other names and another order of fields than on the wire, and nothing left out.
The output names, per internal type, every field with its name on the wire and its Go type. Only types that the roots
below reach are in it.
"""

import json
import re
import sys
from pathlib import Path

#: Internal package, its folder, the folder of the version on the wire.
PACKAGES = {
    "core": ("kubernetes/pkg/apis/core", "api/core/v1"),
    "apps": ("kubernetes/pkg/apis/apps", "api/apps/v1"),
    "autoscaling": ("kubernetes/pkg/apis/autoscaling", "api/autoscaling/v2"),
    "networking": ("kubernetes/pkg/apis/networking", "api/networking/v1"),
    "rbac": ("kubernetes/pkg/apis/rbac", "api/rbac/v1"),
    "storage": ("kubernetes/pkg/apis/storage", "api/storage/v1"),
    "resource": ("kubernetes/pkg/apis/resource", "api/resource/v1"),
    "batch": ("kubernetes/pkg/apis/batch", "api/batch/v1"),
    "apiextensions": (
        "apiextensions-apiserver/pkg/apis/apiextensions",
        "apiextensions-apiserver/pkg/apis/apiextensions/v1",
    ),
    "flowcontrol": ("kubernetes/pkg/apis/flowcontrol", "api/flowcontrol/v1"),
    "certificates": ("kubernetes/pkg/apis/certificates", "api/certificates/v1"),
}
ROOTS = (
    "apiextensions.CustomResourceDefinitionVersion",
    "apps.DaemonSetUpdateStrategy",
    "apps.DeploymentStrategy",
    "apps.StatefulSetUpdateStrategy",
    "autoscaling.HorizontalPodAutoscalerBehavior",
    "batch.PodFailurePolicy",
    "batch.SuccessPolicy",
    "batch.UncountedTerminatedPods",
    "core.EphemeralContainer",
    "core.NodeSelectorTerm",
    "core.HostIP",
    "core.NodeAddress",
    "core.PersistentVolumeClaimSpec",
    "core.PersistentVolumeSource",
    "core.PodIP",
    "core.PodTemplateSpec",
    "core.ScopeSelector",
    "core.ServicePort",
    "core.Taint",
    "core.Toleration",
    "core.VolumeNodeAffinity",
    "certificates.CertificateSigningRequestSpec",
    "flowcontrol.FlowDistinguisherMethod",
    "flowcontrol.FlowSchemaSpec",
    "flowcontrol.PriorityLevelConfigurationSpec",
    "networking.ParentReference",
    "networking.ServiceCIDRSpec",
    "rbac.RoleRef",
    "resource.AllocationResult",
    "resource.DeviceAttribute",
    "resource.ResourceClaimTemplateSpec",
    "storage.CSINodeDriver",
    "storage.VolumeAttachmentSpec",
)
#: Types that print as their wire form.
WIRE_TYPES = re.compile(r"^(metav1|intstr|resource|runtime)\.")
STRUCT = re.compile(r"^type (\w+) struct \{$")
ALIAS = re.compile(r"^type (\w+) ([^\s{]+)$")
FIELD = re.compile(r"^\t(\w+(?:, \w+)*) +([^\s`]+)(?:\s+`([^`]*)`)?\s*(?://.*)?$")
EMBEDDED = re.compile(r"^\t([\w.]+)(?:\s+`([^`]*)`)?\s*(?://.*)?$")
TAG = re.compile(r'json:"([^",]*)')

Field = tuple[str, str, str]


class Package:
    """The types of one package; a field is (name, Go type, name in JSON), without name where it is embedded."""

    def __init__(self, folder: Path) -> None:
        self.structs: dict[str, list[Field]] = {}
        self.aliases: dict[str, str] = {}
        for source in sorted(folder.glob("*types*.go")):
            self._read(source.read_text().splitlines())

    def _read(self, lines: list[str]) -> None:
        name = ""
        for line in lines:
            if found := STRUCT.match(line):
                name = found[1]
                self.structs[name] = []
            elif line == "}":
                name = ""
            elif found := ALIAS.match(line):
                self.aliases[found[1]] = found[2]
            elif name and (found := FIELD.match(line)):
                tag = TAG.search(found[3] or "")
                for one in found[1].split(", "):
                    self.structs[name].append((one, found[2], tag[1] if tag else ""))
            elif name and (found := EMBEDDED.match(line)):
                self.structs[name].append(("", found[1], ""))


def wire_names(package: Package, name: str) -> dict[str, str]:
    """Names in JSON of the fields of a type, also of those that are embedded."""
    names: dict[str, str] = {}
    for field, kind, tag in package.structs.get(name, ()):
        if field:
            names[field] = tag
        elif kind in package.structs:
            names.update(wire_names(package, kind))
    return names


class Compiler:
    """Collects the types that are reached."""

    def __init__(self, sources: Path) -> None:
        self.internal = {name: Package(sources / "k8s.io" / folders[0]) for name, folders in PACKAGES.items()}
        self.wire = {name: Package(sources / "k8s.io" / folders[1]) for name, folders in PACKAGES.items()}
        self.types: dict[str, list[Field]] = {}

    def add(self, full_name: str) -> None:
        if full_name in self.types:
            return
        package, name = full_name.split(".")
        fields: list[Field] = []
        self.types[full_name] = fields
        wire = wire_names(self.wire[package], name)
        for field, kind, _tag in self.internal[package].structs[name]:
            own = wire.get(field) or field[:1].lower() + field[1:]
            fields.append((field, own if field else "", self._resolve(kind, package)))

    def _resolve(self, kind: str, package: str) -> str:
        """Return a type with its package, and what stands behind names of simple types; add what it refers to."""
        if kind.startswith(("*", "[]")):
            mark = "*" if kind[0] == "*" else "[]"
            return mark + self._resolve(kind.removeprefix(mark), package)
        if found := re.match(r"map\[(\w+)\](.*)", kind):
            return f"map:{self._resolve(found[2], package)}"
        if WIRE_TYPES.match(kind):
            return kind
        owner, _, name = kind.rpartition(".")
        owner = {"api": "core"}.get(owner, owner) or package
        if owner in self.internal and name in self.internal[owner].structs:
            self.add(f"{owner}.{name}")
            return f"{owner}.{name}"
        if owner in self.internal and name in self.internal[owner].aliases:
            return self._resolve(self.internal[owner].aliases[name], owner)
        return "string" if kind == "types.UID" else kind


def main() -> None:
    compiler = Compiler(Path(sys.argv[1]))
    for root in ROOTS:
        compiler.add(root)
    rows = (f"{json.dumps(name)}: {json.dumps(compiler.types[name])}" for name in sorted(compiler.types))
    print("{\n" + ",\n".join(rows) + "\n}")


if __name__ == "__main__":
    main()
