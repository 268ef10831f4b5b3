"""Errors on purpose say where, what and what to do."""

from __future__ import annotations

from schedlab.kernel.errors import InvariantError, SchedlabError


def test_user_error_names_place_and_hint() -> None:
    error = SchedlabError("unknown field", location="config.yaml:3", hint="remove it")

    assert str(error) == "config.yaml:3: unknown field\nhint: remove it"


def test_user_error_may_be_bare() -> None:
    assert str(SchedlabError("no")) == "no"


def test_invariant_error_prints_the_story() -> None:
    assert str(InvariantError("lost a pod", "it was here")) == "lost a pod\nit was here"
