#!/usr/bin/env python3
"""Read facts about Kubernetes API types that the published OpenAPI schemas leave out, from their Go sources.

    pip install kubernetes-validate==1.36.0
    extract_go_facts.py SOURCES > tools/go_facts.json

SOURCES is a folder that holds the Go modules k8s.io/api, k8s.io/apimachinery and k8s.io/apiextensions-apiserver of
Kubernetes 1.36.2 (`SOURCES/k8s.io/api/core/v1/types.go`). The facts, per type and field: the Go type (kube-apiserver
prints it when a value has the wrong JSON type), whether the field is left out when empty (what an empty object looks
like decides who owns what), the struct that a field is embedded through, defaults, and the values of enumerations.

The output is committed, so building the schema table needs only the packages that generate_schema.py names.
"""

import ast
import importlib.resources
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

DEFINITIONS = "kubernetes-json-schema/v1.36.0-local/_definitions.json"
MODULES = ("api", "apimachinery", "apiextensions-apiserver")
SKIPPED_FILES = re.compile(r"zz_generated|_test\.go$|generated\.pb\.go|types_swagger_doc_generated")
PACKAGES = {
    "api": r"^[a-z]+/v\d\w*$",
    "apimachinery": r"^pkg/(apis/meta/v1|runtime|types|version|util/intstr|api/resource)$",
    "apiextensions-apiserver": r"^pkg/apis/apiextensions/v1$",
}
TYPE_START = re.compile(r"^type (\w+) (?:= )?(struct \{|[^={(]+)$")
FIELD = re.compile(r"^\s+(?:(\w+)\s+)?(\S+)\s+`(.*)`")
JSON_TAG = re.compile(r'json:"([^"]*)"')
CONSTANT = re.compile(r'^\s*(?:const )?(\w+)(?:\s+(\w+))?\s*=\s*(?:(\w+)\()?("(?:[^"\\]|\\.)*")\)?\s*(?://.*)?$')
IMPORT = re.compile(r'^\s*(?:import )?(?:(\w+)\s+)?"([^"]+)"')
BUILTINS = frozenset(
    ("string", "bool", "byte", "int", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float64", "any")
)


def openapi_prefix(path: str) -> str:
    """Name of a Go package in OpenAPI: k8s.io/api/core/v1 is io.k8s.api.core.v1."""
    host, _, rest = path.partition("/")
    return ".".join((*reversed(host.split(".")), *rest.split("/"))) if rest else path


class Package:
    """The type declarations of one Go package."""

    def __init__(self, folder: Path, prefix: str) -> None:
        self.prefix = prefix
        self.structs: dict[str, list[dict[str, Any]]] = {}
        self.named: dict[str, str] = {}
        self.enums: dict[str, dict[str, tuple[str, str]]] = {}
        self.constants: list[tuple[str, str, str, str]] = []
        for source in sorted(folder.glob("*.go")):
            if not SKIPPED_FILES.search(source.name):
                self._read(source.read_text().splitlines())

    def _read(self, lines: list[str]) -> None:
        imports = dict(self._imports(lines))
        comment: list[str] = []
        position = 0
        while position < len(lines):
            line = lines[position]
            position += 1
            stripped = line.strip()
            if stripped.startswith("//"):
                comment.append(stripped[2:])
                continue
            declared = TYPE_START.match(line)
            if declared and declared[2].startswith("struct"):
                end = next(i for i in range(position, len(lines)) if lines[i] == "}")
                self.structs[declared[1]] = list(self._fields(lines[position:end], imports))
                position = end + 1
            elif declared:
                self.named[declared[1]] = self._qualify(declared[2].split("//")[0].strip(), imports)
                if any(text.strip() == "+enum" for text in comment):
                    self.enums[declared[1]] = {}
            else:
                self._constant(line, comment)
            comment = []

    def _imports(self, lines: list[str]) -> Iterator[tuple[str, str]]:
        for line in lines:
            found = IMPORT.match(line)
            if found:
                yield found[1] or found[2].rsplit("/", 1)[-1], openapi_prefix(found[2])
            if line.startswith(("type ", "const ")):
                return

    def _constant(self, line: str, comment: list[str]) -> None:
        found = CONSTANT.match(line)
        kind = (found[2] or found[3]) if found else None
        if found and kind:
            self.constants.append((found[1], kind, ast.literal_eval(found[4]), " ".join(comment)))

    def finish(self) -> None:
        """Give the constants to their enumerations; of two names for one value the longer comment wins."""
        for name, kind, value, comment in self.constants:
            if kind not in self.enums:
                continue
            known = self.enums[kind].get(value)
            if known is None or len(known[1]) < len(comment):
                self.enums[kind][value] = (name, comment)

    def _fields(self, lines: list[str], imports: dict[str, str]) -> Iterator[dict[str, Any]]:
        comment: list[str] = []
        for line in lines:
            stripped = line.strip()
            if stripped.startswith("//"):
                comment.append(stripped[2:].strip())
                continue
            found = FIELD.match(line)
            tag = JSON_TAG.search(found[3]) if found else None
            if found and tag:
                wire, *options = tag[1].split(",")
                field: dict[str, Any] = {"type": self._qualify(found[2], imports)}
                if wire:
                    field["name"] = wire
                else:
                    field["embedded"] = found[1] or found[2].rsplit(".", 1)[-1].lstrip("*")
                if "omitempty" in options or "omitzero" in options:
                    field["omitempty"] = True
                if "omitzero" in options:
                    field["omitzero"] = True
                default = next((text.removeprefix("+default=") for text in comment if text.startswith("+default=")), "")
                if default and not default.startswith("ref("):
                    field["default"] = json.loads(default)
                if wire != "-":
                    yield field
            comment = []

    def _qualify(self, text: str, imports: dict[str, str]) -> str:
        """Write a type with each of its names in full: map[string]io.k8s.api.core.v1.Container."""

        def one(found: re.Match[str]) -> str:
            word = found[0]
            if "." in word:
                alias, name = word.split(".")
                return f"{imports.get(alias, alias)}.{name}"
            return word if word in BUILTINS or word in ("map", "interface{}") else f"{self.prefix}.{word}"

        return re.sub(r"interface\{\}|[A-Za-z_][\w.]*", one, text).replace("[]byte", "[]uint8")


def published_prefixes() -> set[str]:
    """Packages with a type in the published OpenAPI definitions."""
    text = importlib.resources.files("kubernetes_validate").joinpath(DEFINITIONS).read_text()
    return {name.rsplit(".", 1)[0] for name in json.loads(text)["$defs"]}


def read_packages(sources: Path) -> Iterator[Package]:
    published = published_prefixes() | {"io.k8s.apimachinery.pkg.types"}
    for module in MODULES:
        root = sources / "k8s.io" / module
        for folder in sorted(path for path in root.rglob("*") if path.is_dir()):
            package = folder.relative_to(root).as_posix()
            prefix = openapi_prefix(f"k8s.io/{module}/{package}")
            if re.search(PACKAGES[module], package) and prefix in published:
                found = Package(folder, prefix)
                found.finish()
                yield found


def facts(sources: Path) -> dict[str, Any]:
    packages = list(read_packages(sources))
    if not packages:
        raise SystemExit(f"no Go sources of Kubernetes API types below {sources}")
    return {
        "structs": {
            f"{p.prefix}.{name}": fields for p in packages for name, fields in sorted(p.structs.items()) if fields
        },
        "named": {f"{p.prefix}.{name}": text for p in packages for name, text in sorted(p.named.items())},
        "enums": {
            f"{p.prefix}.{name}": {value: list(values[value]) for value in sorted(values)}
            for p in packages
            for name, values in sorted(p.enums.items())
        },
    }


def main() -> None:
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    sections = []
    for section, entries in facts(Path(sys.argv[1])).items():
        lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(entry)}" for name, entry in entries.items())
        sections.append(f"{json.dumps(section)}: {{\n{lines}\n}}")
    print("{" + ",\n".join(sections) + "}")


if __name__ == "__main__":
    main()
