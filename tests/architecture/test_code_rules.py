"""The code of this repository keeps its own rules, and each rule finds what is planted against it."""

from collections.abc import Callable, Iterable
from textwrap import indent

import pytest

from tests.architecture import code_rules
from tests.architecture.source_tree import SourceFile, python_files

Rule = Callable[[Iterable[SourceFile]], list[str]]

CORE = "src/schedlab/kernel/planted.py"
PACKAGE = "src/schedlab/kernel/__init__.py"
LONG_FUNCTION = "def long():\n" + "    pass\n" * 60

#: Where each rule applies, and a file that breaks it.
RULES: dict[Rule, tuple[tuple[str, ...], list[SourceFile]]] = {
    code_rules.missing_docstrings: (("src", "tests", "tools"), [SourceFile(CORE, "x = 1\n")]),
    code_rules.long_modules: (("src", "tests", "tools"), [SourceFile(CORE, "x = 1\n" * 601)]),
    code_rules.long_functions: (
        ("src", "tests", "tools"),
        [SourceFile(CORE, LONG_FUNCTION), SourceFile(CORE, "class C:\n" + indent(LONG_FUNCTION, "    "))],
    ),
    code_rules.impure_calls: (
        ("src",),
        [
            SourceFile(CORE, "x = datetime.datetime.now()\n"),
            SourceFile(CORE, "x = datetime.now(tz=UTC)\n"),
            SourceFile(CORE, "x = np.random.default_rng()\n"),
            SourceFile(CORE, "x = np.log(y)\n"),
            SourceFile(CORE, "x = os.environ['HOME']\n"),
            SourceFile(CORE, "x = hash(y)\n"),
        ],
    ),
    code_rules.set_iterations: (
        ("src",),
        [
            SourceFile(CORE, "for x in {1, 2}:\n    pass\n"),
            SourceFile(CORE, "y = [x for x in set(z)]\n"),
            SourceFile(CORE, "y = list({x for x in z})\n"),
        ],
    ),
    code_rules.wrong_exports: (
        ("src",),
        [
            SourceFile(PACKAGE, "from schedlab.kernel.clock import Clock\n"),
            SourceFile(PACKAGE, "__all__ = ['Clock']\n"),
            SourceFile(CORE, "__all__ = ['One']\nclass One: ...\nclass Two: ...\n"),
        ],
    ),
    code_rules.blanket_ignores: (
        ("src", "tests", "tools"),
        [SourceFile(CORE, "x = 1  # " + "noqa\n"), SourceFile(CORE, "x = 1  # " + "type: ignore\n")],
    ),
}
NAMES = [rule.__name__ for rule in RULES]


@pytest.mark.parametrize("rule", RULES, ids=NAMES)
def test_repository_keeps_rule(rule: Rule) -> None:
    """No file of the repository breaks the rule."""
    folders, _ = RULES[rule]

    assert rule(python_files(*folders)) == []


@pytest.mark.parametrize("rule", RULES, ids=NAMES)
def test_rule_finds_planted_violation(rule: Rule) -> None:
    """A rule that finds nothing wrong in a wrong file would guard nothing."""
    _, planted = RULES[rule]

    assert [len(rule([file])) for file in planted] == [1] * len(planted)


def test_core_rules_leave_the_edge_alone() -> None:
    """The wall clock is read in cluster: that is what it is for."""
    edge = SourceFile("src/schedlab/cluster/wall_clock.py", "x = datetime.now(tz=UTC)\n")

    assert code_rules.impure_calls([edge]) == []


@pytest.mark.parametrize(
    ("size", "tolerated", "word"),
    [
        (700, 700, None),
        (701, 700, "grew"),
        (650, 700, "shrank"),
        (600, 700, "take it off"),
    ],
)
def test_tolerated_giant_may_only_shrink(size: int, tolerated: int, word: str | None) -> None:
    """The list of giants is kept at their true sizes, so a lost line stays lost."""
    file = SourceFile(CORE, "x = 1\n" * size)

    found = code_rules.long_modules([file], {CORE: tolerated})

    assert (word is None and found == []) or (word is not None and word in found[0])
