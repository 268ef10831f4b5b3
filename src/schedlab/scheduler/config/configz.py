"""The configuration as /configz shows it: Go's internal types, which have no wire names of their own.

Mirrors: cmd/kube-scheduler/app/server.go and pkg/scheduler/apis/config/types.go (v1.36)
Differs: arguments of plugins that do not come with the scheduler are shown as they were given.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from schedlab.apimachinery.time import format_duration
from schedlab.scheduler.config.args import DynamicResourcesArgs
from schedlab.scheduler.config.types import ConfigStruct, Extender, LeaderElectionConfiguration

if TYPE_CHECKING:
    from schedlab.scheduler.config.types import KubeSchedulerConfiguration

_GO_NAMES: Final = {
    "qps": "QPS",
    "urlPrefix": "URLPrefix",
    "tlsConfig": "TLSConfig",
    "httpTimeout": "HTTPTimeout",
    "caFile": "CAFile",
    "caData": "CAData",
}
_DURATIONS: Final[dict[type[Any], tuple[str, ...]]] = {
    DynamicResourcesArgs: ("filter_timeout", "binding_timeout"),
    Extender: ("http_timeout",),
    LeaderElectionConfiguration: ("lease_duration", "renew_deadline", "retry_period"),
}


def configz(config: KubeSchedulerConfiguration) -> dict[str, Any]:
    """Return what GET /configz answers."""
    return {"componentconfig": {"apiVersion": config.api_version, **_struct(config, leave_out=("kind", "api_version"))}}


def _struct(value: msgspec.Struct, leave_out: tuple[str, ...] = ()) -> dict[str, Any]:
    durations = _DURATIONS.get(type(value), ())
    wire: dict[str, Any] = {}
    for field in msgspec.structs.fields(type(value)):
        if field.name in leave_out:
            continue
        here = getattr(value, field.name)
        if field.name in durations and here is not None:
            here = format_duration(here)
        wire[_go_name(field.encode_name)] = _plain(here)
    return wire


def _go_name(name: str) -> str:
    return _GO_NAMES.get(name) or f"{name[0].upper()}{name[1:]}"


def _plain(value: Any) -> Any:
    if isinstance(value, ConfigStruct):
        return _struct(value)
    if isinstance(value, msgspec.Struct):
        # API types have wire names in Go, too.
        return msgspec.to_builtins(value)
    if isinstance(value, (list, tuple)):
        # Go writes a slice that nobody has set as null.
        return [_plain(item) for item in value] or None
    return value
