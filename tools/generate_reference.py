"""Writes the pages of docs/reference that can be derived from the code: the command line, the plugins, the controllers,
the formats of scenarios and sweeps, and metrics.

Run by `make docs`; tests/architecture fails while a page is out of date.
"""

import inspect
import json
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cyclopts import App

import schedlab.cli
from schedlab.controllers.registry import CONTROLLERS, DRIVERS
from schedlab.scenario.metrics import METRICS, OF_RESOURCES
from schedlab.scenario.model import scenario_schema
from schedlab.scenario.sweeps.model import sweep_schema
from schedlab.scheduler.framework.interface import PluginEntry
from schedlab.scheduler.plugins import registry
from schedlab.scheduler.runtime.plugin_lists import POINTS, takes_part
from tools import generate_python_reference

REFERENCE = Path(__file__).resolve().parent.parent / "docs" / "reference"
NOTE = "<!-- Written by `make docs` from the code; do not edit. -->\n\n"


def command_line() -> App:
    """The one App of schedlab.cli."""
    [app] = [value for value in vars(schedlab.cli).values() if isinstance(value, App)]
    return app


def plugin_entries() -> dict[str, PluginEntry]:
    """What the plugin registry lists, by plugin name."""
    entries: dict[str, PluginEntry] = {}
    for value in vars(registry).values():
        listed = value.values() if isinstance(value, Mapping) else value if isinstance(value, Sequence) else ()
        entries.update({entry.name: entry for entry in listed if isinstance(entry, PluginEntry)})
    return entries


def pages() -> dict[Path, str]:
    """Every generated page with its text."""
    return {
        REFERENCE / "controllers.md": NOTE + _controllers_page({**CONTROLLERS, **DRIVERS}),
        REFERENCE / "cli.md": NOTE + _command_line_page(command_line()),
        REFERENCE / "plugins.md": NOTE + _plugins_page(plugin_entries()),
        REFERENCE / "python.md": NOTE + generate_python_reference.page(),
        REFERENCE / "scenario.schema.json": json.dumps(scenario_schema(), indent=2) + "\n",
        REFERENCE / "scenario-fields.md": NOTE + _fields_page("Scenario", scenario_schema()),
        REFERENCE / "scenario-metrics.md": NOTE + _metrics_page(),
        REFERENCE / "sweep.schema.json": json.dumps(sweep_schema(), indent=2) + "\n",
        REFERENCE / "sweep-fields.md": NOTE + _fields_page("Sweep", sweep_schema()),
    }


def _command_line_page(app: App) -> str:
    """What `--help` says of every verb; cyclopts words usage lines after the running program, so it is named here."""
    running, sys.argv = sys.argv, ["schedlab"]
    try:
        return app.generate_docs().rstrip() + "\n"
    finally:
        sys.argv = running


def _plugins_page(entries: Mapping[str, PluginEntry]) -> str:
    rows = [
        "# Plugins",
        "",
        "Every plugin of the default registry; names and behaviour are kube-scheduler's.",
        "",
        "| Plugin | Extension points | What it does | Mirrors | Differs |",
        "|---|---|---|---|---|",
    ]
    for name, entry in sorted(entries.items()):
        module = inspect.getmodule(entry.factory)
        text = inspect.getdoc(module) or ""
        cells = [
            f"`{name}`",
            ", ".join(f"`{point}`" for point in _extension_points(entry)),
            text.split("\n\n")[0],
            _paragraph(text, "Mirrors"),
            _paragraph(text, "Differs"),
        ]
        rows.append("| " + " | ".join(_cell(cell) for cell in cells) + " |")
    return "\n".join(rows) + "\n"


