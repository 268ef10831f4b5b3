"""The part of Go's text/template that scheduler_perf's templates use."""

from __future__ import annotations

import pytest

from schedlab.scheduler_perf.text_template import TemplateError, TextTemplate


@pytest.mark.parametrize(
    ("text", "rendered"),
    [
        ("name: pod", "name: pod"),
        ("name: pod-{{.Index}} of {{ .Count }}", "name: pod-7 of 10"),
        ("{{ AddInt .Index 1 2 }}", "10"),
        ("{{ SubtractInt .Count .Index }}", "3"),
        ("{{ MultiplyInt .Index 3 }}", "21"),
        ("{{ DivideInt .Index 2 }}", "3"),
        ("{{ DivideFloat .Index 2 }}", "3.5"),
        ("{{ SubtractFloat 5 .Index }}", "-2"),
        ("{{ MultiplyFloat 0.5 .Index }}", "3.5"),
        ("{{ Mod .Index 4 }}", "3"),
        ("{{ Mod (DivideInt .Index 2) 2 }}", "1"),
        ('{{ .Index | printf "%03d" }}', "007"),
        ('{{ printf "%s-%v-%q%%" .word .Index .word }}', 'blue-7-"blue"%'),
        ("a {{- .Index -}} b", "a7b"),
        ("a{{/* said to nobody */}}b", "ab"),
        ("{{ .flag }} {{ AddFloat .half .half }}", "true 1"),
    ],
)
def test_actions_are_filled_in(text: str, rendered: str) -> None:
    values = {"Index": 7, "Count": 10, "word": "blue", "flag": True, "half": 0.5}

    assert rendered == TextTemplate(text).render(values)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{{ .Index", "an action is not closed"),
        ("{{ if .Index }}x{{ end }}", "{{if}} is not supported"),
        ("{{ Double .Index }}", 'function "Double" not defined'),
        ("{{ Mod (AddInt .Index 1 }}", "missing )"),
        ("{{ .Index .Index }}", "unexpected '.Index'"),
        ("{{ .Index | 3 }}", "3 is no function"),
        ("{{ }}", "nothing to do"),
        ("{{ ~ }}", "cannot read '~'"),
        ("{{ Mod ) }}", "unexpected ')'"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_place(text: str, message: str) -> None:
    with pytest.raises(TemplateError) as refused:
        TextTemplate(text, "pod.yaml")

    assert message in refused.value.message
    assert refused.value.location == "pod.yaml"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{{ .Color }}", "there is no value for .Color"),
        ("{{ DivideInt .Index 0 }}", "division by zero"),
        ('{{ AddInt "blue" 1 }}', "could not convert"),
    ],
)
def test_what_cannot_be_carried_out_is_refused_with_its_place(text: str, message: str) -> None:
    template = TextTemplate(text, "pod.yaml")

    with pytest.raises(TemplateError, match=message):
        template.render({"Index": 1})


def test_template_without_actions_is_constant() -> None:
    assert TextTemplate("kind: Pod").constant
    assert not TextTemplate("name: {{.Index}}").constant
