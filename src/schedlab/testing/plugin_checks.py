"""The contract of plugins as a suite of checks, for plugins of one's own: `check_plugin(MyPlugin)` in a test.

Each check is one rule. It is tried on small clusters (`plugin_bench.SAMPLES`, and whatever samples the caller adds), and
what is broken is told with the rule, the sample and what was found. With pytest each check can be a test of its own:

    @pytest.mark.parametrize("check", plugin_checks(MyPlugin), ids=str)
    def test_contract(check):
        check()

Mirrors: nothing; the idea is scikit-learn's check_estimator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from schedlab.scheduler.framework.interface import PluginEntry
from schedlab.scheduler.framework.plugin_class import check_class, entry_of
from schedlab.testing import claim_rules, plugin_rules, sight_rules
from schedlab.testing.plugin_bench import SAMPLES, Sample, Subject
from schedlab.testing.plugin_calls import BrokenRule

Rule = Callable[[Subject, Sample], Iterator[str]]


class PluginCheckError(AssertionError):
    """A plugin that breaks rules; the message has one line for each."""


@dataclass(frozen=True)
class PluginCheck:
    """One rule, ready to be tried: call it, it raises PluginCheckError."""

    name: str
    subject: Subject
    samples: tuple[Sample, ...]
    rule: Rule

    def __str__(self) -> str:
        return self.name

    def __call__(self) -> None:
        found = [line for sample in self.samples for line in self._broken(sample)]
        if found:
            what = f"plugin {self.subject.entry.name} breaks the rule {self.name!r}:"
            raise PluginCheckError("\n  ".join((what, *dict.fromkeys(found))))

    def _broken(self, sample: Sample) -> Iterator[str]:
        try:
            for text in self.rule(self.subject, sample):
                yield f"on sample {sample}: {text}"
        except BrokenRule as error:
            yield f"on sample {sample}: {error}"
        except Exception as error:  # noqa: BLE001 - what a plugin raises is what is to be told
            yield f"on sample {sample}: it raised {type(error).__name__}: {error}"


def plugin_checks(
    plugin: type[Any] | PluginEntry, *, args: Mapping[str, Any] | None = None, samples: Iterable[Sample] = ()
) -> list[PluginCheck]:
    """Return the checks of a plugin; raises PluginClassError when its class is none.

    args: what `pluginConfig` gives the plugin. samples: clusters and pods to be tried beside the standard ones.
    """
    if isinstance(plugin, PluginEntry):
        made_by: Any = plugin.factory
        subject = Subject(plugin, made_by if isinstance(made_by, type) else None, args)
    else:
        subject = Subject(entry_of(plugin), plugin, args)
    if subject.plugin_class is not None:
        check_class(subject.plugin_class)
    tried = (*SAMPLES, *samples)
    return [PluginCheck(name, subject, tried, rule) for name, rule in RULES.items()]


def check_plugin(
    plugin: type[Any] | PluginEntry,
    *,
    args: Mapping[str, Any] | None = None,
    samples: Iterable[Sample] = (),
    expected_failures: Mapping[str, str] | None = None,
) -> None:
    """Try every rule; raises PluginCheckError with all that are broken.

    `expected_failures` are names of rules with the reason why this plugin breaks them; one that holds after all is told
    too, so that the list stays true.
    """
    expected = expected_failures or {}
    found: list[str] = []
    for check in plugin_checks(plugin, args=args, samples=samples):
        try:
            check()
        except PluginCheckError as error:
            if check.name not in expected:
                found.append(str(error))
            continue
        if check.name in expected:
            found.append(f"the rule {check.name!r} holds, although it is expected to fail: {expected[check.name]}")
    found += [f"there is no rule {name!r}" for name in expected if name not in RULES]
    if found:
        raise PluginCheckError("\n".join(found))


RULES: Final[Mapping[str, Rule]] = {
    "unknown arguments are refused": plugin_rules.refuses_unknown_arguments,
    "events are registered with hints that answer": plugin_rules.registers_events,
    "pre_enqueue answers with a status": plugin_rules.pre_enqueue_answers,
    "sort_key can be compared": plugin_rules.sort_key_compares,
    "pre_filter answers with nodes and a status": plugin_rules.pre_filter_answers,
    "filter answers with a status": plugin_rules.filter_answers,
    "filter does not depend on the order of nodes": plugin_rules.filter_is_independent,
    "filter_nodes says what filter says": plugin_rules.filter_nodes_equals_filter,
    "dry runs see pods that come and go": plugin_rules.dry_runs_follow,
    "scores are whole and within 0 to 100": plugin_rules.scores_are_in_range,
    "score_nodes says what score says": plugin_rules.score_nodes_equals_score,
    "post_filter answers with a result, a status and work": plugin_rules.post_filter_answers,
    "what is reserved is given back": plugin_rules.reserve_is_undone,
    "permit answers with a status and a time": plugin_rules.permit_answers,
    "binding methods answer with a status or work": plugin_rules.binding_answers,
    "pods with the same signature get the same verdicts": plugin_rules.signatures_hold,
    "row-local verdicts depend on the row alone": claim_rules.row_local_is_true,
    "verdicts of amounts depend on amounts alone": claim_rules.amounts_are_all_that_counts,
    "filter looks at what it says of pods": sight_rules.looks_at_is_true,
    "score looks at what it says of pods": sight_rules.score_looks_at_is_true,
    "what is pod-local depends on facts of the pod alone": sight_rules.pod_local_is_true,
    "who says that it skips does": sight_rules.skips_is_true,
    "who reserves nothing need not be asked to": claim_rules.reserves_nothing_is_true,
    "who has no work before binding need not be asked": claim_rules.pre_binds_nothing_is_true,
    "changed verdicts are told": claim_rules.changed_verdicts_are_told,
    "the same call gives the same answer": plugin_rules.answers_repeat,
    "pods, nodes and the table are not changed": plugin_rules.nothing_is_changed,
}
