"""Plugins compiled to WebAssembly, with the guest ABI of kube-scheduler-wasm-extension, run by wasmtime.

A guest exports functions named after extension points (`filter`, `score`, …) and imports host functions, through which
it asks for the pod and the nodes (protobuf) and tells its results. What a guest does depends on what it is told only:
clock and dice of the WASI functions are the scheduler's, and nothing of the machine can be reached.

wasmtime comes with the optional extra `wasm`; the modules here import it when a guest is made.

Mirrors: scheduler/plugin of sigs.k8s.io/kube-scheduler-wasm-extension.
"""

from schedlab.scheduler.wasm.args import Fetch, is_wasm, wasm_entry

__all__ = ["Fetch", "is_wasm", "wasm_entry"]
