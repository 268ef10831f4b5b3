"""A value in which nothing was found is not looked at again; one with findings always is."""

from __future__ import annotations

from schedlab.api.validation.sound_values import SoundValues


class Looks:
    """A look that finds negative numbers, and counts how often it was needed."""

    def __init__(self) -> None:
        self.values = SoundValues()
        self.count = 0

    def at(self, value: list[int]) -> list[str]:
        return self.values.look(value, lambda: self._find(value))

    def _find(self, value: list[int]) -> list[str]:
        self.count += 1
        return [f"{number} is negative" for number in value if number < 0]


def test_sound_value_is_looked_at_once() -> None:
    looks = Looks()

    assert [looks.at([1, 2]) for _ in range(3)] == [[], [], []]
    assert looks.count == 1


def test_findings_are_found_each_time() -> None:
    looks = Looks()

    assert [looks.at([1, -2]) for _ in range(2)] == [["-2 is negative"]] * 2
    assert looks.count == 2


def test_other_value_is_looked_at() -> None:
    looks = Looks()
    looks.at([1])

    assert looks.at([-1]) == ["-1 is negative"]


def test_big_values_are_not_kept() -> None:
    looks = Looks()
    looks.at([1] * 4000)
    looks.at([1] * 4000)

    assert looks.count == 2
