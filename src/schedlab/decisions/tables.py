"""The decision log as tables: one row per attempt, per node, per filter on a node, per score, per move in the queue.

    attempts(log, Query(plugin="NodeAffinity"), limit=100)      newest first; Search does the same a step at a time
    rows(log, "verdicts", Query(pod="web-0"))                   everything, oldest first, for exports and data frames
    columns(rows(...))                                          the same by column

Rows are flat JSON values with the same keys in every row of a table, so that they fit a data frame as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

from schedlab.apimachinery.time import format_micro_time
from schedlab.scheduler.framework.record import PASSED
from schedlab.scheduler.framework.status import REASONS, Code

if TYPE_CHECKING:
    from schedlab.decisions.archive import Entry
    from schedlab.decisions.log import Attempt, DecisionLog, PodStory

Table = Literal["attempts", "verdicts", "filters", "scores", "moves"]
TABLES: Final[tuple[Table, ...]] = get_args(Table)
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Query:
    """Which attempts are meant; what is empty restricts nothing.

    node: the chosen one; in the tables of verdicts and scores any. plugin: one that turned the pod down. reason: a text
    in the message. since_ns, until_ns: when the attempt began.
    """

    namespace: str = ""
    pod: str = ""
    attempt: int | None = None
    node: str = ""
    plugin: str = ""
    reason: str = ""
    result: str = ""
    since_ns: int = 0
    until_ns: int | None = None

    def wants(self, story: PodStory, attempt: Attempt, *, any_node: bool = False) -> bool:
        """Whether an attempt is meant."""
        head = attempt.head
        if (self.namespace and story.namespace != self.namespace) or (self.pod and story.name != self.pod):
            return False
        if self.attempt is not None and attempt.number != self.attempt:
            return False
        if head.started_ns < self.since_ns or (self.until_ns is not None and head.started_ns >= self.until_ns):
            return False
        if self.result and head.result != self.result:
            return False
        if self.node and not any_node and head.selected != self.node:
            return False
        binding = attempt.binding
        if self.plugin:
            turned_down = (*head.unschedulable_plugins, *head.pending_plugins)
            if self.plugin not in turned_down and (binding is None or self.plugin not in binding.unschedulable_plugins):
                return False
        return self.reason in head.failure_message or (binding is not None and self.reason in binding.error)


class Search:
    """Looks for the newest attempts that are meant, of those before a sequence number, a step at a time."""

    def __init__(self, log: DecisionLog, query: Query, *, limit: int, before: int | None = None) -> None:
        self._entries = log.newest_first(before)
        self._query, self._limit = query, limit
        self._found: list[Entry] = []

    def step(self, count: int) -> bool:
        """Look at so many more attempts; whether there is more to look at."""
        for looked_at, entry in enumerate(self._entries, 1):
            if self._query.wants(entry[1], entry[2]):
                self._found.append(entry)
                if len(self._found) > self._limit:
                    return False
            if looked_at == count:
                return True
        return False

    @property
    def rows(self) -> list[Row]:
        """What was found."""
        return [attempt_row(*entry) for entry in self._found[: self._limit]]

    @property
    def before(self) -> int | None:
        """Where the next page begins; None when there is nothing more."""
        return self._found[self._limit - 1][0] if len(self._found) > self._limit else None


def attempts(log: DecisionLog, query: Query, *, limit: int) -> list[Row]:
    """Return the newest attempts that are meant."""
    search = Search(log, query, limit=limit)
    while search.step(1000):
        pass
    return search.rows


def rows(log: DecisionLog, table: Table, query: Query) -> Iterator[Row]:
    """Yield the rows of a table, oldest attempt first."""
    return chain.from_iterable(rows_of_attempts(log, table, query))


def rows_of_attempts(log: DecisionLog, table: Table, query: Query) -> Iterator[Iterator[Row]]:
    """Yield the same by attempt (moves: by pod), also those that have none, for whoever must not be kept long."""
    if table == "moves":
        for story in log.every_story():
            wanted = query.namespace in ("", story.namespace) and query.pod in ("", story.name)
            yield move_rows(story) if wanted else iter(())
        return
    for sequence, story, attempt in log.oldest_first():
        if not query.wants(story, attempt, any_node=table != "attempts"):
            yield iter(())
        elif table == "attempts":
            yield iter((attempt_row(sequence, story, attempt),))
        else:
            yield _OF_NODES[table](sequence, story, attempt, query.node)


def columns(table: Iterable[Row]) -> dict[str, list[Any]]:
    """Return rows by column: what pandas, polars and pyarrow make a frame of."""
    out: dict[str, list[Any]] = {}
    for row in table:
        for name, value in row.items():
            out.setdefault(name, []).append(value)
    return out


def attempt_row(sequence: int, story: PodStory, attempt: Attempt) -> Row:
    """Return an attempt as a whole."""
    head, binding = attempt.head, attempt.binding
    nominated = next((node for _, node, _ in head.post_filter.values() if node), "")
    return {
        **_key(sequence, story, attempt),
        "uid": story.uid,
        "scheduler": head.profile,
        "result": head.result if binding is None or not binding.error else "bindingFailed",
        "node": head.selected,
        "reason": head.failure_reason or ("" if binding is None else binding.failure_reason),
        "message": head.failure_message or ("" if binding is None else binding.error),
        "plugins": [*head.unschedulable_plugins],
        "pendingPlugins": [*head.pending_plugins],
        "nominatedNode": nominated or "",
        "victims": [*head.victims],
        "nodes": len(head.node_names),
        "revision": head.revision,
        "configuration": head.configuration,
        "boundTime": "" if binding is None else format_micro_time(binding.finished_ns),
    }


def verdict_rows(sequence: int, story: PodStory, attempt: Attempt, node: str = "") -> Iterator[Row]:
    """Yield what was said of every node that was looked at: the first filter that turned it down."""
    cycle = attempt.cycle()
    record = cycle.filter
    if record is None:
        return
    key, names = _key(sequence, story, attempt), cycle.node_names
    verdicts = zip(
        record.visited.tolist(),
        record.failed_plugin.tolist(),
        record.code.tolist(),
        record.reason.tolist(),
        strict=True,
    )
    for row, plugin, code, reason in verdicts:
        if node in ("", names[row]):
            yield {
                **key,
                "node": names[row],
                "passed": plugin == PASSED,
                "plugin": "" if plugin == PASSED else record.plugins[plugin],
                "code": Code(code).text,
                "reasons": ", ".join(REASONS.texts(reason)) if plugin != PASSED else "",
            }


def filter_rows(sequence: int, story: PodStory, attempt: Attempt, node: str = "") -> Iterator[Row]:
    """Yield what every filter said of every node, as far as it was asked: in full mode all of them of all nodes.

    Of a node that was turned down in the search, that verdict counts: nominated pods were counted in.
    """
    cycle = attempt.cycle()
    record = cycle.filter
    if record is None:
        return
    key, names = _key(sequence, story, attempt), cycle.node_names
    columns_of = (record.visited, record.failed_plugin, record.code, record.reason)
    visited = {row: found for row, *found in zip(*(column.tolist() for column in columns_of), strict=True)}
    every = record.every_verdict()
    for row in range(len(names)) if every is not None else visited:
        if node not in ("", names[row]):
            continue
        failed, *found = visited.get(row, (PASSED, 0, 0))
        for index, plugin in enumerate(record.plugins):
            if index == failed:
                code, reason = found
            elif every is not None:
                code, reason = int(every[0][index, row]), int(every[1][index, row])
            elif failed != PASSED and index > failed:
                break
            else:
                code = reason = 0
            yield {
                **key,
                "node": names[row],
                "visited": row in visited,
                "plugin": plugin,
                "passed": code == 0,
                "code": Code(code).text,
                "reasons": ", ".join(REASONS.texts(reason)) if code else "",
            }


def score_rows(sequence: int, story: PodStory, attempt: Attempt, node: str = "") -> Iterator[Row]:
    """Yield every plugin's score of every node that was scored."""
    cycle = attempt.cycle()
    record = cycle.score
    if record is None:
        return
    key, names = _key(sequence, story, attempt), cycle.node_names
    raw, final, total = record.raw.T.tolist(), record.final.T.tolist(), record.total.tolist()
    for at, row in enumerate(record.rows.tolist()):
        if node not in ("", names[row]):
            continue
        for index, plugin in enumerate(record.plugins):
            weight = record.weights[index]
            yield {
                **key,
                "node": names[row],
                "plugin": plugin,
                "raw": raw[at][index],
                "normalized": final[at][index] // weight,
                "weight": weight,
                "final": final[at][index],
                "total": total[at],
            }


_OF_NODES: Final[Mapping[str, Callable[[int, PodStory, Attempt, str], Iterator[Row]]]] = {
    "verdicts": verdict_rows,
    "filters": filter_rows,
    "scores": score_rows,
}


def move_rows(story: PodStory) -> Iterator[Row]:
    """Yield the pod's way through the queue."""
    for move in story.moves:
        yield {
            "namespace": story.namespace,
            "pod": story.name,
            "uid": story.uid,
            "time": format_micro_time(move.at_ns),
            "place": move.place,
            "reason": move.reason,
            "event": move.hints[0][0] if move.hints else "",
            "answers": [f"{plugin}: {error or hint}" for _, plugin, hint, error in move.hints],
            "gate": "" if move.gate is None else f"{move.gate[0]}: {move.gate[1]}",
        }


def _key(sequence: int, story: PodStory, attempt: Attempt) -> Row:
    return {
        "sequence": sequence,
        "time": format_micro_time(attempt.started_ns),
        "namespace": story.namespace,
        "pod": story.name,
        "attempt": attempt.number,
    }
