"""A plugin is WebAssembly when its arguments say so, and then they are read strictly."""

from __future__ import annotations

from typing import Any

import pytest

from schedlab.scheduler.framework.plugin_args import PluginArgsError
from schedlab.scheduler.wasm import is_wasm, wasm_entry
from schedlab.scheduler.wasm.args import WasmArgs

ENTRY = wasm_entry("Guest", lambda _url: b"")


@pytest.mark.parametrize(
    ("args", "expected"),
    [({"guestURL": "file://x"}, True), ({"guestURL": ""}, True), ({"reverse": True}, False), ({}, False), (None, False)],
)  # fmt: skip
def test_only_a_guest_url_makes_a_guest(args: object, expected: object) -> None:
    assert is_wasm(args) is expected


@pytest.mark.parametrize("name", ["args", "Args"])
def test_all_arguments(name: str) -> None:
    assert ENTRY.args is not None
    given = {"guestURL": "file://x", "guestConfig": "{}", "logSeverity": 2, name: ["a"]}

    assert ENTRY.args(given) == WasmArgs("file://x", "{}", 2, ["a"])


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        ({}, (".guestURL", "Required value")),
        ({"guestURL": 3}, (".guestURL", "Expected `str`, got `int`")),
        ({"guestURL": "x", "guestConfig": {}}, (".guestConfig", "Expected `str`, got `object`")),
        ({"guestURL": "x", "logSeverity": 4}, (".logSeverity", "Expected `int` <= 3")),
        ({"guestURL": "x", "guestUrl": "y"}, (".guestUrl", "unknown field")),
    ],
)
def test_mistakes_are_named_with_their_path(args: dict[str, Any], problem: tuple[str, str]) -> None:
    assert ENTRY.args is not None
    with pytest.raises(PluginArgsError) as caught:
        ENTRY.args(args)

    assert caught.value.problems == (problem,)
