"""Guests: a compiled module, and instances of it that are called.

Mirrors: scheduler/plugin/{runtime,guest}.go of kube-scheduler-wasm-extension.
Differs: imports that nobody offers are refused when the plugin is made, and so is a module that needs more than the ABI
and WASI; an instance that trapped is not used again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

try:
    import wasmtime
except ModuleNotFoundError as error:
    raise ValueError(
        "wasm: WebAssembly plugins need wasmtime, which is not installed: pip install 'schedlab[wasm]'"
    ) from error

from schedlab.scheduler.wasm import wasi
from schedlab.scheduler.wasm.host import Host
from schedlab.scheduler.wasm.memory import GuestError, GuestMemory
from schedlab.scheduler.wasm.wasi import GuestExit, Wasi

if TYPE_CHECKING:
    from schedlab.scheduler.wasm.call import Call

_MEMORY: Final = "memory"
# What each function that a guest may export returns; none takes parameters.
EXPORTS: Final[Mapping[str, tuple[str, ...]]] = {
    "enqueue": (),
    "prefilter": ("i32",),
    "filter": ("i32",),
    "postfilter": ("i64",),
    "prescore": ("i32",),
    "score": ("i64",),
    "normalizescore": ("i32",),
    "reserve": ("i32",),
    "unreserve": (),
    "permit": ("i64",),
    "prebind": ("i32",),
    "bind": ("i32",),
    "postbind": (),
    "addpod": ("i32",),
    "removepod": ("i32",),
}


class GuestModule:
    """A guest's code, checked and joined to the host functions; raises ValueError when it cannot be used."""

    def __init__(self, binary: bytes, host: Host, system: Wasi) -> None:
        self._host = host
        self._system = system
        self._engine = wasmtime.Engine(_deterministic())
        try:
            self._module = wasmtime.Module(self._engine, binary)
        except wasmtime.WasmtimeError as error:
            raise ValueError(f"wasm: error compiling guest: {_last_line(error)}") from error
        self.exports = self._check_exports()
        self._linker = self._link()

    def _check_exports(self) -> tuple[str, ...]:
        found = {export.name: export.type for export in self._module.exports}
        if not isinstance(found.get(_MEMORY), wasmtime.MemoryType):
            raise ValueError(f"wasm: guest doesn't export memory[{_MEMORY}]")  # noqa: TRY004 - what the registry expects
        functions = [name for name in EXPORTS if isinstance(found.get(name), wasmtime.FuncType)]
        for name in functions:
            signature = found[name]
            assert isinstance(signature, wasmtime.FuncType)
            results = tuple(str(result) for result in signature.results)
            if signature.params or results != EXPORTS[name]:
                raise ValueError(
                    f"wasm: guest exports the wrong signature for func[{name}]. "
                    f"should be () -> ({', '.join(EXPORTS[name])})"
                )
        if not functions:
            raise ValueError("wasm: guest does not export any plugin functions")
        return tuple(functions)

    def _link(self) -> wasmtime.Linker:
        linker = wasmtime.Linker(self._engine)
        known = self._host.functions()
        for wanted in self._module.imports:
            module, name, signature = wanted.module, wanted.name or "", wanted.type
            function = known.get((module, name))
            if function is None and module == wasi.MODULE:
                function = self._system.function(name)
            if function is None or not isinstance(signature, wasmtime.FuncType):
                raise ValueError(f"wasm: guest imports {module}.{name}, which the scheduler does not offer")
            linker.define_func(module, name, signature, _with_memory(function), access_caller=True)
        return linker

    def instance(self) -> Guest:
        """Return a new instance that has run its start function; raises ValueError when that fails."""
        store = wasmtime.Store(self._engine)
        self._system.output.clear()
        try:
            exports = self._linker.instantiate(store, self._module).exports(store)
            self._start(store, exports)
        except (wasmtime.WasmtimeError, wasmtime.Trap, GuestError) as error:
            raise ValueError(self.failure("instantiate", error)) from error
        return Guest(self, store, exports)

    @staticmethod
    def _start(store: wasmtime.Store, exports: Any) -> None:
        start = exports.get("_start") or exports.get("_initialize")
        if not isinstance(start, wasmtime.Func):
            return
        try:
            start(store)
        except GuestExit as end:
            if end.code:
                raise

    def begin(self, call: Call) -> None:
        """Let host functions know which call is under way."""
        self._host.call = call
        self._system.output.clear()

    def failure(self, function: str, error: Exception) -> str:
        """Return what went wrong in a guest's function, and what the guest printed."""
        printed = self._system.output.decode(errors="replace").strip()
        return (
            f"wasm: {function} error: {printed}\n{_last_line(error)}"
            if printed
            else f"wasm: {function} error: {_last_line(error)}"
        )


class Guest:
    """An instance; it has a memory of its own, which lasts from call to call."""

    def __init__(self, module: GuestModule, store: wasmtime.Store, exports: Any) -> None:
        self._module = module
        self._store = store
        self._exports = exports
        self.is_broken = False

    def run(self, function: str, call: Call) -> int:
        """Call an exported function and return its number; raises GuestError when it fails."""
        self._module.begin(call)
        try:
            return self._exports[function](self._store) or 0
        except (wasmtime.WasmtimeError, wasmtime.Trap, GuestError) as error:
            self.is_broken = True
            raise GuestError(self._module.failure(function, error)) from error


def _with_memory(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(caller: wasmtime.Caller, *parameters: Any) -> Any:
        memory = caller[_MEMORY]
        assert isinstance(memory, wasmtime.Memory)
        return function(GuestMemory(caller, memory), *parameters)

    return call


def _deterministic() -> wasmtime.Config:
    """The same on every machine: one bit pattern for NaN, nothing that may differ between processors."""
    config = wasmtime.Config()
    config.cranelift_nan_canonicalization = True
    config.wasm_relaxed_simd_deterministic = True
    config.wasm_threads = False
    return config


def _last_line(error: Exception) -> str:
    """Return the cause of an error; the lines before it are addresses in the guest's code."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__
