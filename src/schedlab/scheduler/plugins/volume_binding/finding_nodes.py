"""Whether the claims of a pod get their volumes, asked of all nodes at once: the array form of `finding`.

Every step has a mask of the nodes it is still about (`open`), since a node is done with its first fault.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from schedlab.api.rules import csi_migration
from schedlab.api.rules.csi_migration import TranslationError
from schedlab.api.rules.volumes import (
    SELECTED_NODE,
    claim_class,
    could_serve,
    is_bound_to,
    is_free_for,
    storage_capacity,
    terms_of_reach,
)
from schedlab.apimachinery.selectors import selector_from_view
from schedlab.scheduler.framework.node_masks import any_term_mask, selector_mask
from schedlab.scheduler.framework.status import NodeStatuses, Status
from schedlab.scheduler.plugins.volume_binding.finding import (
    REASON_BIND_CONFLICT,
    REASON_NODE_CONFLICT,
    REASON_NOT_ENOUGH_SPACE,
    REASON_VOLUME_MISSING,
    by_size,
    fitting_capacities,
    migrated_plugin,
    not_translated,
    provisioning_class,
    rejection,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from schedlab.api.rules.csi_migration import InTreePlugin
    from schedlab.api.views.storage import (
        PersistentVolume,
        PersistentVolumeClaim,
        StorageClass,
        TopologySelectorTerm,
        VolumeNodeAffinity,
    )
    from schedlab.scheduler.framework.node_table import NodeTable
    from schedlab.scheduler.plugins.volume_binding.claims import PodClaims, Storage


def find_on_nodes(storage: Storage, claims: PodClaims, table: NodeTable) -> NodeStatuses:
    """Return what `find_pod_volumes` would say of each of the N nodes."""
    return _Search(storage, claims, table).statuses()


class _Search:
    """faults: bool[N] by reason, the nodes that have it. taken: bool[N] by volume, where a claim of the pod has it."""

    def __init__(self, storage: Storage, claims: PodClaims, table: NodeTable) -> None:
        self._storage = storage
        self._claims = claims
        self._table = table
        self._size = len(table)
        self._result = NodeStatuses.success(self._size)
        self._faults: dict[str, NDArray[np.bool_]] = {}
        self._taken: dict[str, NDArray[np.bool_]] = {}
        self._reaches: dict[VolumeNodeAffinity, NDArray[np.bool_]] = {}

    def statuses(self) -> NodeStatuses:
        """Return the verdicts."""
        self._check_bound()
        # A rejection by bound claims does not end the search for the others; an error does, and so it stands.
        self._find_for_waiting()
        reasons = tuple(self._faults)
        if reasons:
            pattern = sum(self._faults[reason].astype(np.int64) << bit for bit, reason in enumerate(reasons))
            for bits in np.unique(pattern).tolist():
                if bits:
                    faults = (reason for bit, reason in enumerate(reasons) if bits >> bit & 1)
                    self._result.reject(pattern == bits, rejection(*faults))
        return self._result

    def _add_fault(self, reason: str | Status, mask: NDArray[np.bool_]) -> None:
        if isinstance(reason, Status):
            self._result.reject(mask, reason)
        elif reason in self._faults:
            self._faults[reason] |= mask
        else:
            self._faults[reason] = mask.copy()

    def _all(self) -> NDArray[np.bool_]:
        return np.ones(self._size, np.bool_)

    # --- Claims that have their volumes ---

    def _check_bound(self) -> None:
        open_nodes = self._all()
        for claim in self._claims.bound:
            volume = self._storage.volumes.get(claim.spec.volume_name)
            if volume is None:
                self._add_fault(REASON_VOLUME_MISSING, open_nodes)
                return
            reached = self._reach_of_bound(volume, open_nodes)
            self._add_fault(REASON_NODE_CONFLICT, open_nodes & ~reached)
            open_nodes &= reached

    def _reach_of_bound(self, volume: PersistentVolume, open_nodes: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return bool[N]: the nodes that reach a volume, as its CSI driver has it where that has taken over."""
        reached = self._reach(volume)
        plugin = migrated_plugin(volume)
        if plugin is None:
            return reached
        migrated = self._migrated(plugin)
        try:
            as_csi = csi_migration.as_csi(volume)
        except TranslationError as fault:
            self._add_fault(not_translated(fault), open_nodes & migrated)
            open_nodes &= ~migrated
            return reached & ~migrated
        return np.where(migrated, self._reach(as_csi), reached)

    def _migrated(self, plugin: InTreePlugin) -> NDArray[np.bool_]:
        """Return bool[N]: the nodes that leave the volumes of a built-in driver to its CSI driver."""
        csi_nodes = map(self._storage.csi_nodes.get, self._table.names)
        return np.array([csi_migration.is_migrated_on(plugin, node) for node in csi_nodes], np.bool_)

    def _reach(self, volume: PersistentVolume) -> NDArray[np.bool_]:
        """Return bool[N]: the nodes whose labels meet a volume's node affinity."""
        affinity = volume.spec.node_affinity
        if affinity is None or affinity.required is None:
            return self._all()
        found = self._reaches.get(affinity)
        if found is None:
            found = self._reaches[affinity] = any_term_mask(self._table, terms_of_reach(affinity.required))
        return found

    # --- Claims that wait ---

    def _find_for_waiting(self) -> None:
        # Where a bound claim led to an error nothing else is asked.
        open_nodes = self._result.code == 0
        to_match, to_provision = [], []
        for claim in self._claims.waiting:
            selected = claim.metadata.annotations.get(SELECTED_NODE)
            if selected is None:
                to_match.append(claim)
            else:
                here = np.zeros(self._size, np.bool_)
                if (row := self._table.row_of.get(selected)) is not None:
                    here[row] = True
                self._add_fault(REASON_BIND_CONFLICT, open_nodes & ~here)
                open_nodes &= here
                to_provision.append(claim)
        todo = [(claim, self._all()) for claim in to_provision]
        todo += [(claim, self._unmatched(claim, open_nodes)) for claim in by_size(to_match)]
        for claim, mask in todo:
            open_nodes &= self._provision(claim, mask & open_nodes) | ~mask

    def _unmatched(self, claim: PersistentVolumeClaim, open_nodes: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Give the claim a volume wherever there is one; return bool[N], the open nodes where there is none."""
        wanting, unmatched = open_nodes.copy(), np.zeros(self._size, np.bool_)
        volumes = [volume for volume in self._claims.volumes[claim_class(claim)] if could_serve(claim, volume)]
        for volume in volumes:
            if is_bound_to(volume, claim):
                # Meant for the claim: where it is not to be had the claim gets no other one.
                deciding = wanting & ~self._taken_mask(volume)
                self._take(volume, deciding & self._reach(volume))
                unmatched |= deciding & ~self._reach(volume)
                wanting &= ~deciding
        free = [v for v in volumes if not is_bound_to(v, claim) and is_free_for(claim, v)]
        for volume in sorted(free, key=storage_capacity):
            if not wanting.any():
                break
            got = wanting & ~self._taken_mask(volume) & self._reach(volume)
            self._take(volume, got)
            wanting &= ~got
        return unmatched | wanting

    def _taken_mask(self, volume: PersistentVolume) -> NDArray[np.bool_]:
        return self._taken.setdefault(volume.metadata.name, np.zeros(self._size, np.bool_))

    def _take(self, volume: PersistentVolume, mask: NDArray[np.bool_]) -> None:
        self._taken[volume.metadata.name] |= mask

    def _provision(self, claim: PersistentVolumeClaim, mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return bool[N]: those nodes of the mask where a volume can be made for the claim."""
        if not mask.any():
            return mask
        storage_class = provisioning_class(self._storage, claim)
        if isinstance(storage_class, str | Status):
            self._add_fault(storage_class, mask)
            return np.zeros(self._size, np.bool_)
        allowed = mask & self._topology(storage_class.allowed_topologies)
        self._add_fault(REASON_BIND_CONFLICT, mask & ~allowed)
        roomy = allowed & self._room(claim, storage_class)
        self._add_fault(REASON_NOT_ENOUGH_SPACE, allowed & ~roomy)
        return roomy

    def _topology(self, terms: Sequence[TopologySelectorTerm]) -> NDArray[np.bool_]:
        mask = np.zeros(self._size, np.bool_) if terms else self._all()
        for term in terms:
            matched = np.full(self._size, bool(term.match_label_expressions))
            for expression in term.match_label_expressions:
                column = self._table.label(expression.key)
                known = [found for value in expression.values if (found := column.values.find(value)) >= 0]
                matched &= np.isin(column.ids, known)
            mask |= matched
        return mask

    def _room(self, claim: PersistentVolumeClaim, storage_class: StorageClass) -> NDArray[np.bool_]:
        capacities = fitting_capacities(self._storage, claim, storage_class)
        if capacities is None:
            return self._all()
        mask = np.zeros(self._size, np.bool_)
        for capacity in capacities:
            mask |= selector_mask(self._table, selector_from_view(capacity.node_topology))
        return mask
