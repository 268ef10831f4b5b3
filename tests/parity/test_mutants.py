"""The list of equivalent mutants names mutants that there are, as many as it says and with a reason."""

from __future__ import annotations

import ast

from tools.plugin_mutants import equivalents, every_mutant, mutants_of, mutated


def test_every_equivalent_mutant_is_a_mutant_of_today() -> None:
    mutants = every_mutant()

    counts = {entry: sum(map(entry.covers, mutants)) for entry in equivalents()}
    assert [entry for entry, count in counts.items() if count != entry.times] == []
    assert all(entry.reason for entry in counts)


def test_comparisons_numbers_and_truth_values_are_changed_and_words_are_not() -> None:
    source = '''
@dataclass(frozen=True)
class P:
    name: Literal["p"] = "p"
    weight: int = 1

    def filter(self, node, limit=2):
        """3 words."""
        return None if 0 < node.used <= limit and not self.odd(strict=True) else "4 reasons"

    def explain_filter(self):
        return 5 > 4
'''
    changes = [mutant.change for mutant in mutants_of("p.py", source)]

    assert changes == [
        "1 -> 2",
        "2 -> 3",
        "0 < node.used <= limit -> 0 <= node.used <= limit",
        "0 < node.used <= limit -> 0 < node.used < limit",
        "0 -> 1",
    ]


def test_a_mutant_is_one_change() -> None:
    source = "def f(a):\n    return a in (1, True)\n"
    found = {ast.unparse(mutated(source, mutant)).splitlines()[1].strip() for mutant in mutants_of("p.py", source)}

    assert found == {"return a not in (1, True)", "return a in (2, True)", "return a in (1, False)"}
