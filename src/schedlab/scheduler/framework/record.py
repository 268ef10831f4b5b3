"""What an observer hears of the scheduler: everything about each attempt, as arrays and codes.

The scheduler calls an injected observer (decisions, the parity runner); with none the cost is one `if`. Arrays belong to
the observer once handed over. Rows are rows of the node table at that moment; `node_names` is shared while the table
does not reorder, so an observer can keep it by reference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, Protocol, overload

import msgspec
import numpy as np

from schedlab.apimachinery.names import check_qualified_name

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from schedlab.scheduler.framework.events import ClusterEvent
    from schedlab.scheduler.framework.interface import CycleState
    from schedlab.scheduler.framework.status import Status
    from schedlab.scheduler.framework.types import PodInfo

Result = Literal["scheduled", "unschedulable", "error"]
PASSED = -1
#: In place of an array that is worked out later.
NOTHING: Final[Any] = None
# Keys under which plugins leave something for the record in the cycle state.
PREEMPTION_RECORD = "record/preemption"
CUSTOM_RESULTS = "record/custom"


def add_custom_result(state: CycleState, key: str, value: str) -> None:
    """Leave a result of a plugin (or hook) for the pod's record; it ends up as the annotation `key` of the pod.

    A later result of the same attempt under the same key replaces it; results of copies of the state (dry runs) count
    for nothing. Raises ValueError when the key cannot be one of an annotation.
    """
    problems = check_qualified_name(key)
    if problems:
        raise ValueError(f"{key!r} cannot be the key of an annotation: {problems[0]}")
    if not isinstance(value, str):
        raise TypeError(f"the custom result {key} is {type(value).__name__}, not a text")
    results = state.find(CUSTOM_RESULTS)
    if results is None:
        state.write(CUSTOM_RESULTS, {key: value})
    else:
        results[key] = value


class FilterRecord(msgspec.Struct):
    """The filter phase. V nodes were visited, in order.

    plugins: filters that ran for this pod, in order. visited: int32[V] rows. failed_plugin: int8[V], index into
    `plugins` or PASSED. code: uint8[V]. reason: int32[V], ids of REASONS.
    The first `nominated_first` entries were tried before the search because the pod was nominated (or hinted) there.
    second_pass: bool[V]: the node passed with nominated pods counted in and failed without them (so that plugins after
    the failed one had passed already).
    full_code, full_reason: [P, N] verdicts of every plugin on every node of the table (row order, nominated pods left
    out), only in full mode, else None. Attempts that follow each other share them: on changed_rows: int32[K] those in
    changed_code, changed_reason: [P, K] count in their place. `every_verdict` puts the two together.
    follows: failed_plugin, code and reason are what these say of the nodes visited, and the nodes that passed all filters
    are the first of those where nobody objects. Then it may be without failed_plugin, code and reason, which are None.
    texts: what keeps the texts of reasons known, see ReasonTable.
    """

    plugins: tuple[str, ...]
    visited: NDArray[np.int32]
    failed_plugin: NDArray[np.int8]
    code: NDArray[np.uint8]
    reason: NDArray[np.int32]
    nominated_first: int = 0
    second_pass: NDArray[np.bool_] | None = None
    full_code: NDArray[np.uint8] | None = None
    full_reason: NDArray[np.int32] | None = None
    changed_rows: NDArray[np.int32] | None = None
    changed_code: NDArray[np.uint8] | None = None
    changed_reason: NDArray[np.int32] | None = None
    follows: bool = False
    texts: object = None

    def drop_what_follows(self) -> None:
        """Be without what follows from the verdicts on all nodes."""
        if self.follows:
            self.failed_plugin = self.code = self.reason = NOTHING

    def work_out(self) -> None:
        """Be whole again."""
        if self.code is not None or self.full_code is None or self.full_reason is None:
            return
        size = len(self.visited)
        self.failed_plugin, self.code = np.full(size, PASSED, np.int8), np.zeros(size, np.uint8)
        self.reason = np.zeros(size, np.int32)
        codes = self._on_visited(self.full_code, self.changed_code)
        # The first that objects comes last, and stays.
        for place in reversed(np.flatnonzero(codes.any(axis=1)).tolist()):
            objects = codes[place] != 0
            changed = None if self.changed_reason is None else self.changed_reason[place]
            np.copyto(self.failed_plugin, place, where=objects)
            np.copyto(self.code, codes[place], where=objects)
            np.copyto(self.reason, self._on_visited(self.full_reason[place], changed), where=objects)
        self.follows = True

    def _on_visited(self, full: NDArray[Any], changed: NDArray[Any] | None) -> NDArray[Any]:
        """Return of full: [..., N] what is said of the nodes visited: [..., V]; changed: [..., K] on changed_rows."""
        found = full.take(self.visited, axis=-1)
        if changed is not None and self.changed_rows is not None:
            place_of = np.full(full.shape[-1], -1)
            place_of[self.visited] = np.arange(len(self.visited))
            places = place_of[self.changed_rows]
            found[..., places[places >= 0]] = changed[..., places >= 0]
        return found

    def every_verdict(self) -> tuple[NDArray[np.uint8], NDArray[np.int32]] | None:
        """Return code: uint8[P, N] and reason: int32[P, N] of every plugin on every node, not to be changed; None when
        not all were asked.
        """
        code, reason = self.full_code, self.full_reason
        if code is None or reason is None:
            return None
        if self.changed_rows is not None and self.changed_code is not None and self.changed_reason is not None:
            code, reason = code.copy(), reason.copy()
            code[:, self.changed_rows], reason[:, self.changed_rows] = self.changed_code, self.changed_reason
        return code, reason


class ScoreRecord(msgspec.Struct):
    """The score phase over F feasible nodes and S plugins.

    rows: int32[F]. raw, final: int64[S, F] (final = normalised x weight). total: int64[F] including extenders.
    Not `complete` when a plugin failed: then rows holds the first node only, plugins end with the one that failed,
    final is raw x weight, and total means nothing.
    offsets: set when the total is the sum of final, and scores of plugins that have an offset follow from raw, which is
    0 to 100 then: final is raw x weight + offset.
    With offsets it may be without what follows: then total is None, raw: int8 has the plugins with an offset alone, and
    final those without, raw scores above final ones, or is None.
    """

    plugins: tuple[str, ...]
    weights: tuple[int, ...]
    rows: NDArray[np.int32]
    raw: NDArray[np.int64]
    final: NDArray[np.int64]
    total: NDArray[np.int64]
    complete: bool = True
    offsets: tuple[int | None, ...] | None = None

    def drop_what_follows(self) -> None:
        """Be without what follows."""
        if self.offsets is None or self.total is None:
            return
        known, others = _by_offset(self.offsets)
        raw, kept = self.raw, NOTHING
        if len(others):
            raw, kept = raw.take(known, 0), np.concatenate((raw.take(others, 0), self.final.take(others, 0)))
        self.raw, self.final, self.total = raw.astype(np.int8), kept, NOTHING

    def work_out(self) -> None:
        """Be whole again."""
        if self.offsets is None or self.total is not None:
            return
        known, others = _by_offset(self.offsets)
        kept, count = self.final, len(others)
        of_known, self.raw = self.raw, np.empty((len(self.offsets), self.raw.shape[1]), np.int64)
        self.raw[known] = of_known
        if count:
            self.raw[others] = kept[:count]
        weights, offsets = np.array((self.weights, [offset or 0 for offset in self.offsets]), np.int64)
        self.final = self.raw * weights.reshape(-1, 1) + offsets.reshape(-1, 1)
        if count:
            self.final[others] = kept[count:]
        self.total = self.final.sum(axis=0)


@lru_cache(maxsize=64)
def _by_offset(offsets: tuple[int | None, ...]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the places of plugins with an offset, and of those without."""
    is_known = np.array([offset is not None for offset in offsets], np.bool_)
    return np.flatnonzero(is_known), np.flatnonzero(~is_known)


