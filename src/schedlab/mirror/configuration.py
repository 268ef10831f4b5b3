"""kube-scheduler-simulator's configuration: its file, and the environment variables that go before it.

Mirrors: simulator/config/config.go, simulator/config/v1alpha1/types.go of kube-scheduler-simulator
Differs: nothing is required that has a meaning only for upstream's own processes (etcdURL); every mistake is told, with
its field.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from schedlab.apimachinery.yaml_file import read_object
from schedlab.kernel.errors import SchedlabError

API_VERSION: Final = "kube-scheduler-simulator-config/v1alpha1"
KIND: Final = "SimulatorConfiguration"

_TRUE: Final = frozenset(("1", "t", "T", "TRUE", "true", "True"))
_TEXT, _NUMBER, _SWITCH, _LIST, _SELECTOR = "text", "a number", "true or false", "a list of texts", "a label selector"
_FIELDS: Final[Mapping[str, str]] = {
    "apiVersion": _TEXT,
    "kind": _TEXT,
    "port": _NUMBER,
    "etcdURL": _TEXT,
    "corsAllowedOriginList": _LIST,
    "kubeConfig": _TEXT,
    "kubeApiServerUrl": _TEXT,
    "kubeSchedulerConfigPath": _TEXT,
    "externalImportEnabled": _SWITCH,
    "resourceSyncEnabled": _SWITCH,
    "replayEnabled": _SWITCH,
    "resourceImportLabelSelector": _SELECTOR,
    "recordFilePath": _TEXT,
    # Accepted and without a meaning, there as here.
    "kubeApiHost": _TEXT,
    "kubeApiPort": _NUMBER,
    "externalSchedulerEnabled": _SWITCH,
}
_MODES: Final = ("externalImportEnabled", "resourceSyncEnabled", "replayEnabled")
_EXPRESSIONS: Final = {"In": "in", "NotIn": "notin", "Exists": "", "DoesNotExist": "!"}


@dataclass(frozen=True, slots=True)
class SimulatorConfiguration:
    """What the file and the environment say; 0 and "" where they say nothing.

    apiserver_port: that of kubeApiServerUrl. selector: resourceImportLabelSelector as kubectl writes selectors.
    """

    port: int = 0
    apiserver_port: int = 0
    origins: tuple[str, ...] | None = None
    kubeconfig: str = ""
    scheduler_config: str = ""
    imports: bool = False
    syncs: bool = False
    replays: bool = False
    selector: str = ""
    record: str = ""


def load_configuration(file: Path, environment: Mapping[str, str]) -> SimulatorConfiguration:
    """Read a file, with the environment before it; raises SchedlabError with every mistake."""
    raw = read_object(file, "name a readable SimulatorConfiguration", "SimulatorConfiguration", API_VERSION)
    mistakes = [*_mistakes(raw)]
    merged = _with_environment(raw, environment)
    enabled = [mode for mode in _MODES if merged.get(mode)]
    if len(enabled) > 1:
        mistakes.append(f"{' and '.join(enabled)}: only one of them can be true at a time")
    for number, origin in enumerate(merged.get("corsAllowedOriginList") or ()):
        if not urlsplit(origin).scheme:
            mistakes.append(f"corsAllowedOriginList[{number}]: {origin!r} is no URL")
    if mistakes:
        raise SchedlabError("; ".join(mistakes), location=str(file), hint=f"fields are: {', '.join(_FIELDS)}")
    origins = merged.get("corsAllowedOriginList")
    return SimulatorConfiguration(
        port=merged.get("port") or 0,
        apiserver_port=_port(merged.get("kubeApiServerUrl") or "", file),
        origins=None if origins is None else tuple(origins),
        kubeconfig=merged.get("kubeConfig") or "",
        scheduler_config=merged.get("kubeSchedulerConfigPath") or "",
        imports=bool(merged.get("externalImportEnabled")),
        syncs=bool(merged.get("resourceSyncEnabled")),
        replays=bool(merged.get("replayEnabled")),
        selector=selector_text(merged.get("resourceImportLabelSelector") or {}),
        record=merged.get("recordFilePath") or "",
    )


def _mistakes(raw: Mapping[str, Any]) -> list[str]:
    found = []
    for key, value in raw.items():
        wanted = _FIELDS.get(key)
        if wanted is None:
            found.append(f'unknown field "{key}"')
        elif value is not None and not _FITS[wanted](value):
            found.append(f"{key}: {value!r} is not {wanted}")
    return found


def _is_text_list(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _is_selector(value: Any) -> bool:
    if not isinstance(value, dict) or not set(value) <= {"matchLabels", "matchExpressions"}:
        return False
    labels, expressions = value.get("matchLabels") or {}, value.get("matchExpressions") or []
    if not isinstance(labels, dict) or not isinstance(expressions, list):
        return False
    return all(
        isinstance(one, dict) and isinstance(one.get("key"), str) and one.get("operator") in _EXPRESSIONS
        for one in expressions
    )


_FITS: Final[Mapping[str, Callable[[Any], bool]]] = {
    _TEXT: lambda value: isinstance(value, str),
    _NUMBER: lambda value: isinstance(value, int) and not isinstance(value, bool),
    _SWITCH: lambda value: isinstance(value, bool),
    _LIST: _is_text_list,
    _SELECTOR: _is_selector,
}


def selector_text(selector: Mapping[str, Any]) -> str:
    """Return a LabelSelector as kubectl and the API write it: `a=b,c in (d,e),!f`."""
    parts = [f"{key}={value}" for key, value in (selector.get("matchLabels") or {}).items()]
    for one in selector.get("matchExpressions") or ():
        key, operator, values = one["key"], one["operator"], ",".join(one.get("values") or ())
        word = _EXPRESSIONS[operator]
        parts.append(f"{key} {word} ({values})" if operator in ("In", "NotIn") else f"{word}{key}")
    return ",".join(parts)


def _with_environment(raw: Mapping[str, Any], environment: Mapping[str, str]) -> dict[str, Any]:
    merged = dict(raw)
    if environment.get("PORT", "").isdecimal():
        merged["port"] = int(environment["PORT"])
    for variable, key in (
        ("KUBE_APISERVER_URL", "kubeApiServerUrl"),
        ("KUBE_SCHEDULER_SIMULATOR_ETCD_URL", "etcdURL"),
        ("KUBE_SCHEDULER_CONFIG_PATH", "kubeSchedulerConfigPath"),
        ("RECORD_FILE_PATH", "recordFilePath"),
    ):
        if environment.get(variable):
            merged[key] = environment[variable]
    for variable, key in (
        ("EXTERNAL_IMPORT_ENABLED", "externalImportEnabled"),
        ("RESOURCE_SYNC_ENABLED", "resourceSyncEnabled"),
        ("REPLAYER_ENABLED", "replayEnabled"),
    ):
        if environment.get(variable):
            merged[key] = environment[variable] in _TRUE
    origins = [one.strip() for one in environment.get("CORS_ALLOWED_ORIGIN_LIST", "").split(",") if one.strip()]
    if origins and all(urlsplit(origin).scheme for origin in origins):
        merged["corsAllowedOriginList"] = origins
    return merged


def _port(url: str, file: Path) -> int:
    if not url:
        return 0
    try:
        return urlsplit(url).port or 0
    except ValueError as error:
        raise SchedlabError(
            f"kubeApiServerUrl: {error}", location=str(file), hint="write it like http://localhost:3131"
        ) from error
