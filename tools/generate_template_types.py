#!/usr/bin/env python3
"""Compile the Go types that a pod template is made of, which its hash is taken over.

    generate_template_types.py SOURCES > src/schedlab/controllers/framework/template_types.json

SOURCES is a folder that holds the Go modules k8s.io/api and k8s.io/apimachinery of Kubernetes 1.36.2. The output names,
per struct, every field in order with its name on the wire and its Go type as Go prints it, and what stands behind the
names of simple types. Only what a template reaches is in it.
"""

import json
import re
import sys
from pathlib import Path

ROOT = "v1.PodTemplateSpec"
STRUCT = re.compile(r"^type (\w+) struct \{$")
ALIAS = re.compile(r"^type (\w+) (\S.*?)(?: //.*)?$")
FIELD = re.compile(r"^\t(\w+) +([^\s`]+)(?:\s+`([^`]*)`)?\s*(?://.*)?$")
EMBEDDED = re.compile(r"^\t((?:\w+\.)?\w+)(?:\s+`([^`]*)`)?\s*(?://.*)?$")
TAG = re.compile(r'json:"([^",]*)')
#: Written out by hand by whoever prints them.
SPECIAL = ("resource.Quantity", "intstr.IntOrString", "v1.Time", "types.UID", "v1.ManagedFieldsEntry")

Field = tuple[str, str, str]


def read(source: Path, structs: dict[str, list[Field]], simple: dict[str, str]) -> None:
    """Take the types of one file in; both packages that matter print as v1."""
    name = ""
    for line in source.read_text().splitlines():
        if found := STRUCT.match(line):
            name = f"v1.{found[1]}"
            structs[name] = []
        elif line == "}":
            name = ""
        elif name and (found := FIELD.match(line)):
            tag = TAG.search(found[3] or "")
            structs[name].append((found[1], tag[1] if tag else "", printed(found[2])))
        elif name and (found := EMBEDDED.match(line)):
            tag = TAG.search(found[2] or "")
            structs[name].append((found[1].rpartition(".")[2], tag[1] if tag else "", printed(found[1])))
        elif not name and (found := ALIAS.match(line)) and found[2] not in ("struct {", "interface {"):
            simple[f"v1.{found[1]}"] = printed(found[2])


def printed(kind: str) -> str:
    """Return a type with its package, as Go prints it."""
    for mark in ("*", "[]", "map[string]", "map[ResourceName]"):
        if kind.startswith(mark):
            return mark.replace("[ResourceName]", "[v1.ResourceName]") + printed(kind.removeprefix(mark))
    if kind in ("string", "bool", "int32", "int64", "byte", "uint8"):
        return kind
    kind = kind.removeprefix("metav1.")
    return kind if "." in kind else f"v1.{kind}"


def reached(
    root: str, structs: dict[str, list[Field]], simple: dict[str, str]
) -> tuple[dict[str, list[Field]], dict[str, str]]:
    """Return what the root is made of."""
    found_structs: dict[str, list[Field]] = {}
    found_simple: dict[str, str] = {}
    todo = [root]
    while todo:
        kind = re.sub(r"^(\*|\[\]|map\[[\w.]+\])+", "", todo.pop())
        if kind in SPECIAL or kind in found_structs or kind in found_simple:
            continue
        if kind in structs:
            found_structs[kind] = structs[kind]
            todo += [each[2] for each in structs[kind]]
        elif kind in simple:
            found_simple[kind] = simple[kind]
            todo.append(simple[kind])
    return found_structs, found_simple


def main() -> None:
    sources = Path(sys.argv[1]) / "k8s.io"
    structs: dict[str, list[Field]] = {}
    simple: dict[str, str] = {}
    read(sources / "apimachinery/pkg/apis/meta/v1/types.go", structs, simple)
    read(sources / "api/core/v1/types.go", structs, simple)
    structs, simple = reached(ROOT, structs, simple)
    rows = [f"{json.dumps(name)}: {json.dumps(structs[name])}" for name in sorted(structs)]
    rows += [f"{json.dumps(name)}: {json.dumps(simple[name])}" for name in sorted(simple)]
    print("{\n" + ",\n".join(rows) + "\n}")


if __name__ == "__main__":
    main()
