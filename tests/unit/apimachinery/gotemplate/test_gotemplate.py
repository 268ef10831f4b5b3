"""Templates give what Go's text/template gives, with KWOK's and sprig's functions, and always come to an end."""

from __future__ import annotations

from typing import Any

import pytest

from schedlab.apimachinery.gotemplate import TemplateError, parse
from schedlab.apimachinery.gotemplate.sprig import SPRIG

POD: dict[str, Any] = {
    "metadata": {"name": "web", "labels": {"b": "2", "a": "1"}},
    "spec": {
        "containers": [{"name": "c1", "ports": [80, 443]}, {"name": "c2"}],
        "replicas": 0,
        "ratio": 1.5,
        "nothing": None,
    },
}


def render(source: str, data: Any = POD) -> str:
    return parse(source, SPRIG).render(data)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("plain", "plain"),
        ("{{ .metadata.name }}", "web"),
        ("{{ .spec.missing }}", "<no value>"),
        ("{{ .spec.missing.deeper }}", "<no value>"),
        ("{{ .spec.nothing }}", "<no value>"),
        ("{{ .spec.ratio }} {{ .spec.replicas }}", "1.5 0"),
        ("{{ .metadata.labels }}", "map[a:1 b:2]"),
        ('{{ index .spec.containers 0 "ports" }}', "[80 443]"),
        ("{{ (index .spec.containers 1).name }}", "c2"),
        ('a {{- "b" -}}\n c', "abc"),
        ("x{{/* a comment */}}y {{- /* trims */ -}} z", "xyz"),
        ("{{ `raw \\n` }} {{ \"a\\tb\\u00e9\" }} {{ 'x' }} {{ 0x1F }} {{ 1e2 }}", "raw \\n a\tb\u00e9 120 31 100"),
        ('{{ print nil }}{{ print 1 2 "a" true }}', "<nil>1 2atrue"),
    ],
)
def test_values_are_printed_as_go_prints_them(source: str, expected: str) -> None:
    assert render(source) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("{{ if .metadata.name }}yes{{ else }}no{{ end }}", "yes"),
        ("{{ if .spec.missing }}yes{{ else }}no{{ end }}", "no"),
        # Numbers of the data are Go's json.Number, a text, so 0 is true.
        ("{{ if .spec.replicas }}yes{{ else }}no{{ end }}", "yes"),
        ('{{ if 0 }}yes{{ else if 0.0 }}no{{ else if "" }}no{{ else }}else{{ end }}', "else"),
        ("{{ with .metadata }}{{ .name }}{{ $.spec.ratio }}{{ end }}", "web1.5"),
        ("{{ with .spec.missing }}x{{ else }}{{ .metadata.name }}{{ end }}", "web"),
        ("{{ with .spec.missing }}x{{ else with .metadata }}{{ .name }}{{ end }}", "web"),
        ("{{ range .spec.containers }}{{ .name }};{{ end }}", "c1;c2;"),
        ("{{ range $i, $c := .spec.containers }}{{ $i }}{{ $c.name }};{{ end }}", "0c1;1c2;"),
        ("{{ range $k, $v := .metadata.labels }}{{ $k }}={{ $v }};{{ end }}", "a=1;b=2;"),
        ("{{ range .spec.missing }}x{{ else }}none{{ end }}", "none"),
        (
            "{{ range $i := until 5 }}{{ if eq $i 1 }}{{ continue }}{{ end }}{{ if eq $i 3 }}{{ break }}{{ end }}{{ $i }}{{ end }}",
            "02",
        ),
        ("{{ range 3 }}{{ . }}{{ end }}", "012"),
        ("{{ $x := 1 }}{{ if true }}{{ $x = 2 }}{{ $x := 3 }}{{ end }}{{ $x }}", "2"),
        ('{{ define "t" }}[{{ . }}]{{ end }}{{ template "t" .metadata.name }}{{ template "t" }}', "[web][<no value>]"),
        ('{{ block "b" 7 }}<{{ . }}>{{ end }}', "<7>"),
    ],
)
def test_blocks_choose_repeat_and_keep_their_variables(source: str, expected: str) -> None:
    assert render(source) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ('{{ and 1 0 2 }} {{ and 1 2 }} {{ or 0 "" "d" }} {{ not .x }}', "0 2 d true"),
        ('{{ or .spec.missing.deeper "d" }}', "d"),
        # What does not decide is not evaluated.
        ("{{ or 1 (index .spec.containers 9) }}", "1"),
        (
            '{{ eq .metadata.name "a" "web" }} {{ ne 1 2 }} {{ lt 1 2 }} {{ le 2 2 }} {{ gt 1.5 1.0 }} {{ ge "a" "b" }}',
            "true true true true true false",
        ),
        ('{{ eq .spec.missing "Always" }}', "false"),
        ('{{ len .spec.containers }} {{ len "\u00e9" }} {{ slice "abcd" 1 3 }}', "2 2 bc"),
        (
            '{{ printf "%s|%5d|%-5s|%05.1f|%q|%v|%x|%t|%%" "a" 7 "b" 2.25 "q" .spec.ratio 255 true }}',
            'a|    7|b    |002.2|"q"|1.5|ff|true|%',
        ),
        ('{{ printf "%d %s" "a" }}', "%!d(string=a) %!s(MISSING)"),
        ('{{ "a" | printf "%s-%s" "b" }}', "b-a"),
        ('{{ default "d" .spec.missing }} {{ .metadata.name | upper | quote }}', 'd "WEB"'),
        (
            '{{ $d := dict "k" 1 }}{{ $_ := set $d "l" 2 }}{{ get $d "l" }}{{ hasKey $d "z" }}{{ keys $d }}',
            "2false[k l]",
        ),
        (
            '{{ list 1 2 3 | join "-" }} {{ first (list 1 2) }} {{ last (list 1 2) }} {{ has 2 (list 1 2) }}',
            "1-2-3 1 2 true",
        ),
        (
            "{{ add 1 2 3 }} {{ sub 5 2 }} {{ mul 2 3 }} {{ div -7 2 }} {{ mod -7 2 }} {{ max 1 3 2 }} {{ add1 .spec.replicas }}",
            "6 3 6 -3 -1 3 1",
        ),
        (
            '{{ ternary "a" "b" true }} {{ trimSuffix "b" "web" }} {{ replace "e" "o" "web" }} {{ "a b" | nospace }}',
            "a we wob ab",
        ),
        (
            '{{ toJson .metadata.labels }} {{ (fromJson `{"a":[1]}`).a }} {{ b64enc "hi" }} {{ b64dec "aGk=" }}',
            '{"a":"1","b":"2"} [1] aGk= hi',
        ),
        ('{{ "a\\nb" | indent 2 }}|{{ "x" | nindent 1 }}', "  a\n  b|\n x"),
        ('{{ regexReplaceAll "w(.)b" .metadata.name "${1}!" }} {{ regexMatch "^w" "web" }}', "e! true"),
    ],
)
def test_functions_give_what_go_and_sprig_give(source: str, expected: str) -> None:
    assert render(source) == expected


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("a\nb {{ foo }}", 'line 2: function "foo" not defined'),
        ("{{ $x }}", 'line 1: undefined variable "$x"'),
        ("{{ if true }}{{ $x := 1 }}{{ end }}{{ $x }}", 'line 1: undefined variable "$x"'),
        ("{{ if .a }}", "unexpected EOF: a block is not ended"),
        ("{{ end }}", "line 1: unexpected {{end}}"),
        ("{{ break }}", "line 1: {{break}} outside {{range}}"),
        ("{{ if }}x{{ end }}", "line 1: missing value for command"),
        ("{{ .a", "line 1: unclosed action"),
        ('{{ "a }}', "line 1: unterminated quoted string"),
        ("{{ (index .a 0 }}", "line 1: unclosed left paren"),
        ("{{ .a .b }}", "line 1: can't give argument to non-function"),
        ("{{ /* a }}", "line 1: unclosed comment"),
        ("{{ 1.2.3 }}", "line 1: unexpected '1' in action"),
    ],
)
def test_broken_template_is_refused_with_its_line(source: str, message: str) -> None:
    with pytest.raises(TemplateError) as caught:
        parse(source, SPRIG)

    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("{{ .metadata.name.x }}", "line 1: can't evaluate field x in type string"),
        ("{{ .spec.nothing.x }}", "line 1: nil has no field x"),
        ("{{ index .spec.containers 5 }}", "line 1: index: index out of range: 5"),
        ('{{ eq 1 "1" }}', "line 1: eq: incompatible types for comparison"),
        ("{{ eq .metadata .spec }}", "line 1: eq: non-comparable types map[labels:map[a:1 b:2] name:web], "),
        ('{{ fail "no" }}', "line 1: fail: no"),
        ("{{ upper 1 }}", "line 1: error calling upper with (int): "),
        ("{{ div 1 0 }}", "line 1: div: integer divide by zero"),
        ('{{ template "t" }}', "line 1: template 't' not defined"),
        ('{{ define "t" }}{{ template "t" }}{{ end }}{{ template "t" }}', "line 1: exceeded maximum template depth"),
    ],
)
def test_template_that_cannot_be_run_says_why(source: str, message: str) -> None:
    with pytest.raises(TemplateError) as caught:
        render(source)

    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    "source",
    [
        "{{ range until 1000 }}{{ range until 1000 }}{{ end }}{{ end }}",
        "{{ range 1000000000 }}{{ end }}",
        "{{ until 1000000000 }}",
        '{{ repeat 1000000000 "x" }}',
        '{{ printf "%1000000000d" 1 }}',
        '{{ $x := "xxxxxxxxxx" }}{{ range until 100 }}{{ $x = print $x $x }}{{ end }}',
    ],
)
def test_no_template_runs_or_writes_without_end(source: str) -> None:
    with pytest.raises(TemplateError):
        render(source)


def test_functions_of_one_run_go_before_those_of_the_template() -> None:
    template = parse("{{ now }}", {"now": lambda: "never"})

    assert template.render({}) == "never"
    assert template.render({}, {"now": lambda: "today"}) == "today"
