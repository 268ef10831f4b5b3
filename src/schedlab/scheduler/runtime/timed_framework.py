"""A profile whose plugins are counted and timed.

How long all plugins of an extension point take is observed in every cycle, how long each of them takes in every tenth:
then the plugins stand behind proxies. Without anybody who reads metrics there is none of this.

Mirrors: pkg/scheduler/framework/runtime/{framework,instrumented_plugins}.go (v1.36)
Differs: upstream draws the cycles that it samples, which here would use up dice; an array form is observed as so many
calls of equal length, and what equal pods share is counted as asked but takes no time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from schedlab.scheduler.framework.record import PASSED
from schedlab.scheduler.framework.status import Code, Status
from schedlab.scheduler.runtime.framework import Framework, PreFilterOutcome
from schedlab.scheduler.runtime.scoring import ScoreFailure

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from schedlab.scheduler.config.types import KubeSchedulerProfile
    from schedlab.scheduler.framework.interface import (
        CycleState,
        ExtenderAnswer,
        ExtenderRequest,
        FilterTap,
        NodeToStatus,
        PluginEntry,
        Work,
    )
    from schedlab.scheduler.framework.types import NodeInfo, PodInfo
    from schedlab.scheduler.metrics import Recorder
    from schedlab.scheduler.runtime.equal_pods import Evaluation
    from schedlab.scheduler.runtime.filtering import FilterRun, Search
    from schedlab.scheduler.runtime.framework import PostFilterAnswer, Services
    from schedlab.scheduler.runtime.scoring import Scores

_SAMPLED_EVERY: Final = 10
#: Methods of plugins and the extension points they stand for in metrics.
_POINTS: Final[Mapping[str, str]] = {
    "pre_filter": "PreFilter",
    "filter": "Filter",
    "filter_nodes": "Filter",
    "post_filter": "PostFilter",
    "pre_score": "PreScore",
    "score": "Score",
    "score_nodes": "Score",
    "normalize_score": "ScoreExtensionNormalize",
    "reserve": "Reserve",
    "unreserve": "Unreserve",
    "permit": "Permit",
    "pre_bind": "PreBind",
    "bind": "Bind",
    "post_bind": "PostBind",
}
_VOLUMES: Final = "VolumeBinding"


class TimedPlugin:
    """A plugin whose methods are timed."""

    def __init__(self, plugin: Any, clock: Any, metrics: Recorder) -> None:
        self._plugin, self._clock, self._metrics = plugin, clock, metrics
        self.name: str = plugin.name

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._plugin, name)
        point = _POINTS.get(name)
        return method if point is None else self._timed(point, method)

    def _timed(self, point: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            started_ns = self._clock.now_ns()
            answer = method(*arguments)
            elapsed_ns = self._clock.now_ns() - started_ns
            sizes = _sizes(answer)
            for code, times in sizes.items():
                self._metrics.plugin(self.name, point, code, elapsed_ns / sum(sizes.values()), times)
            return answer

        return call


def _sizes(answer: Any) -> Mapping[str, int]:
    """Return how many answers of each code there are in what a plugin returned."""
    codes = getattr(answer, "code", None)
    if isinstance(codes, np.ndarray):
        return _by_code(codes)
    if isinstance(answer, np.ndarray):
        return {Code.SUCCESS.text: len(answer)} if len(answer) else {}
    parts = answer if isinstance(answer, tuple) else (answer,)
    status = next((part for part in parts if isinstance(part, Status)), None)
    return {Code.SUCCESS.text if status is None else status.code.text: 1}


def _by_code(codes: NDArray[np.uint8]) -> Mapping[str, int]:
    numbers, times = np.unique(codes, return_counts=True)
    return {Code(number).text: count for number, count in zip(numbers.tolist(), times.tolist(), strict=True)}


def _text(status: Status | None) -> str:
    return Code.SUCCESS.text if status is None else status.code.text


class TimedFramework(Framework):
    """See the module."""

    def __init__(self, profile: KubeSchedulerProfile, registry: Mapping[str, PluginEntry], services: Services) -> None:
        super().__init__(profile, registry, services)
        self._cycles = 0
        self._plain = self._lists()
        self._timed = {
            name: tuple(TimedPlugin(plugin, self.clock, self.metrics) for plugin in plugins)
            for name, plugins in self._plain.items()
        }

    def _lists(self) -> dict[str, Sequence[Any]]:
        return {
            "pre_filter_plugins": self.pre_filter_plugins,
            "filter_plugins": self.filter_plugins,
            "post_filter_plugins": self.post_filter_plugins,
            "pre_score_plugins": self.pre_score_plugins,
            "score_plugins": self.score_plugins,
            "reserve_plugins": self.reserve_plugins,
            "permit_plugins": self.permit_plugins,
            "pre_bind_plugins": self.pre_bind_plugins,
            "bind_plugins": self.bind_plugins,
            "post_bind_plugins": self.post_bind_plugins,
        }

    def _point(self, point: str, code: str, started_ns: int) -> None:
        self.metrics.point(point, code, self.profile_name, self.clock.now_ns() - started_ns)

    # --- Filtering ---

    def run_pre_filter(
        self,
        state: CycleState,
        pod: PodInfo,
        record: dict[str, Status | None] | None = None,
        nodes_record: dict[str, tuple[str, ...]] | None = None,
    ) -> PreFilterOutcome:
        """See Framework; a cycle begins."""
        self._cycles += 1
        chosen = self._timed if self._cycles % _SAMPLED_EVERY == 0 else self._plain
        for name, plugins in chosen.items():
            setattr(self, name, plugins)
        seen: dict[str, Status | None] = {} if record is None else record
        started_ns = self.clock.now_ns()
        outcome = super().run_pre_filter(state, pod, seen, nodes_record)
        self._point("PreFilter", _text(outcome.status), started_ns)
        for name in seen:
            self.metrics.evaluated(name, "PreFilter", self.profile_name)
        return outcome

    def filter_run(
        self, state: CycleState, pod: PodInfo, tap: FilterTap | None = None, kept: Evaluation | None = None
    ) -> FilterRun:
        """See Framework; searches are observed."""
        run = super().filter_run(state, pod, tap, kept)
        started_ns = self.clock.now_ns()
        run.on_search = lambda names, search: self._searched(names, search, self.clock.now_ns() - started_ns)
        return run

    def _searched(self, names: Sequence[str], search: Search, elapsed_ns: int) -> None:
        """Count a search: a node is one call of the point, and one of each plugin up to the first that failed."""
        visited = len(search.rows)
        for code, times in _by_code(search.verdicts.code).items():
            self.metrics.point("Filter", code, self.profile_name, elapsed_ns / visited, times)
        failed = search.verdicts.plugin
        asked = Counter(failed[failed != PASSED].tolist())
        open_nodes = visited
        for index, name in enumerate(names):
            self.metrics.evaluated(name, "Filter", self.profile_name, open_nodes)
            open_nodes -= asked[index]
        if search.error is not None and search.error.plugin == _VOLUMES:
            self.metrics.volume_stage_failed("predicate")

    def evaluation(self, state: CycleState, pod: PodInfo) -> Evaluation | None:
        """See Framework; what is kept for other cycles holds no proxies."""
        timed, self.filter_plugins = self.filter_plugins, self._plain["filter_plugins"]
        try:
            return super().evaluation(state, pod)
        finally:
            self.filter_plugins = timed

    def run_post_filter(
        self,
        state: CycleState,
        pod: PodInfo,
        statuses: NodeToStatus,
        record: dict[str, tuple[Status | None, str | None, bool]] | None,
        background: Callable[[Any, Work], None],
    ) -> Generator[tuple[ExtenderRequest, ...], tuple[ExtenderAnswer, ...], PostFilterAnswer]:
        """See Framework."""
        started_ns = self.clock.now_ns()
        result, status = yield from super().run_post_filter(state, pod, statuses, record, background)
        self._point("PostFilter", _text(status), started_ns)
        return result, status

    # --- Scoring ---

    def run_pre_score(
        self,
        state: CycleState,
        pod: PodInfo,
        rows: NDArray[np.int64],
        record: dict[str, Status | None] | None = None,
    ) -> Status | None:
        """See Framework."""
        seen: dict[str, Status | None] = {} if record is None else record
        started_ns = self.clock.now_ns()
        status = super().run_pre_score(state, pod, rows, seen)
        self._point("PreScore", _text(status), started_ns)
        for name in seen:
            self.metrics.evaluated(name, "PreScore", self.profile_name)
        return status

    def run_score(
        self,
        state: CycleState,
        pod: PodInfo,
        rows: NDArray[np.int64],
        infos: Sequence[NodeInfo] | None = None,
        kept: Evaluation | None = None,
    ) -> Scores | ScoreFailure:
        """See Framework; what is kept for other cycles holds no proxies."""
        if kept is not None:
            self.score_plugins = self._plain["score_plugins"]
        started_ns = self.clock.now_ns()
        scores = super().run_score(state, pod, rows, infos, kept)
        failed = isinstance(scores, ScoreFailure)
        self._point("Score", (Code.ERROR if failed else Code.SUCCESS).text, started_ns)
        for name in (scores.scores if isinstance(scores, ScoreFailure) else scores).plugins:
            self.metrics.evaluated(name, "Score", self.profile_name, 1 if failed else len(rows))
        return scores

    # --- After the choice ---

    def run_reserve(
        self, state: CycleState, pod: PodInfo, node_name: str, record: dict[str, Status | None] | None = None
    ) -> Status | None:
        """See Framework."""
        seen: dict[str, Status | None] = {} if record is None else record
        started_ns = self.clock.now_ns()
        status = super().run_reserve(state, pod, node_name, seen)
        self._point("Reserve", _text(status), started_ns)
        if status is not None and next(reversed(seen), "") == _VOLUMES:
            self.metrics.volume_stage_failed("assume")
        return status

    def run_unreserve(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        """See Framework."""
        started_ns = self.clock.now_ns()
        super().run_unreserve(state, pod, node_name)
        self._point("Unreserve", Code.SUCCESS.text, started_ns)

    def run_permit(
        self,
        state: CycleState,
        pod: PodInfo,
        node_name: str,
        record: dict[str, tuple[Status | None, int]] | None = None,
    ) -> tuple[Status | None, dict[str, int]]:
        """See Framework."""
        started_ns = self.clock.now_ns()
        status, waits = super().run_permit(state, pod, node_name, record)
        self._point("Permit", _text(status), started_ns)
        return status, waits

    def run_pre_bind_pre_flights(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        """See Framework."""
        started_ns = self.clock.now_ns()
        status = super().run_pre_bind_pre_flights(state, pod, node_name)
        self._point("PreBindPreFlight", _text(status), started_ns)
        return status

    def run_post_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        """See Framework."""
        started_ns = self.clock.now_ns()
        super().run_post_bind(state, pod, node_name)
        self._point("PostBind", Code.SUCCESS.text, started_ns)