class NodeNames(Sequence[str]):
    """The names of rows: int32[M] of a table, made when they are asked for; `names` are those of all rows."""

    __slots__ = ("_names", "_rows")

    def __init__(self, names: Sequence[str], rows: NDArray[np.int64]) -> None:
        self._names, self._rows = names, rows.astype(np.int32)

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, at: int) -> str: ...

    @overload
    def __getitem__(self, at: slice) -> Sequence[str]: ...

    def __getitem__(self, at: int | slice) -> str | Sequence[str]:
        if isinstance(at, slice):
            return [self._names[row] for row in self._rows[at].tolist()]
        return self._names[int(self._rows[at])]


# Nothing in it leads back to it, so the garbage collector need not look at it: a dry run makes hundreds.
class CandidateRecord(msgspec.Struct, gc=False):
    """A node where preemption would help; `merit` is what candidates are compared by (preemption.candidates.Merit)."""

    node: str
    victims: tuple[str, ...]
    pdb_violations: int
    merit: tuple[int, ...] = ()


class PreemptionRecord(msgspec.Struct):
    """A dry run of default preemption; `best` are the nodes equal after every tie-breaker.

    The plugin leaves it in the cycle state under PREEMPTION_RECORD when the handle says that the cycle is `observed`.
    `victims` are the pods it decided to evict, in order.
    """

    candidates: list[CandidateRecord]
    not_candidates: Mapping[str, Status]
    max_candidates: int
    best: tuple[str, ...]
    dry_run_order: Sequence[str] = ()
    victims: tuple[str, ...] = ()


