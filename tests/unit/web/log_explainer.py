"""Explains from a log alone, for tests of the REST API."""

from __future__ import annotations

from typing import Any

from schedlab.decisions.explain import PodQuestion, explain
from schedlab.decisions.log import DecisionLog


class LogExplainer:
    """An explainer without a scheduler."""

    def __init__(self, log: DecisionLog) -> None:
        self._log = log

    def explain(self, namespace: str, name: str, question: PodQuestion = PodQuestion()) -> dict[str, Any]:  # noqa: B008 - frozen
        story = self._log.find(namespace, name)
        if story is None:
            raise LookupError(f"no attempt to schedule pod {namespace}/{name} is recorded")
        return explain(story, question)

    def is_foreign(self, namespace: str, name: str) -> bool:
        return False
