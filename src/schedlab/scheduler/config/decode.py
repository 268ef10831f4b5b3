"""From a decoded YAML or JSON document to configuration structs, strictly: unknown fields and wrong types are refused.

Every unknown field is named with its path; a wrong type is reported alone, as the document cannot be read beyond it.

Mirrors: the strict codec of pkg/scheduler/apis/config/scheme and DecodeNestedObjects of
staging/src/k8s.io/kube-scheduler/config/v1/types.go (v1.36), with Go's error texts.
"""

from __future__ import annotations

import difflib
import types
from collections.abc import Mapping
from functools import cache
from typing import Any, Final, Union, get_args, get_origin, get_type_hints

import msgspec
import orjson

from schedlab.apimachinery.gojson import quote
from schedlab.apimachinery.time import TimeError, parse_duration
from schedlab.scheduler.config.args import ARGS
from schedlab.scheduler.config.types import (
    API_VERSION,
    KIND,
    ConfigStruct,
    DurationNs,
    ExtenderTLSConfig,
    KubeSchedulerConfiguration,
)

_GROUP: Final = API_VERSION.split("/", maxsplit=1)[0]
_SCHEME: Final = "pkg/scheduler/apis/config/scheme/scheme.go:29"
_TYPE_FIELDS: Final = {"apiVersion": None, "kind": None}
_DURATIONS: Final = {
    "httpTimeout": None,
    "leaseDuration": None,
    "renewDeadline": None,
    "retryPeriod": None,
    "filterTimeout": None,
    "bindingTimeout": None,
}
# int64 in Go; all other whole numbers are int32.
_INT64: Final = {
    "podInitialBackoffSeconds": None,
    "podMaxBackoffSeconds": None,
    "bindTimeoutSeconds": None,
}


class DecodeError(Exception):
    """The document is no configuration; `hint` may say what was meant."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


def decode(raw: Mapping[str, Any]) -> KubeSchedulerConfiguration:
    """Return the configuration without defaults; raises DecodeError."""
    _check_type(raw)
    walk = _Walk()
    clean = walk.struct({k: v for k, v in raw.items() if k not in _TYPE_FIELDS}, KubeSchedulerConfiguration, "", ())
    nested, args = _decode_args(clean)
    problems = [*walk.unknown, *nested]
    if problems:
        raise DecodeError(f"strict decoding error: {', '.join(problems)}", walk.hint)
    config = msgspec.convert(clean, KubeSchedulerConfiguration)
    for (profile, index), value in args.items():
        config.profiles[profile].plugin_config[index].args = value
    return config


def _check_type(raw: Mapping[str, Any]) -> None:
    if not isinstance(raw, Mapping):
        raise DecodeError(
            f"json: cannot unmarshal {_kind(raw)} into Go value of type struct {{ APIVersion string; Kind string }}",
            f"a configuration is a mapping that begins with apiVersion: {API_VERSION}",
        )
    kind, version = raw.get("kind"), raw.get("apiVersion")
    for name, value in (("Kind", kind), ("apiVersion", version)):
        if not value:
            text = orjson.dumps(raw, default=str).decode()
            raise DecodeError(f"Object '{name}' is missing in '{text}'", f"apiVersion: {API_VERSION}, kind: {KIND}")
    if (version, kind) != (API_VERSION, KIND):
        what = f'no kind "{kind}" is registered for version "{version}"'
        raise DecodeError(f'{what} in scheme "{_SCHEME}"', f"use apiVersion: {API_VERSION}, kind: {KIND}")


class _Walk:
    """Goes through a document beside the struct it should fit; collects unknown fields."""

    def __init__(self) -> None:
        self.unknown: list[str] = []
        self.hint = ""

    def struct(self, raw: Any, type_: type[Any], path: str, steps: tuple[str, ...]) -> dict[str, Any]:
        """Return the mapping with nulls left out and durations as nanoseconds."""
        if not isinstance(raw, Mapping):
            raise self._wrong(raw, type_.__name__, type_, steps)
        known = _fields(type_)  # type: ignore[arg-type]  # typeshed does not take classes for hashable
        clean: dict[str, Any] = {}
        for name, value in raw.items():
            here = f"{path}.{name}" if path else str(name)
            if name not in known:
                self.unknown.append(f"unknown field {quote(here)}")
                self._suggest(here, str(name), known)
            elif value is not None:
                clean[name] = self._value(value, known[name], here, (*steps, name), type_)
        return clean

    def _value(self, raw: Any, type_: Any, path: str, steps: tuple[str, ...], owner: type[Any]) -> Any:
        origin = get_origin(type_)
        if origin in {list, tuple}:
            if not isinstance(raw, list):
                raise self._wrong(raw, f"[]{_go_name(get_args(type_)[0])}", owner, steps)
            item = get_args(type_)[0]
            return [self._value(v, item, f"{path}[{i}]", steps, owner) for i, v in enumerate(raw) if v is not None]
        if origin is dict:
            if not isinstance(raw, Mapping):
                raise self._wrong(raw, "map[string]string", owner, steps)
            return {str(k): self._value(v, str, path, steps, owner) for k, v in raw.items()}
        if isinstance(type_, type) and issubclass(type_, msgspec.Struct):
            return self.struct(raw, type_, path, steps)
        if type_ is Any:
            return raw
        return self._scalar(raw, type_, steps, owner)

    def _scalar(self, raw: Any, type_: type[Any], steps: tuple[str, ...], owner: type[Any]) -> Any:
        name = steps[-1]
        if name in _DURATIONS:
            if not isinstance(raw, str):
                raise DecodeError(f"json: cannot unmarshal {_kind(raw)} into Go value of type string")
            try:
                return parse_duration(raw)
            except TimeError as error:
                raise DecodeError(str(error), f"{'.'.join(steps)} is a duration such as 10s or 1m30s") from None
        fits = isinstance(raw, type_) and not (type_ is not bool and isinstance(raw, bool))
        if type_ is float and isinstance(raw, int) and not isinstance(raw, bool):
            fits = True
        if type_ is int and isinstance(raw, float) and raw.is_integer():
            return int(raw)
        if not fits:
            go = {int: "int64" if name in _INT64 else "int32", str: "string", bool: "bool", float: "float32"}[type_]
            raise self._wrong(raw, go, owner, steps)
        return raw

    def _wrong(self, raw: Any, go_type: str, owner: type[Any], steps: tuple[str, ...]) -> DecodeError:
        what = _kind(raw)
        if what == "number" and isinstance(raw, float):
            what = f"number {raw:g}"
        if not steps:
            return DecodeError(f"json: cannot unmarshal {what} into Go value of type v1.{go_type}")
        where = f"Go struct field {owner.__name__}.{'.'.join(steps)}"
        return DecodeError(f"json: cannot unmarshal {what} into {where} of type {go_type}")

    def _suggest(self, path: str, name: str, known: Mapping[str, Any]) -> None:
        close = difflib.get_close_matches(name, known, 1)
        if close and not self.hint:
            self.hint = f"{path}: did you mean {close[0]}?"


def _kind(raw: Any) -> str:
    """Return Go's word for a JSON value."""
    if isinstance(raw, bool):
        return "bool"
    if isinstance(raw, str):
        return "string"
    if isinstance(raw, (int, float)):
        return "number"
    if raw is None:
        return "null"
    return "array" if isinstance(raw, list) else "object"


