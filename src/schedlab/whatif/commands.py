"""Changes (whatif.changes) as commands to type."""

from __future__ import annotations

from collections.abc import Mapping
from shlex import quote
from typing import Any

import orjson


def command_of(change: Mapping[str, Any]) -> str:
    """Return the kubectl command that makes a change."""
    match change:
        case {"uncordon": name}:
            return f"kubectl uncordon {name}"
        case {"delete": target}:
            return f"kubectl delete {_named(target)}{_in(change)}"
        case {"apply": manifest}:
            return f"echo {_json(manifest)} | kubectl apply -f -"
        case {"patch": target, "change": {"metadata": {"labels": labels}}} if str(target).startswith("node/"):
            settings = [f"{key}-" if value is None else f"{key}={value}" for key, value in labels.items()]
            overwrite = " --overwrite" if any(value is not None for value in labels.values()) else ""
            return f"kubectl label {_named(target)} {' '.join(settings)}{overwrite}"
        case {"patch": target, "change": patch}:
            return f"kubectl patch {_named(target)}{_in(change)} -p {_json(patch)}"
        case {"replace": target, "change": patch}:
            form = f" --type {change['type']}" if "type" in change else ""
            return (
                f"kubectl get {_named(target)}{_in(change)} -o json"
                f" | kubectl patch --local -f -{form} -p {_json(patch)} -o json | kubectl replace --force -f -"
            )
    raise ValueError(f"no command makes {change}")


def _named(target: str) -> str:
    return target.replace("/", " ", 1)


def _in(change: Mapping[str, Any]) -> str:
    return f" -n {change['namespace']}" if "namespace" in change else ""


def _json(value: object) -> str:
    return quote(orjson.dumps(value).decode())
