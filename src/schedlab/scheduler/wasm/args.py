"""How a configuration declares a plugin to be WebAssembly: arguments with a guestURL.

    pluginConfig:
    - name: NodeNumber
      args:
        guestURL: file:///plugins/node_number.wasm     # or http://, https://
        guestConfig: '{"reverse": true}'               # a text that the guest can ask for
        logSeverity: 0                                 # 0 info, 1 warning, 2 error, 3 fatal

Mirrors: scheduler/plugin/{config,plugin}.go of kube-scheduler-wasm-extension.
Differs: only a plugin whose arguments have a guestURL is one; unknown arguments are refused; it may be enabled at any
extension point, and in several profiles.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any

import msgspec

from schedlab.scheduler.framework.interface import Handle, PluginEntry
from schedlab.scheduler.framework.plugin_args import decode_args

# Reads what a URL names; raises ValueError with what is wrong.
Fetch = Callable[[str], bytes]


class WasmArgs(msgspec.Struct):
    """The arguments of a guest; `args` are its os.Args."""

    guest_url: str = msgspec.field(name="guestURL")
    guest_config: str = msgspec.field(name="guestConfig", default="")
    log_severity: Annotated[int, msgspec.Meta(ge=0, le=3)] = msgspec.field(name="logSeverity", default=0)
    args: list[str] = []


def is_wasm(args: object) -> bool:
    """Whether the arguments of a plugin declare it to be WebAssembly."""
    return isinstance(args, Mapping) and "guestURL" in args


def wasm_entry(name: str, fetch: Fetch) -> PluginEntry:
    """Return the registry's entry of a guest."""

    def make(args: WasmArgs, handle: Handle) -> Any:
        from schedlab.scheduler.wasm.plugin import WasmPlugin

        return WasmPlugin(name, fetch(args.guest_url), args, handle)

    return PluginEntry(name, make, _decode)


def _decode(raw: Mapping[str, Any]) -> WasmArgs:
    # Go's name of the field has no tag, and its decoder does not mind the case.
    renamed = {"args" if key == "Args" else key: value for key, value in raw.items()}
    decoded: WasmArgs = decode_args(renamed, WasmArgs)
    return decoded
