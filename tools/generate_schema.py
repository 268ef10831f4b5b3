#!/usr/bin/env python3
"""Compile the published Kubernetes schemas into src/schedlab/apimachinery/schema_data.

    pip install kubernetes-validate==1.36.0 lightkube-models==1.36.3.8 lightkube
    generate_schema.py

Inputs
  kubernetes-validate 1.36.0   its OpenAPI definitions of Kubernetes 1.36 (Apache-2.0)
  lightkube-models 1.36.3.8    which resources exist: plural, kind, scope, verbs, subresources (Apache-2.0)
  go_facts.json                what both leave out, beside this script; extract_go_facts.py says how it is made

Outputs (deterministic: the same inputs give the same bytes)
  types.json.gz          structure of every type; read by schedlab.apimachinery.schema
  descriptions.json.gz   the texts that kubectl explain shows, and the values of enumerations
  resources.json.gz      the resources; read by schedlab.apimachinery.resources
"""

import gzip
import importlib
import importlib.resources
import json
import pkgutil
import re
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
TARGET = HERE.parent / "src" / "schedlab" / "apimachinery" / "schema_data"
DEFINITIONS = "kubernetes-json-schema/v1.36.0-local/_definitions.json"
REFERENCE = "#/$defs/"

Json = dict[str, Any]


def read_definitions() -> dict[str, Json]:
    text = importlib.resources.files("kubernetes_validate").joinpath(DEFINITIONS).read_text()
    definitions: dict[str, Json] = json.loads(text)["$defs"]
    return definitions


def display(go_type: str) -> str:
    """Shorten full names as reflect prints them: io.k8s.api.core.v1.Pod is v1.Pod."""
    return re.sub(r"[\w-]+(?:\.[\w-]+)+", lambda found: ".".join(found[0].split(".")[-2:]), go_type)


class Compiler:
    """Joins definitions and Go facts, type by type."""

    def __init__(self, definitions: dict[str, Json], facts: Json) -> None:
        self.definitions = definitions
        self.structs: dict[str, list[Json]] = facts["structs"]
        self.named: dict[str, str] = facts["named"]
        self.enums: Json = facts["enums"]
        self.names = sorted(definitions)
        self.index = {name: number for number, name in enumerate(self.names)}
        self.enum_names: dict[str, None] = {}

    def types(self) -> list[Json]:
        return [self._type(name) for name in self.names]

    def _type(self, name: str) -> Json:
        definition = self.definitions[name]
        out: Json = {"n": name}
        if "properties" in definition:
            facts = self._flat(name, ())
            properties: Json = definition["properties"]
            # In Go's order, which is the order in which a server writes them.
            in_order = [field for field in facts if field in properties]
            in_order += [field for field in properties if field not in facts]
            out["f"] = {field: self._field(properties[field], facts.get(field)) for field in in_order}
        elif isinstance(kind := plain_type(definition), str):
            out["t"] = kind
            if "format" in definition:
                out["format"] = definition["format"]
        if required := definition.get("required"):
            out["r"] = required
        if definition.get("x-kubernetes-map-type") == "atomic":
            out["a"] = 1
        if gvks := definition.get("x-kubernetes-group-version-kind"):
            out["gvk"] = [[gvk["group"], gvk["version"], gvk["kind"]] for gvk in gvks]
        return out

    def _flat(self, name: str, path: tuple[str, ...]) -> dict[str, Json]:
        """Fields of a Go struct by wire name, those of embedded structs included."""
        name = self._resolve(name)
        out: dict[str, Json] = {}
        for fact in self.structs.get(name, ()):
            if "embedded" in fact:
                for wire, inner in self._flat(fact["type"].lstrip("*"), (*path, fact["embedded"])).items():
                    out.setdefault(wire, inner)
            else:
                out[fact["name"]] = {**fact, "path": path}
        return out

    def _resolve(self, name: str) -> str:
        while name in self.named and name not in self.structs:
            name = self.named[name]
        return name

    def _field(self, schema: Json, fact: Json | None) -> Json:
        """Short keys: t type, p pointer, o omitempty, z omitzero, e embedded through, s strategy, k merge key, d default."""
        go_type = fact["type"] if fact else ""
        out: Json = {"t": self._spec(schema, go_type.lstrip("*"))}
        pointer = go_type.startswith("*")
        if fact is None and "$ref" in schema:
            pointer = True
        if pointer:
            out["p"] = 1
        if fact is None or fact.get("omitempty"):
            out["o"] = 1
        if fact and fact.get("omitzero"):
            out["z"] = 1
        if fact and fact["path"]:
            out["e"] = ".".join(fact["path"])
        if strategy := schema.get("x-kubernetes-patch-strategy"):
            out["s"] = strategy.split(",")
        if merge_key := schema.get("x-kubernetes-patch-merge-key"):
            out["k"] = merge_key
        if fact and "default" in fact:
            out["d"] = fact["default"]
        return out

    def _spec(self, schema: Json, go_type: str) -> Any:
        if "$ref" in schema:
            number = self.index[schema["$ref"].removeprefix(REFERENCE)]
            map_type = schema.get("x-kubernetes-map-type")
            return {"ref": number, "a": int(map_type == "atomic")} if map_type else number
        kind = plain_type(schema)
        underlying = self._underlying(go_type)
        if kind == "array":
            out: Json = {"l": self._spec(schema["items"], element(underlying)), "g": display(go_type)}
            if list_type := schema.get("x-kubernetes-list-type"):
                out["lt"] = list_type
            if keys := schema.get("x-kubernetes-list-map-keys"):
                out["lk"] = keys
            return out
        if kind == "object" and "additionalProperties" in schema:
            out = {"m": self._spec(schema["additionalProperties"], element(underlying)), "g": display(go_type)}
            if schema.get("x-kubernetes-map-type") == "atomic":
                out["a"] = 1
            return out
        return self._scalar(kind, schema, go_type)

    def _scalar(self, kind: str, schema: Json, go_type: str) -> Any:
        out: Json = {"c": kind}
        if "format" in schema:
            out["f"] = schema["format"]
        if go_type and self._resolve(go_type) != go_type:
            out["g"] = display(go_type)
            if self.enums.get(go_type):
                self.enum_names[go_type] = None
                out["enum"] = go_type
        return out

    def _underlying(self, go_type: str) -> str:
        return self.named.get(go_type, go_type)

    def descriptions(self) -> Json:
        texts = {}
        for name in self.names:
            definition = self.definitions[name]
            fields = {
                field: schema["description"]
                for field, schema in definition.get("properties", {}).items()
                if "description" in schema
            }
            texts[name] = [definition.get("description", ""), fields]
        return {"types": texts, "enums": {name: self._enum(name) for name in sorted(self.enum_names)}}

    def _enum(self, name: str) -> Json:
        """Each value with its comment, the constant's own name cut from the front."""
        return {
            value: " ".join(comment.strip().removeprefix(constant).split())
            for value, (constant, comment) in self.enums[name].items()
        }


