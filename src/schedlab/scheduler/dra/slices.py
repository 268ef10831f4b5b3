"""Slices of devices, prepared once per version, and the pools they make up as one node sees them.

Mirrors: staging/src/k8s.io/dynamic-resource-allocation/structured/internal/incubating/pools_incubating.go (v1.36).
Differs: pools are kept per node until a slice or the node changes; a selector of nodes that cannot be parsed is named
by its error only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from schedlab.api.rules.device_selectors import DeviceFacts, compile_selector, device_matches
from schedlab.api.rules.node_affinity import parse_node_selector
from schedlab.apimachinery.field import aggregate
from schedlab.apimachinery.quantity import parse_cached
from schedlab.scheduler.dra.types import Amounts, DeviceID, PoolID, parse_amounts

if TYPE_CHECKING:
    from schedlab.api.rules.node_affinity import ParsedNodeSelector
    from schedlab.api.views.core import Node, NodeSelector
    from schedlab.api.views.resource import Device, ResourceSlice


class NodeSelectionError(Exception):
    """It cannot be said which nodes a slice or device is for."""


class NodeChoice:
    """Which nodes something is for: one by name, all, or those of a selector; nothing said is none."""

    def __init__(self, node_name: str | None, *, all_nodes: bool, selector: NodeSelector | None) -> None:
        self._node_name = node_name
        self._all_nodes = all_nodes
        self._selector = selector
        self._parsed: ParsedNodeSelector | None = None

    def __bool__(self) -> bool:
        return bool(self._node_name) or self._all_nodes or self._selector is not None

    def matches(self, node: Node) -> bool:
        """Whether the node is one of them."""
        if self._node_name:
            return node.metadata.name == self._node_name
        if self._all_nodes:
            return True
        if self._selector is None:
            return False
        if self._parsed is None:
            self._parsed = parse_node_selector(self._selector)
        if self._parsed.errors:
            raise NodeSelectionError(f"failed to parse node selector: {aggregate(self._parsed.errors)}")
        return self._parsed.matches(node)


class SliceDevice:
    """A device with everything parsed that the search asks for."""

    __slots__ = ("_facts", "_verdicts", "consumed_counters", "device", "id", "is_taken_whole", "nodes", "slice")

    def __init__(self, owner: Slice, device: Device) -> None:
        spec = owner.view.spec
        self.slice = owner
        self.device = device
        self.id = DeviceID(spec.driver, spec.pool.name, device.name)
        self.nodes = NodeChoice(device.node_name, all_nodes=device.all_nodes, selector=device.node_selector)
        # Whoever asks for no capacity can have all of it.
        self.is_taken_whole = not device.allow_multiple_allocations and not any(
            each.request_policy for each in device.capacity.values()
        )
        self.consumed_counters = tuple(
            (each.counter_set, {name: parse_cached(counter.value) for name, counter in each.counters.items()})
            for each in device.consumes_counters
        )
        self._facts = DeviceFacts(spec.driver, device)
        self._verdicts: dict[str, bool] = {}

    def is_for(self, node: Node) -> bool:
        """Whether a node that the slice is for can use the device; raises NodeSelectionError."""
        return not self.slice.is_per_device or self.nodes.matches(node)

    def matches(self, expression: str) -> bool:
        """Whether a selector that compiles holds for the device; CelError when it cannot be said."""
        verdict = self._verdicts.get(expression)
        if verdict is None:
            verdict = self._verdicts[expression] = device_matches(compile_selector(expression), self._facts)
        return verdict


class Slice:
    """One version of a slice."""

    __slots__ = ("counter_sets", "devices", "name", "nodes", "pool", "view")

    def __init__(self, view: ResourceSlice) -> None:
        spec = view.spec
        self.view = view
        self.name = view.metadata.name
        self.pool = PoolID(spec.driver, spec.pool.name)
        self.nodes = NodeChoice(spec.node_name, all_nodes=spec.all_nodes, selector=spec.node_selector)
        self.devices = tuple(SliceDevice(self, device) for device in spec.devices)
        self.counter_sets: tuple[tuple[str, Amounts], ...] = tuple(
            (each.name, parse_amounts({name: counter.value for name, counter in each.counters.items()}))
            for each in spec.shared_counters
        )

    @property
    def generation(self) -> int:
        return self.view.spec.pool.generation

    @property
    def is_per_device(self) -> bool:
        """Whether each of its devices says for which nodes it is."""
        return bool(self.view.spec.per_device_node_selection)

    def is_for(self, node: Node) -> bool:
        """Whether the node can use devices of the slice, or needs its counters to use others."""
        if self.counter_sets:
            return True
        try:
            if self.nodes:
                return self.nodes.matches(node)
        except NodeSelectionError as error:
            raise NodeSelectionError(f"failed to perform node selection for slice {self.name}: {error}") from None
        return self.is_per_device and any(self._device_is_for(device, node) for device in self.devices)

    def _device_is_for(self, device: SliceDevice, node: Node) -> bool:
        try:
            return device.nodes.matches(node)
        except NodeSelectionError as error:
            text = f"failed to perform node selection for device {device.device.name} in slice {self.name}: {error}"
            raise NodeSelectionError(text) from None


@dataclass(slots=True)
class Pool:
    """A pool as a node sees it: slices with devices for the node, and the others, whose devices may use counters."""

    id: PoolID
    is_incomplete: bool = False
    invalid_reason: str = ""
    slices: tuple[Slice, ...] = ()
    other_slices: tuple[Slice, ...] = ()
    counter_sets: dict[str, Amounts] = field(default_factory=dict)
    device_count: int = field(init=False)
    #: Whether every device is for every node of its slice, and whoever has one has all of it and nothing else.
    is_plain: bool = field(init=False)

    def __post_init__(self) -> None:
        self.device_count = sum(len(each.devices) for each in self.slices)
        self.is_plain = not any(
            each.is_per_device or any(device.consumed_counters or not device.is_taken_whole for device in each.devices)
            for each in self.slices
        )

    @property
    def is_usable(self) -> bool:
        return not self.is_incomplete and not self.invalid_reason

    @property
    def has_binding_conditions(self) -> bool:
        return any(device.device.binding_conditions for each in self.slices for device in each.devices)


class Slices:
    """All slices. `with_counters` says whether devices may share counters and be for nodes of their own."""

    def __init__(self, *, with_counters: bool) -> None:
        self._with_counters = with_counters
        self._all: dict[str, Slice] = {}
        self._on_node: dict[str, dict[str, Slice]] = {}
        self._shared: dict[str, Slice] = {}
        self._by_pool: dict[PoolID, dict[str, Slice]] = {}
        self._pools: dict[str, tuple[Node, tuple[Pool, ...]]] = {}

    def observe(self, old: ResourceSlice | None, new: ResourceSlice | None) -> None:
        """Take a change of a slice."""
        self._pools.clear()
        name = (new or old).metadata.name  # type: ignore[union-attr]  # one of them is there
        known = self._all.pop(name, None)
        if known is not None:
            self._place(known).pop(name)
            self._by_pool[known.pool].pop(name)
        if new is not None:
            made = Slice(new)
            self._all[name] = self._place(made)[name] = made
            self._by_pool.setdefault(made.pool, {})[name] = made

    def _place(self, one: Slice) -> dict[str, Slice]:
        node_name = one.view.spec.node_name
        if node_name and not one.counter_sets:
            return self._on_node.setdefault(node_name, {})
        return self._shared

    def pools_for(self, node: Node) -> tuple[Pool, ...]:
        """Return the pools with devices for a node, in the order of the search; raises NodeSelectionError."""
        name = node.metadata.name
        cached = self._pools.get(name)
        if cached is None or cached[0] is not node:
            cached = self._pools[name] = node, self._gather(node)
        return cached[1]

    def _gather(self, node: Node) -> tuple[Pool, ...]:
        found: dict[PoolID, list[Slice]] = {}
        local = self._on_node.get(node.metadata.name, {})
        for one in (*local.values(), *self._shared.values()):
            if not self._with_counters and (one.view.spec.per_device_node_selection is not None or one.counter_sets):
                continue
            if one.is_for(node):
                _add(found, one)
        pools = [pool for key in sorted(found) if (pool := self._pool(key, found[key])) is not None]
        # Devices that still have to be attached are the last choice.
        return tuple(sorted(pools, key=lambda pool: pool.has_binding_conditions))

    def _pool(self, key: PoolID, slices: list[Slice]) -> Pool | None:
        """Return the pool of these slices; None when the slices are of an old generation."""
        wanted, generation = slices[0].view.spec.pool.resource_slice_count, slices[0].generation
        if len(slices) == wanted:
            return self._build(key, slices, slices)
        # Slices for other nodes count, too, when it comes to having all of them.
        every = self._by_pool[key].values()
        if any(each.generation > generation for each in every):
            return None
        current = [each for each in every if each.generation == generation]
        if len(current) != wanted:
            return Pool(key, is_incomplete=True)
        return self._build(key, slices, current)

    def _build(self, key: PoolID, slices: list[Slice], every: Sequence[Slice]) -> Pool:
        ordered = sorted(slices, key=lambda each: each.name)
        if not self._with_counters:
            reason = _duplicate_device(ordered)
            return Pool(key, invalid_reason=reason) if reason else Pool(key, slices=tuple(ordered))
        with_devices = tuple(each for each in ordered if not each.counter_sets)
        counter_sets: dict[str, Amounts] = {}
        reason = _duplicate_device(with_devices) or _collect_counters(ordered, counter_sets)
        others = tuple(each for each in every if each not in slices)
        reason = reason or _unknown_counter(ordered, counter_sets) or _unknown_counter(others, counter_sets)
        if reason:
            return Pool(key, invalid_reason=reason)
        return Pool(key, slices=with_devices, other_slices=others, counter_sets=counter_sets)

    def copy(self) -> Slices:
        """Return an independent copy; prepared slices are shared."""
        other = Slices(with_counters=self._with_counters)
        other._all, other._shared = dict(self._all), dict(self._shared)
        other._on_node = {name: dict(slices) for name, slices in self._on_node.items()}
        other._by_pool = {key: dict(slices) for key, slices in self._by_pool.items()}
        return other


def _add(found: dict[PoolID, list[Slice]], one: Slice) -> None:
    """Add a slice to its pool, in which only the newest generation stays."""
    slices = found.get(one.pool)
    if slices is None or one.generation > slices[0].generation:
        found[one.pool] = [one]
    elif one.generation == slices[0].generation:
        slices.append(one)


def _duplicate_device(slices: Iterable[Slice]) -> str:
    names: dict[str, None] = {}
    for one in slices:
        for each in one.devices:
            if each.device.name in names:
                return f"duplicate device name {each.device.name}"
            names[each.device.name] = None
    return ""


def _collect_counters(slices: Iterable[Slice], counter_sets: dict[str, Amounts]) -> str:
    for one in slices:
        for name, counters in one.counter_sets:
            if name in counter_sets:
                return f"duplicate counter set name {name}"
            counter_sets[name] = counters
    return ""


def _unknown_counter(slices: Iterable[Slice], counter_sets: dict[str, Amounts]) -> str:
    for one in slices:
        for device in one.devices:
            for name, counters in device.consumed_counters:
                if name not in counter_sets:
                    return f"counter set {name} not found"
                for counter in counters:
                    if counter not in counter_sets[name]:
                        return f"counter {counter} not found in counter set {name}"
    return ""