def _controllers_page(controllers: Mapping[str, object]) -> str:
    rows = [
        "# Controllers",
        "",
        "All controllers that a cluster runs, in the order in which they are stepped, by the names that",
        "kube-controller-manager's `--controllers` knows; those that begin with `simulated-` stand for drivers of a real",
        "cluster. They write as `kube-controller-manager`, with upstream's conditions, events and delays. What only a real",
        "cluster needs is left out: clouds, certificates, tokens of bootstrapping.",
        "",
        "| Controller | What it does | Mirrors | Differs |",
        "|---|---|---|---|",
    ]
    for name, make in controllers.items():
        module = inspect.getmodule(make)
        assert module is not None, f"{name} is made by nobody"
        text = (inspect.getdoc(module) or "").replace(" Differs: ", "\nDiffers: ")
        about = text.split("\n\n")[0]
        if about.startswith("The controller: "):
            # The package says which one.
            about = (inspect.getdoc(sys.modules[module.__name__.rpartition(".")[0]]) or "").split("\n\n")[0]
        cells = [f"`{name}`", about, _paragraph(text, "Mirrors"), _paragraph(text, "Differs")]
        rows.append("| " + " | ".join(_cell(cell) for cell in cells) + " |")
    return "\n".join(rows) + "\n"


def _fields_page(kind: str, schema: Mapping[str, Any]) -> str:
    """Each mapping of a file of this kind with its fields, the whole file first."""
    parts = schema["$defs"]
    names = [kind, *(name for name in parts if name != kind)]
    word = kind.lower()
    rows = [f"# Fields of {word} files", "", f"[{kind}s]({word}s.md) says how they go together.", ""]
    for name in names:
        part = parts[name]
        rows += [f"## {name}", "", " ".join(part["description"].split()), "", "| Field | Type | Default | |"]
        rows.append("|---|---|---|---|")
        for field, about in part["properties"].items():
            given = about.get("default")
            default = "required" if field in part.get("required", ()) else "" if given is None else f"`{given}`"
            cells = [
                f"`{field}`",
                _type_words(about),
                "" if isinstance(given, (dict, list)) else default,
                about.get("description", ""),
            ]
            rows.append("| " + " | ".join(_cell(cell) for cell in cells) + " |")
        rows.append("")
    return "\n".join(rows)


def _type_words(about: Mapping[str, Any]) -> str:
    """What a schema allows, in words."""
    if "anyOf" in about:
        return " or ".join(_type_words(one) for one in about["anyOf"] if one.get("type") != "null")
    if "$ref" in about:
        name = about["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "enum" in about:
        return ", ".join(f"`{one}`" for one in about["enum"] if one is not None)
    if about.get("type") == "array":
        return f"list of {_type_words(about['items'])}" if about.get("items") else "list"
    kind = str(about.get("type", "anything"))
    return {"string": "text", "object": "mapping", "boolean": "true or false"}.get(kind, kind)


def _metrics_page() -> str:
    rows = ["# Metrics of scenarios", ""]
    rows += ["Those of resources have the resource's name behind a dot: `requested_mean.cpu`.", ""]
    rows += ["| Metric | Unit | Better | What it is |", "|---|---|---|---|"]
    for name, metric in METRICS.items():
        shown = f"{name}.RESOURCE" if name.rpartition("_")[0] in OF_RESOURCES else name
        cells = [f"`{shown}`", metric.unit or "count", metric.better, metric.text]
        rows.append("| " + " | ".join(_cell(cell) for cell in cells) + " |")
    return "\n".join(rows) + "\n"


def _extension_points(entry: PluginEntry) -> list[str]:
    """The points the plugin takes part in, in the order they are called."""
    module = inspect.getmodule(entry.factory)
    kinds = [
        kind for kind in vars(module).values() if inspect.isclass(kind) and getattr(kind, "name", "") == entry.name
    ]
    return [point.name for point in POINTS if any(takes_part(kind, point.name) for kind in kinds)]


def _paragraph(text: str, label: str) -> str:
    """What follows `label:` in a module docstring, up to the next label or empty line."""
    match = re.search(rf"^{label}:\s*(.+?)(?=\n\n|\n[A-Z]\w+:|\Z)", text, re.MULTILINE | re.DOTALL)
    return match[1] if match else ""


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def main() -> None:
    REFERENCE.mkdir(parents=True, exist_ok=True)
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
        print(f"wrote {path.relative_to(REFERENCE.parent.parent)}")


if __name__ == "__main__":
    main()
