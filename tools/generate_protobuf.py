#!/usr/bin/env python3
"""Compile the protobuf messages of the Kubernetes API into one table.

    generate_protobuf.py SOURCES

SOURCES is a folder that holds the Go modules k8s.io/api, k8s.io/apimachinery and k8s.io/apiextensions-apiserver of
Kubernetes 1.36.2 (`SOURCES/k8s.io/api/core/v1/generated.proto`). The .proto files tell numbers and types; the Go
structs beside them tell the JSON names, what is a pointer, what is embedded and what is left out when empty.

The output, src/schedlab/apimachinery/protobuf/messages.json.gz, is committed. Its form:

    {"messages": [{"n": NAME, "f": [[NUMBER, JSON, CODE, FLAGS, MESSAGE?], …], "w": 1?}, …],
     "packages": {"apps/v1": "k8s.io.api.apps.v1", …}}

CODE is s(tring), b(ytes), i(nt32), l (int64), t(ruth value), d(ouble) or m(essage), after "{" when it is the value of a map
with string keys. FLAGS: r(epeated), p(ointer), o(mitempty), z (omitzero). MESSAGE is an index into the list. JSON is
empty for embedded messages. "w" marks messages that stand for a list.
"""

import gzip
import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

OUTPUT = Path(__file__).parent.parent / "src/schedlab/apimachinery/protobuf/messages.json.gz"
FOLDERS = (
    "k8s.io/api/*/*",
    "k8s.io/apimachinery/pkg/apis/meta/v1",
    "k8s.io/apimachinery/pkg/api/resource",
    "k8s.io/apimachinery/pkg/runtime",
    "k8s.io/apimachinery/pkg/util/intstr",
    "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1",
)
META = "k8s.io/apimachinery/pkg/apis/meta/v1"
SCALARS = {"string": "s", "bytes": "b", "int32": "i", "int64": "l", "bool": "t", "double": "d"}

PACKAGE = re.compile(r"^package ([\w.]+);$", re.MULTILINE)
MESSAGE = re.compile(r"^message (\w+) \{$(.*?)^\}$", re.MULTILINE | re.DOTALL)
FIELD = re.compile(r"^  (optional|repeated) (\.?[\w.]+) (\w+) = (\d+);$", re.MULTILINE)
MAP_FIELD = re.compile(r"^  map<string, (\.?[\w.]+)> (\w+) = (\d+);$", re.MULTILINE)
GO_STRUCT = re.compile(r"^type (\w+) struct \{$(.*?)^\}$", re.MULTILINE | re.DOTALL)
GO_LIST = re.compile(r"^type (\w+) \[\]", re.MULTILINE)
GO_FIELD = re.compile(r'^\s+(?:\w+\s+)?(\S+)\s+`.*?json:"([^"]*)".*?protobuf:"\w+,(\d+)[^"]*".*`', re.MULTILINE)
GROUP_NAME = re.compile(r'^const GroupName = "([^"]*)"', re.MULTILINE)


@dataclass
class GoField:
    """What the Go struct says about a field."""

    json: str
    flags: str


@dataclass
class Source:
    """One folder: its .proto file and what its Go files declare."""

    folder: Path
    proto: str
    package: str
    structs: dict[str, dict[int, GoField]]
    lists: frozenset[str]
    group: str | None


def read_folder(folder: Path) -> Source:
    proto = (folder / "generated.proto").read_text()
    package = PACKAGE.search(proto)
    if package is None:
        raise SystemExit(f"{folder}/generated.proto: found no package")
    structs: dict[str, dict[int, GoField]] = {}
    lists: set[str] = set()
    group = None
    for path in sorted(folder.glob("*.go")):
        if path.name.startswith(("zz_generated", "generated.pb")) or path.name.endswith("_test.go"):
            continue
        text = path.read_text()
        lists.update(GO_LIST.findall(text))
        for name, body in GO_STRUCT.findall(text):
            structs.setdefault(name, {}).update(read_go_fields(body))
        named = GROUP_NAME.search(text)
        group = named[1] if named else group
    return Source(folder, proto, package[1], structs, frozenset(lists), group)


def read_go_fields(body: str) -> dict[int, GoField]:
    fields = {}
    for go_type, tag, number in GO_FIELD.findall(body):
        name, *options = tag.split(",")
        flags = "p" if go_type.startswith("*") else ""
        flags += "o" if "omitempty" in options else ""
        flags += "z" if "omitzero" in options else ""
        fields[int(number)] = GoField(name, flags)
    return fields


def full_name(reference: str, package: str) -> str:
    return reference[1:] if reference.startswith(".") else f"{package}.{reference}"


def compile_messages(sources: list[Source]) -> list[dict[str, Any]]:
    bodies = {
        f"{source.package}.{name}": (source, name, body)
        for source in sources
        for name, body in MESSAGE.findall(source.proto)
    }
    index = {name: position for position, name in enumerate(bodies)}
    messages = []
    for full, (source, name, body) in bodies.items():
        known = source.structs.get(name, {})
        fields = [compile_field(match, known, source.package, index) for match in read_fields(body)]
        message: dict[str, Any] = {"n": full, "f": fields}
        if name in source.lists:
            message["w"] = 1
        messages.append(message)
    return messages


def read_fields(body: str) -> list[tuple[str, str, str, int]]:
    """Fields of a message in the order of the file: label, type, name, number."""
    found = [(m.start(), m[1], m[2], m[3], int(m[4])) for m in FIELD.finditer(body)]
    found += [(m.start(), "map", m[1], m[2], int(m[3])) for m in MAP_FIELD.finditer(body)]
    return [(label, kind, name, number) for _, label, kind, name, number in sorted(found)]


def compile_field(
    field: tuple[str, str, str, int], known: dict[int, GoField], package: str, index: dict[str, int]
) -> list[Any]:
    label, kind, name, number = field
    go_field = known.get(number, GoField(name, ""))
    code = SCALARS.get(kind, "m")
    flags = go_field.flags + ("r" if label == "repeated" else "")
    compiled = [number, go_field.json, "{" + code if label == "map" else code, flags]
    if code == "m":
        compiled.append(index[full_name(kind, package)])
    return compiled


def main() -> None:
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    root = Path(sys.argv[1])
    folders = [folder for pattern in FOLDERS for folder in sorted(root.glob(pattern))]
    sources = [read_folder(folder) for folder in folders if (folder / "generated.proto").exists()]
    if not any(source.folder == root / META for source in sources):
        raise SystemExit(f"{root}: no Kubernetes sources here ({META}/generated.proto is missing)")
    packages = {
        f"{source.group}/{source.folder.name}".lstrip("/"): source.package
        for source in sources
        if source.group is not None
    }
    table = {"messages": compile_messages(sources), "packages": packages}
    text = json.dumps(table, separators=(",", ":"))
    OUTPUT.write_bytes(gzip.compress(text.encode(), mtime=0))
    print(f"{len(table['messages'])} messages, {len(packages)} packages, {OUTPUT.stat().st_size} bytes")


if __name__ == "__main__":
    main()
