"""The verbs that search: what they send, how they print answers, and what they refuse."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from schedlab import cli
from schedlab.cli import simulator_api
from schedlab.cli.help_text import help_text
from schedlab.cli.what_if_text import what_if_text
from schedlab.cluster.home import Home
from schedlab.kernel.errors import SchedlabError

Asked = list[tuple[str, str, Any]]

MOVES = {
    "changes": ["drain a", "cordon b"],
    "ranForSeconds": 120,
    "moves": [
        {"pod": "s/web-2", "before": "a", "after": "b", "why": "evicted", "plugin": "", "replaces": "s/web-1"},
        {
            "pod": "s/db",
            "before": "",
            "after": "a",
            "why": "a: Fit no longer turns it down",
            "plugin": "Fit",
            "replaces": "",
        },
        {"pod": "s/new", "before": None, "after": "", "why": "new; no room", "plugin": "", "replaces": ""},
    ],
    "problems": ["pod s/x is kept on its node by a disruption budget"],
    "pods": 9,
}
HELP = {
    "pod": "s/p",
    "message": "0/1 nodes are available: 1 Insufficient cpu.",
    "fits": False,
    "attempts": 4,
    "suggestions": [
        {"summary": "ask for 2 cpu instead of 3", "node": "n", "commands": ["kubectl patch pod p -n s -p '{}'"]},
        {"summary": "one more node like n", "node": "n-copy", "commands": []},
    ],
}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    """Note what is asked of the simulator; answer with moves or help."""
    calls: Asked = []

    def ask(_home: Home, method: str, path: str, body: object = None) -> Any:
        calls.append((method, path, body))
        return MOVES if method == "POST" else HELP

    monkeypatch.setattr(simulator_api, "ask", ask)
    return calls


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as caught:
        cli.main(arguments)
    assert isinstance(caught.value.code, int)
    return caught.value.code


def changes(asked: Asked, *arguments: str) -> Sequence[dict[str, Any]]:
    """Return the changes that are sent for some options, without their places."""
    assert run("what-if", *arguments) == 0
    ((_, _, body),) = asked
    return [{key: value for key, value in change.items() if key != "place"} for change in body["changes"]]


def test_nodes(asked: Asked) -> None:
    given = changes(asked, "--cordon", "a", "--uncordon", "b", "--drain", "c", "--drain", "d")

    assert given == [{"cordon": "a"}, {"uncordon": "b"}, {"drain": "c"}, {"drain": "d"}]


def test_objects(asked: Asked) -> None:
    given = changes(
        asked, "-n", "s", "--delete", "pod/x", "--scale", "deployment/w=5", "--patch", 'node/n={"spec":{"a":1}}'
    )

    assert given == [
        {"delete": "pod/x", "namespace": "s"},
        {"scale": "deployment/w", "replicas": 5, "namespace": "s"},
        {"patch": "node/n", "change": {"spec": {"a": 1}}, "namespace": "s"},
    ]


def test_manifests(asked: Asked, tmp_path: Path) -> None:
    path = tmp_path / "m.yaml"
    path.write_text("kind: A\n---\nkind: List\nitems: [{kind: B}, {kind: C}]\n", encoding="utf-8")
    given = changes(asked, "-f", str(path), "--add", str(path))

    assert [change["apply"]["kind"] for change in given] == ["A", "B", "C"] * 2


def test_a_configuration(asked: Asked, tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text("kind: KubeSchedulerConfiguration\n", encoding="utf-8")

    assert changes(asked, "--scheduler-config", str(path)) == [
        {"schedulerConfig": {"kind": "KubeSchedulerConfiguration"}, "location": str(path)}
    ]


def test_how_long(asked: Asked) -> None:
    assert run("what-if", "--cordon", "a", "--for", "1h") == 0
    assert asked[0][:2] == ("POST", "/api/v1/what-if")
    assert asked[0][2]["forSeconds"] == 3600


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "nothing is to change"),
        (("--scale", "deployment/w"), "--scale: 'deployment/w' has no ="),
        (("--patch", "node/n=x"), "--patch node/n=x: 'x' is not JSON"),
        (("--cordon", "a", "--for", "soon"), "--for:"),
        (("-f", "nowhere.yaml"), "nowhere.yaml: cannot be read"),
    ],
)
def test_bad_input(asked: Asked, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str) -> None:
    assert run("what-if", *arguments) == 2
    error = capsys.readouterr().err
    assert message in error
    assert "hint: " in error
    assert asked == []


@pytest.mark.parametrize(("text", "message"), [("- x\n", "holds list"), ("", "holds no manifest"), ("a: [", "line")])
def test_files_that_are_no_manifests(
    asked: Asked, tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, message: str
) -> None:
    path = tmp_path / "m.yaml"
    path.write_text(text, encoding="utf-8")

    assert run("what-if", "-f", str(path)) == 2
    assert message in capsys.readouterr().err
    assert asked == []


def test_moves_as_text() -> None:
    assert what_if_text(MOVES).splitlines() == [
        "If you drain a, then cordon b:",
        "",
        "  s/web-2  a -> b",
        "    evicted (in place of s/web-1)",
        "",
        "  s/db     (waits) -> a",
        "    a: Fit no longer turns it down",
        "",
        "  s/new    (new) -> (waits)",
        "    new; no room",
        "",
        "3 pods, 1 of them waits",
        "warning: pod s/x is kept on its node by a disruption budget",
    ]


def test_nothing_that_moves_as_text() -> None:
    still = {**MOVES, "moves": [], "problems": []}

    assert what_if_text(still).splitlines()[-1] == "nothing moves: 9 pods stay as they are"


THEN = {
    "changes": ["delete pod/p"],
    "ranForSeconds": 120,
    "moves": [
        {
            "pod": "s/db",
            "before": "",
            "after": "a",
            "really": "b",
            "why": "a: Fit is fine",
            "plugin": "",
            "replaces": "",
        },
        {"pod": "s/p", "before": "a", "after": None, "really": "a", "why": "deleted", "plugin": "", "replaces": ""},
        {"pod": "s/x", "before": "", "after": "b", "really": "b", "why": "its turn", "plugin": "", "replaces": ""},
    ],
    "problems": ["pod s/y is kept on its node by a disruption budget"],
    "pods": 9,
    "at": {"revision": 70, "time": "2026-01-31T12:00:00.000000Z"},
    "really": {"revision": 90, "time": "2026-01-31T12:02:00.000000Z", "came": 2},
}


def test_a_moment_of_the_past(asked: Asked) -> None:
    assert run("what-if", "--cordon", "a", "--at", "70") == 0
    assert asked[0][2]["at"] == 70


def test_what_came_in_truth_as_text() -> None:
    assert what_if_text(THEN).splitlines() == [
        "If you had done this at revision 70 (2026-01-31T12:00:00.000000Z): delete pod/p",
        "",
        "  s/db  (waits) -> a",
        "    in truth: b",
        "    a: Fit is fine",
        "",
        "  s/p   a -> (gone)",
        "    in truth: a",
        "    deleted",
        "",
        "  s/x   (waits) -> b",
        "    in truth: b",
        "    its turn",
        "",
        "2 of 9 pods would be elsewhere than they were in truth by 2026-01-31T12:02:00.000000Z",
        "2 pods have come in truth that the fork does not know",
        "warning: pod s/y is kept on its node by a disruption budget",
    ]


def test_help_as_text(asked: Asked, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("explain", "pod/p", "-n", "s", "--what-would-help", "--attempt", "2") == 0
    assert asked == [("GET", "/api/v1/pods/s/p/what-would-help?attempt=2", None)]
    assert capsys.readouterr().out.splitlines() == [
        "Pod s/p: 0/1 nodes are available: 1 Insufficient cpu.",
        "",
        "Any one of these would let it be scheduled, the least first:",
        "",
        "  ask for 2 cpu instead of 3",
        "    it goes to n",
        "    $ kubectl patch pod p -n s -p '{}'",
        "",
        "  one more node like n",
        "    it goes to n-copy",
    ]


def test_help_that_finds_nothing() -> None:
    text = help_text({**HELP, "suggestions": []})

    assert text.splitlines()[-1] == (
        "No change that is known here would let it be scheduled (4 attempts were made on a fork)."
    )


def test_answers_as_json(asked: Asked, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("what-if", "--cordon", "a", "-o", "json") == 0
    assert json.loads(capsys.readouterr().out) == MOVES
    assert asked


def test_what_the_server_refuses_is_an_error_with_its_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = {"message": "no such pod", "location": "", "hint": "look again"}
    monkeypatch.setattr(simulator_api, "_call", lambda *_: (400, answer))

    with pytest.raises(SchedlabError) as caught:
        simulator_api.ask(Home.of("default"), "GET", "/x")
    assert (caught.value.message, caught.value.hint) == ("no such pod", "look again")


def test_what_fails_in_the_server_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulator_api, "_call", lambda *_: (504, {"message": "took too long"}))

    with pytest.raises(SchedlabError, match="took too long"):
        simulator_api.ask(Home.of("default"), "GET", "/x")