class ExtenderCall(msgspec.Struct):
    """One request to an HTTP extender."""

    url_prefix: str
    verb: str
    request: Any
    response: Any
    error: str = ""


class Nomination(NamedTuple):
    """A pod that was promised a node; `waits`: the queue had it, so that it counted with what it asks for."""

    node: str
    namespace: str
    name: str
    uid: str
    waits: bool


class CycleRecord(msgspec.Struct):
    """One scheduling cycle of one pod. Phases that did not run are None or empty.

    From `revision` to `chance` is what the cycle saw, so that it can be made again (`whatif.state_at`): the revision that
    the listers had been told; how many operations there had been on the cache, which the scheduler's journal makes
    again with all its nodes, pods and assumed pods; where the search began; who was nominated; the state of the random
    source; the configuration in force. Most of it is a number, the rest is shared or empty: it costs a record about 100
    bytes and 1 us.
    """

    pod: PodInfo
    profile: str
    attempt: int
    started_ns: int
    revision: int
    node_names: Sequence[str]
    start: int = 0
    next_start: int = 0
    position: int = -1
    nominated: tuple[Nomination, ...] = ()
    chance: int = 0
    configuration: str = ""
    pre_filter: dict[str, Status | None] = {}
    pre_filter_nodes: dict[str, tuple[str, ...]] = {}
    pre_filter_status: Status | None = None
    pre_filter_result: tuple[str, ...] | None = None
    filter: FilterRecord | None = None
    passed_filters: NDArray[np.int32] | None = None
    extender_failed: dict[str, Status] = {}
    absent_nodes_status: Status | None = None
    feasible: NDArray[np.int32] | None = None
    pre_score: dict[str, Status | None] = {}
    score: ScoreRecord | None = None
    selected: str = ""
    reserve: dict[str, Status | None] = {}
    permit: dict[str, tuple[Status | None, int]] = {}
    post_filter: dict[str, tuple[Status | None, str | None, bool]] = {}
    preemption: PreemptionRecord | None = None
    victims: tuple[str, ...] = ()
    extender_calls: list[ExtenderCall] = []
    node_hint: str = ""
    result: Result = "scheduled"
    failure_reason: str = ""
    failure_message: str = ""
    unschedulable_plugins: tuple[str, ...] = ()
    pending_plugins: tuple[str, ...] = ()
    # What plugins left under CUSTOM_RESULTS.
    custom: dict[str, str] = {}

    def work_out(self) -> None:
        """Have all scores: an observer that reads them does this first."""
        if self.score is not None:
            self.score.work_out()


class BindingRecord(msgspec.Struct):
    """One binding cycle, when it ended; statuses by plugin, only of plugins that had work.

    When it failed: `error` is the message of the pod's condition, `failure_reason` its reason.
    """

    pod: PodInfo
    attempt: int
    node: str
    finished_ns: int
    pre_bind: dict[str, Status | None] = {}
    bind: dict[str, Status | None] = {}
    extender_calls: list[ExtenderCall] = []
    error: str = ""
    failure_reason: str = ""
    unschedulable_plugins: tuple[str, ...] = ()
    # What plugins left under CUSTOM_RESULTS, in this cycle and in the scheduling cycle before it.
    custom: dict[str, str] = {}


class QueueMove(msgspec.Struct, frozen=True):
    """A pod changed its place in the queue; hints are (event, plugin, hint, error) of the decision."""

    pod: PodInfo
    at_ns: int
    place: Literal["active", "backoff", "errorBackoff", "unschedulable", "gated", "inFlight", "gone"]
    reason: str
    event: ClusterEvent | None = None
    hints: tuple[tuple[str, str, str, str], ...] = ()
    gate: tuple[str, str] | None = None


class Observer(Protocol):
    """Hears of everything the scheduler decides; must not change what it is given before it owns it.

    Scores may be kept in short: who reads them calls `CycleRecord.work_out` first.
    """

    def cycle(self, record: CycleRecord) -> None:
        """A scheduling cycle ended."""

    def binding(self, record: BindingRecord) -> None:
        """A binding cycle ended."""

    def queue_move(self, move: QueueMove) -> None:
        """A pod moved in the queue."""