def element(go_type: str) -> str:
    """Element type of a Go slice or map, without a pointer."""
    if go_type.startswith("[]"):
        return go_type[2:].lstrip("*")
    found = re.match(r"map\[[^\]]+\](.*)", go_type)
    return found[1].lstrip("*") if found else ""


def plain_type(schema: Json) -> str:
    """Type of a schema without the null that the package adds; any when there is none."""
    kind = schema.get("type", "any")
    return kind if isinstance(kind, str) else next(one for one in kind if one != "null")


def read_resources() -> list[Json]:
    """Every resource of lightkube-models: group, version, plural, kind, scope, verbs, subresources."""
    core = importlib.import_module("lightkube.core.resource")
    package = importlib.import_module("lightkube.resources")
    out = []
    for module in sorted(info.name for info in pkgutil.iter_modules(package.__path__)):
        for resource in vars(importlib.import_module(f"lightkube.resources.{module}")).values():
            info = core.api_info(resource) if hasattr(resource, "_api_info") else None
            if info is None or info.parent is not None or resource.__module__ != f"lightkube.resources.{module}":
                continue
            subresources = {
                core.api_info(sub).action: [core.api_info(sub).resource, list(core.api_info(sub).verbs)]
                for sub in vars(resource).values()
                if isinstance(sub, type) and hasattr(sub, "_api_info")
            }
            out.append(
                {
                    "gvk": list(info.resource),
                    "plural": info.plural,
                    "namespaced": not issubclass(resource, core.GlobalResource),
                    "verbs": list(info.verbs),
                    "subresources": {
                        action: [list(parent), verbs] for action, (parent, verbs) in sorted(subresources.items())
                    },
                }
            )
    return sorted(out, key=lambda entry: (entry["gvk"], entry["plural"]))


def write(name: str, value: Any) -> None:
    encoded = json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
    TARGET.mkdir(exist_ok=True)
    (TARGET / name).write_bytes(gzip.compress(encoded, 9, mtime=0))


def main() -> None:
    facts = json.loads((HERE / "go_facts.json").read_text())
    compiler = Compiler(read_definitions(), facts)
    write("types.json.gz", compiler.types())
    write("descriptions.json.gz", compiler.descriptions())
    write("resources.json.gz", read_resources())


if __name__ == "__main__":
    main()
