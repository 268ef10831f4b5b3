"""What keeps attempts beyond the log's memory, and the form they are kept in.

An attempt is kept as two pieces: its head, encoded here, and its place in a block that `packing` has made of the arrays
of several attempts. The pod itself is not kept; the cluster has it as long as it is there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

import msgspec
import zstandard

from schedlab.api.views.core import Pod
from schedlab.api.views.meta import ObjectMeta
from schedlab.decisions.log import Ending
from schedlab.scheduler.framework.record import (
    CandidateRecord,
    CycleRecord,
    ExtenderCall,
    FilterRecord,
    Nomination,
    PreemptionRecord,
    Result,
    ScoreRecord,
)
from schedlab.scheduler.framework.status import Status
from schedlab.scheduler.framework.types import PodInfo

if TYPE_CHECKING:
    from schedlab.decisions.log import Attempt, Move, PodStory

Entry = tuple[int, "PodStory", "Attempt"]


class Archive(Protocol):
    """Keeps attempts in the order of their sequence numbers. Everything that is given is kept soon, not at once."""

    def next_sequence(self) -> int:
        """Return a number greater than that of any attempt that is kept."""

    def keep(self, story: PodStory, attempt: Attempt) -> None:
        """Keep an attempt whose scheduling cycle has ended."""

    def keep_end(self, attempt: Attempt) -> None:
        """Keep what is known of an attempt now that it is complete."""

    def keep_move(self, story: PodStory, move: Move) -> None:
        """Keep a pod's move in the queue."""

    def drop_moves(self, uid: str, kept: int) -> None:
        """Forget a pod's moves but for so many newest ones."""

    def story(self, uid: str) -> PodStory | None:
        """Return all that is kept of a pod."""

    def stories(self) -> Iterator[PodStory]:
        """Yield every pod that has moved in the queue with its moves alone, in the order in which they began."""

    def preemptor(self, key: str) -> Entry | None:
        """Return the newest attempt for which the pod `namespace/name` had to go."""

    def latest_uid(self, namespace: str, name: str) -> str | None:
        """Return the uid of the newest pod of that name."""

    def newest_first(self, before: int, after: int = 0) -> Iterator[Entry]:
        """Yield attempts with numbers between the two."""

    def oldest_first(self, before: int, after: int = 0) -> Iterator[Entry]:
        """Yield the same attempts from the first one on."""

    def status(self) -> dict[str, Any]:
        """Tell where and how much is kept, and what was forgotten."""


# --- Heads -----------------------------------------------------------------------------------------------------------

_NOT_KEPT: Final = ("pod", "node_names", "passed_filters", "feasible", "filter", "score")
_KEPT: Final = tuple(name for name in CycleRecord.__struct_fields__ if name not in _NOT_KEPT)


class _Filter(msgspec.Struct, array_like=True):
    plugins: tuple[str, ...]
    nominated_first: int


class _Score(msgspec.Struct, array_like=True):
    plugins: tuple[str, ...]
    weights: tuple[int, ...]
    complete: bool
    offsets: tuple[int | None, ...] | None = None


class _Preemption(msgspec.Struct, array_like=True):
    candidates: list[CandidateRecord]
    not_candidates: dict[str, Status]
    max_candidates: int
    best: tuple[str, ...]
    dry_run_order: tuple[str, ...]
    victims: tuple[str, ...]


class _Head(msgspec.Struct):
    """The fields of a CycleRecord that are kept, by name, so that a later version may have more."""

    profile: str
    attempt: int
    started_ns: int
    revision: int
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
    extender_failed: dict[str, Status] = {}
    absent_nodes_status: Status | None = None
    pre_score: dict[str, Status | None] = {}
    selected: str = ""
    reserve: dict[str, Status | None] = {}
    permit: dict[str, tuple[Status | None, int]] = {}
    post_filter: dict[str, tuple[Status | None, str | None, bool]] = {}
    preemption: _Preemption | None = None
    victims: tuple[str, ...] = ()
    extender_calls: list[ExtenderCall] = []
    node_hint: str = ""
    result: Result = "scheduled"
    failure_reason: str = ""
    failure_message: str = ""
    unschedulable_plugins: tuple[str, ...] = ()
    pending_plugins: tuple[str, ...] = ()
    custom: dict[str, str] = {}
    filter: _Filter | None = None
    score: _Score | None = None


