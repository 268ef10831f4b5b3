"""The lessons of the web UI: whole in both languages, taken by the API, and with the answers that the scheduler gives."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.support.lessons import FILES, NAMESPACE, Stage, read, steps

STEPS: Final = dict(steps())
_LANGUAGES: Final = {"en", "ko"}
#: By what is asked, the fields beside `asks`, `text`, `pod`, `answer` and `explanation` that a question must have.
_FIELDS: Final[dict[str, set[str]]] = {
    "node": set(),
    "order": set(),
    "victims": set(),
    "plugin": {"node", "options"},
    "fix": {"fixes"},
}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_lesson_is_whole(path: Path) -> None:
    """It has the fields that the page reads, and no others."""
    lesson = read(path)

    assert set(lesson) - {"objects"} == {"title", "about", "steps"}
    for number, step in enumerate(lesson["steps"], 1):
        assert set(step) - {"objects"} == {"title", "text", "question"}, f"step {number}"
        question = step["question"]
        needed = {"asks", "text", "pod", "answer", "explanation"} | _FIELDS[question["asks"]]
        assert set(question) - {"create"} == needed, f"step {number}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_lesson_speaks_every_language(path: Path) -> None:
    """Each text is there in each language, with the same code in it."""
    for place, words in _texts(read(path), path.stem):
        assert set(words) == _LANGUAGES, place
        codes = {language: sorted(set(text.split("`")[1::2])) for language, text in words.items()}
        assert codes["en"] == codes["ko"], place
        assert all(text.count("`") % 2 == 0 for text in words.values()), place


def _texts(value: Any, place: str) -> Iterator[tuple[str, dict[str, str]]]:
    if isinstance(value, dict) and "en" in value:
        yield place, value
    elif isinstance(value, dict):
        for key, inner in value.items():
            if key in ("title", "about", "text", "explanation"):
                assert isinstance(inner, dict), f"{place}.{key} must be {{en: …, ko: …}}"
            yield from _texts(inner, f"{place}.{key}")
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _texts(inner, f"{place}[{number}]")


# The dice must not matter, nor what else is in the cluster.
@pytest.mark.parametrize(("nodes", "seed"), [(0, 1), (120, 2)])
@pytest.mark.parametrize("name", STEPS)
def test_the_answer_is_what_the_scheduler_does(name: str, nodes: int, seed: int) -> None:
    """The objects of a step are taken by the API, and its answer is what comes out."""
    step = STEPS[name]
    question = step["question"]
    stage = Stage(nodes=nodes, seed=seed)
    stage.make(step["objects"])
    stage.make(question.get("create", []))

    expected = _listed(question["answer"])
    assert stage.outcome(question) == (sorted(expected) if question["asks"] == "victims" else expected)
    strangers = [pod for pod in stage.cluster.objects("pods") if pod["metadata"]["namespace"] != NAMESPACE]
    assert strangers == []


@pytest.mark.parametrize("name", STEPS)
def test_every_right_answer_can_be_given(name: str) -> None:
    """It is among the choices, of which there are at least two."""
    step = STEPS[name]
    question = step["question"]
    named = {
        kind: [each["metadata"]["name"] for each in step["objects"] if each["kind"] == kind] for kind in ("Node", "Pod")
    }
    choices = {
        "node": [*named["Node"], "pending"],
        "order": named["Node"],
        "victims": [pod for pod in named["Pod"] if pod != question["pod"]],
        "plugin": question.get("options", []),
        "fix": [fix["name"] for fix in question.get("fixes", ())],
    }[question["asks"]]

    assert len(choices) > 1
    assert set(_listed(question["answer"])) <= set(choices)


def _listed(answer: str | list[str]) -> list[str]:
    return [answer] if isinstance(answer, str) else answer
