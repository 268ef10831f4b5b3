"""Guests as WebAssembly text, and a cluster that runs one."""

from __future__ import annotations

from typing import Any

import wasmtime

from schedlab.scheduler.framework.interface import PluginEntry
from schedlab.scheduler.wasm import wasm_entry
from schedlab.testing.builders import make_node
from tests.unit.scheduler.fake_cluster import BASIC_PLUGINS, FakeCluster, configuration, profile

# Reads a node from the host's protobuf and lets only nodes with the label disk=ssd pass.
#
# The memory: 0 what the guest says and compares with, 1024 the name of the node, 8192 the node.
LABEL_FILTER = """
(module
  (import "k8s.io/scheduler" "currentNodeName" (func $name (param i32 i32) (result i32)))
  (import "k8s.io/api" "node" (func $node (param i32 i32 i32 i32) (result i32)))
  (import "k8s.io/scheduler" "result.status_reason" (func $reason (param i32 i32)))
  (memory (export "memory") 2)
  (data (i32.const 0) "diskssdnode(s) without an ssd")
  (global $at (mut i32) (i32.const 0))

  (func $byte (result i32)
    (i32.load8_u (global.get $at))
    (global.set $at (i32.add (global.get $at) (i32.const 1))))

  (func $varint (result i32) (local $byte i32) (local $shift i32) (local $value i32)
    (loop $more
      (local.set $byte (call $byte))
      (local.set $value (i32.or (local.get $value)
        (i32.shl (i32.and (local.get $byte) (i32.const 127)) (local.get $shift))))
      (local.set $shift (i32.add (local.get $shift) (i32.const 7)))
      (br_if $more (i32.ge_u (local.get $byte) (i32.const 128))))
    (local.get $value))

  ;; Go to the next length-delimited field of a number; return where it ends, or 0 when there is none.
  (func $enter (param $end i32) (param $field i32) (result i32) (local $key i32) (local $wire i32) (local $size i32)
    (loop $next
      (if (i32.ge_u (global.get $at) (local.get $end)) (then (return (i32.const 0))))
      (local.set $key (call $varint))
      (local.set $wire (i32.and (local.get $key) (i32.const 7)))
      (if (i32.eq (local.get $wire) (i32.const 2)) (then
        (local.set $size (call $varint))
        (if (i32.eq (i32.shr_u (local.get $key) (i32.const 3)) (local.get $field))
          (then (return (i32.add (global.get $at) (local.get $size)))))
        (global.set $at (i32.add (global.get $at) (local.get $size)))
        (br $next)))
      (if (i32.eqz (local.get $wire)) (then (drop (call $varint)) (br $next)))
      (global.set $at (i32.add (global.get $at)
        (select (i32.const 8) (i32.const 4) (i32.eq (local.get $wire) (i32.const 1)))))
      (br $next))
    (unreachable))

  ;; Whether the field from $at to $end is the text of that size at $text.
  (func $is (param $end i32) (param $text i32) (param $size i32) (result i32) (local $i i32)
    (if (i32.ne (i32.sub (local.get $end) (global.get $at)) (local.get $size)) (then (return (i32.const 0))))
    (loop $next
      (if (i32.eq (local.get $i) (local.get $size)) (then (return (i32.const 1))))
      (if (i32.ne (i32.load8_u (i32.add (global.get $at) (local.get $i)))
                  (i32.load8_u (i32.add (local.get $text) (local.get $i)))) (then (return (i32.const 0))))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br $next))
    (unreachable))

  (func (export "filter") (result i32) (local $meta i32) (local $entry i32) (local $key i32) (local $value i32)
    (global.set $at (i32.const 8192))
    (local.set $meta (call $enter
      (i32.add (i32.const 8192)
        (call $node (i32.const 1024) (call $name (i32.const 1024) (i32.const 1024)) (i32.const 8192) (i32.const 65536)))
      (i32.const 1)))
    (loop $labels
      (local.set $entry (call $enter (local.get $meta) (i32.const 11)))
      (if (local.get $entry) (then
        (local.set $key (call $enter (local.get $entry) (i32.const 1)))
        (if (call $is (local.get $key) (i32.const 0) (i32.const 4)) (then
          (global.set $at (local.get $key))
          (local.set $value (call $enter (local.get $entry) (i32.const 2)))
          (if (call $is (local.get $value) (i32.const 4) (i32.const 3)) (then (return (i32.const 0))))))
        (global.set $at (local.get $entry))
        (br $labels))))
    (call $reason (i32.const 7) (i32.const 22))
    (i32.const 2)))
"""


def function(export: str, result: str = "", body: str = "") -> str:
    """Return an exported function."""
    return f'(func (export "{export}") {f"(result {result})" if result else ""} {body})'


def wat(*functions: str, imports: str = "", data: str = "") -> str:
    """Return a module with a memory and these functions."""
    return f'(module {imports} (memory (export "memory") 1) {data} {" ".join(functions)})'


def echo(export: str, module: str, asks: str, *others: str, result: str = "i32") -> str:
    """Return a guest that gives what it is told by one host function back as the reason of an error."""
    tell = f"(call $tell (i32.const 1024) (call $ask (i32.const 1024) (i32.const 60000))) ({result}.const 1)"
    return wat(
        function(export, result, tell),
        *others,
        imports=f'(import "{module}" "{asks}" (func $ask (param i32 i32) (result i32))) '
        '(import "k8s.io/scheduler" "result.status_reason" (func $tell (param i32 i32)))',
    )


def compiled(text: str) -> bytes:
    return bytes(wasmtime.wat2wasm(text))


def entry(text: str, name: str = "Guest") -> PluginEntry:
    """Return the registry's entry of a guest; its guestURL does not matter."""
    return wasm_entry(name, lambda _url: compiled(text))


def cluster_of(text: str, *, plugins: tuple[str, ...] = BASIC_PLUGINS, first: bool = False, **args: Any) -> FakeCluster:
    """Return a cluster of two nodes, n1 with a hard disk and n2 with an ssd, whose scheduler runs the guest."""
    names = ("Guest", *plugins) if first else (*plugins, "Guest")
    config = profile(*names, pluginConfig=[{"name": "Guest", "args": {"guestURL": "file:///guest.wasm", **args}}])
    cluster = FakeCluster(configuration(config), registry={"Guest": entry(text)})
    cluster.add(
        make_node("n1").capacity(cpu="4", pods="9").label("disk", "hdd"),
        make_node("n2").capacity(cpu="4", pods="9").label("disk", "ssd"),
    )
    return cluster
