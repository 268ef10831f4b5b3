"""Explains from a log alone, for tests of the REST API."""

from __future__ import annotations

from typing import Any

from schedlab.decisions.explain import PodQuestion, explaining
from schedlab.decisions.log import DecisionLog
from schedlab.decisions.moments import NoMoments
from schedlab.kernel.steps import Steps


class LogExplainer:
    """An explainer without a scheduler."""

    def __init__(self, log: DecisionLog) -> None:
        self._log = log

    def explaining(self, namespace: str, name: str, question: PodQuestion) -> Steps[dict[str, Any]]:
        story = self._log.find(namespace, name)
        if story is None:
            raise LookupError(f"no attempt to schedule pod {namespace}/{name} is recorded")
        return (yield from explaining(story, question, NoMoments()))

    def is_foreign(self, namespace: str, name: str) -> bool:
        return False