def _go_name(type_: Any) -> str:
    if type_ is str:
        return "string"
    return f"v1.{type_.__name__}" if isinstance(type_, type) else "interface {}"


@cache
def _fields(type_: type[Any]) -> dict[str, Any]:
    """Return the type of each field of a struct by its name on the wire, "or None" taken off."""
    hints = get_type_hints(type_, localns={"DurationNs": DurationNs, "ExtenderTLSConfig": ExtenderTLSConfig})
    found = {}
    for field in msgspec.structs.fields(type_):
        hint = hints[field.name]
        if get_origin(hint) in {Union, types.UnionType}:
            hint = next(arg for arg in get_args(hint) if arg is not type(None))
        found[field.encode_name] = hint
    return found


def _decode_args(clean: dict[str, Any]) -> tuple[list[str], dict[tuple[int, int], ConfigStruct]]:
    """Decode the arguments of the plugins that come with the scheduler; return strict errors and the arguments."""
    problems: list[str] = []
    found: dict[tuple[int, int], ConfigStruct] = {}
    for p, profile in enumerate(clean.get("profiles", ())):
        for c, entry in enumerate(profile.get("pluginConfig", ())):
            name = entry.get("name", "")
            type_ = ARGS.get(name)
            if type_ is None:
                continue
            prefix = f"decoding .profiles[{p}].pluginConfig[{c}]"
            try:
                walk = _Walk()
                found[p, c] = _args(entry.get("args") or {}, name, type_, walk)
            except DecodeError as error:
                raise DecodeError(f"{prefix}: {error}", error.hint) from None
            if walk.unknown:
                inner = f"decoding args for plugin {name}: strict decoding error: {', '.join(walk.unknown)}"
                problems.append(f"{prefix}: strict decoding error: {inner}")
    return problems, found


def _args(raw: Any, name: str, type_: type[ConfigStruct], walk: _Walk) -> ConfigStruct:
    if isinstance(raw, Mapping):
        kind, version = raw.get("kind") or f"{name}Args", raw.get("apiVersion") or API_VERSION
        if (kind, version) != (f"{name}Args", API_VERSION):
            group = version.rpartition("/")[0]
            if group == _GROUP and version == API_VERSION and kind.removesuffix("Args") in ARGS:
                raise DecodeError(f"args for plugin {name} were not of type {name}Args.{_GROUP}, got {kind}.{group}")
            text = f'no kind "{kind}" is registered for version "{version}" in scheme "{_SCHEME}"'
            raise DecodeError(f"decoding args for plugin {name}: {text}")
        raw = {key: value for key, value in raw.items() if key not in _TYPE_FIELDS}
    try:
        return msgspec.convert(walk.struct(raw, type_, "", ()), type_)
    except DecodeError as error:
        raise DecodeError(f"decoding args for plugin {name}: {error}", error.hint) from None