class _End(msgspec.Struct):
    """The binding cycle of an attempt, without its pod, and from which revision on the attempt is shown."""

    complete_since: int
    node: str = ""
    finished_ns: int = 0
    pre_bind: dict[str, Status | None] = {}
    bind: dict[str, Status | None] = {}
    extender_calls: list[ExtenderCall] = []
    error: str = ""
    failure_reason: str = ""
    unschedulable_plugins: tuple[str, ...] = ()
    custom: dict[str, str] = {}
    is_bound: bool = False


_ENDS: Final = ("node", "finished_ns", *Ending._fields)
_encode: Final = msgspec.msgpack.Encoder(enc_hook=int).encode
_decode_head: Final = msgspec.msgpack.Decoder(_Head).decode
_decode_end: Final = msgspec.msgpack.Decoder(_End).decode


def encode_head(head: CycleRecord) -> bytes:
    """Return the head of an attempt as bytes."""
    kept: dict[str, Any] = {name: getattr(head, name) for name in _KEPT}
    record = head.preemption
    if record is not None:
        kept["preemption"] = [getattr(record, name) for name in PreemptionRecord.__struct_fields__]
        kept["preemption"][1] = dict(record.not_candidates)
        kept["preemption"][4] = tuple(record.dry_run_order)
    kept["filter"] = None if head.filter is None else [head.filter.plugins, head.filter.nominated_first]
    score = head.score
    kept["score"] = None if score is None else [score.plugins, score.weights, score.complete, score.offsets]
    return zstandard.ZstdCompressor(level=1).compress(_encode(kept))


def decode_head(data: bytes, pod: PodInfo, node_names: Sequence[str]) -> CycleRecord:
    """Return the head of an attempt; its arrays come from the block."""
    head = _decode_head(zstandard.ZstdDecompressor().decompress(data))
    kept: dict[str, Any] = {name: getattr(head, name) for name in _KEPT}
    if head.preemption is not None:
        kept["preemption"] = PreemptionRecord(*msgspec.structs.astuple(head.preemption))
    record = CycleRecord(pod=pod, node_names=node_names, **kept)
    if head.filter is not None:
        nothing: Any = None
        record.filter = FilterRecord(
            head.filter.plugins, nothing, nothing, nothing, nothing, nominated_first=head.filter.nominated_first
        )
    if head.score is not None:
        nothing = None
        score = head.score
        record.score = ScoreRecord(
            score.plugins, score.weights, nothing, nothing, nothing, nothing, score.complete, score.offsets
        )
    return record


def encode_end(attempt: Attempt) -> bytes:
    """Return how an attempt ended as bytes."""
    kept: dict[str, Any] = {"complete_since": attempt.complete_since}
    binding = attempt.binding
    if binding is not None:
        kept |= {name: getattr(binding, name) for name in _ENDS}
        kept["is_bound"] = True
    return _encode(kept)


def restore_end(data: bytes, attempt: Attempt) -> None:
    """Give an attempt back how it ended."""
    end = _decode_end(data)
    attempt.complete_since = end.complete_since
    if end.is_bound:
        attempt.ending, attempt.finished_ns = Ending.of(end), end.finished_ns


def bare_pod(uid: str, namespace: str, name: str) -> PodInfo:
    """Return a pod of which nothing but its name is known."""
    return PodInfo(Pod(metadata=ObjectMeta(name=name, namespace=namespace, uid=uid)))
