"""Who is let in: the token, or a cookie together with the token of the same session."""

from __future__ import annotations

import pytest

from schedlab.web import logins
from schedlab.web.logins import Logins, login_url

HOST = {"host": "127.0.0.1:1212"}


@pytest.fixture
def session() -> dict[str, str]:
    """Headers of a good session."""
    return _session(Logins("secret"))


def _session(checks: Logins) -> dict[str, str]:
    begun = checks.begin_session(checks.open_link())
    assert begun is not None
    return {**HOST, "cookie": f"other=1; schedlab-1212={begun[0]}", "x-csrf-token": begun[1]}


def test_a_link_is_good_once() -> None:
    checks = Logins("secret")
    link = checks.open_link()

    assert checks.begin_session(link) is not None
    assert checks.begin_session(link) is None
    assert checks.begin_session("made up") is None


def test_a_link_grows_old(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logins, "LINK_S", -1)
    checks = Logins("secret")

    assert checks.begin_session(checks.open_link()) is None


def test_open_links_are_limited() -> None:
    """The oldest goes."""
    checks = Logins("secret")
    links = [checks.open_link() for _ in range(101)]

    assert checks.begin_session(links[0]) is None
    assert checks.begin_session(links[-1]) is not None


def test_a_session_outlives_a_restart(session: dict[str, str]) -> None:
    assert Logins("secret").allows(session)
    assert not Logins("another").allows(session)


def test_a_session_ends_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logins, "SESSION_S", -1)
    checks = Logins("secret")

    assert not checks.allows(_session(checks))


@pytest.mark.parametrize(
    "change",
    [
        {"x-csrf-token": ""},
        {"x-csrf-token": "0" * 64},
        {"cookie": ""},
        {"cookie": "schedlab-1212=9999999999.x.y"},
        {"cookie": "schedlab-1212="},
        {"cookie": 'schedlab-1212="\\'},
        {"host": "127.0.0.1:1213"},
        {"authorization": "Bearer wrong"},
    ],
)
def test_half_a_session_opens_nothing(session: dict[str, str], change: dict[str, str]) -> None:
    """Nor does one of another port, nor a good one beside a wrong token."""
    assert not Logins("secret").allows({**session, **change})


def test_tokens_of_two_sessions_do_not_mix(session: dict[str, str]) -> None:
    other = _session(Logins("secret"))

    assert not Logins("secret").allows({**session, "x-csrf-token": other["x-csrf-token"]})


def test_later_expiry_cannot_be_written_into_a_cookie(session: dict[str, str]) -> None:
    head, _, rest = session["cookie"].partition("schedlab-1212=")
    expiry, _, tail = rest.partition(".")

    assert not Logins("secret").allows({**session, "cookie": f"{head}schedlab-1212={int(expiry) + 1}.{tail}"})


def test_the_token_alone_is_enough() -> None:
    assert Logins("secret").allows({**HOST, "authorization": "bearer secret"})


def test_without_checks_the_link_is_the_address() -> None:
    assert login_url("http://127.0.0.1:1212", None) == "http://127.0.0.1:1212/"
    assert login_url("http://127.0.0.1:1212", Logins("secret")).startswith("http://127.0.0.1:1212/#/login/")
