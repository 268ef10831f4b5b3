"""Who may use the API: the administrator's token, or a browser that was let in by a one-time link.

    schedlab ui ─► POST /api/v1/login-links ─► http://127.0.0.1:1212/#/login/LINK      good once, for an hour
    the page    ─► POST /api/v1/session {link} ─► a cookie, and a token of its own in the answer

A browser sends cookies to every port of this machine, and pages of other ports count as the same site. Therefore the
cookie alone opens nothing: each request carries the second token in a header, which the page keeps in storage that only
its own origin reads and which other pages could not send. Both are derived from the administrator's token, so that
nothing has to be kept and a page outlives a restart of the simulator.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections.abc import Mapping
from http.cookies import CookieError, SimpleCookie
from typing import Final
from urllib.parse import urlsplit

LINK_S: Final = 3600
SESSION_S: Final = 24 * 3600
CSRF_HEADER: Final = "x-csrf-token"
#: More links than these are not open at a time; the oldest goes.
_LINKS_MAX: Final = 100


class Logins:
    """Checks tokens, gives out links and turns each into one session."""

    def __init__(self, token: str) -> None:
        self.token = token
        #: Open links by the digest of their secret: until when they are good.
        self._links: dict[str, float] = {}

    def open_link(self) -> str:
        """Return the secret of a new link."""
        while len(self._links) >= _LINKS_MAX:
            del self._links[next(iter(self._links))]
        secret = secrets.token_urlsafe(32)
        self._links[_digest(secret)] = time.time() + LINK_S
        return secret

    def begin_session(self, link: str) -> tuple[str, str] | None:
        """Use a link up; returns the value of the cookie and the token beside it, None when the link is not good."""
        if self._links.pop(_digest(link), 0.0) < time.time():
            return None
        session = f"{int(time.time()) + SESSION_S}.{secrets.token_urlsafe(16)}"
        return f"{session}.{self._sign('session', session)}", self._sign("csrf", session)

    def allows(self, headers: Mapping[str, str]) -> bool:
        """Whether a request shows the token, or the cookie and the token of one session."""
        scheme, _, token = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            return hmac.compare_digest(token.strip().encode(), self.token.encode())
        session, _, signature = _cookie(headers).rpartition(".")
        expiry = session.partition(".")[0]
        return (
            hmac.compare_digest(signature.encode(), self._sign("session", session).encode())
            and hmac.compare_digest(headers.get(CSRF_HEADER, "").encode(), self._sign("csrf", session).encode())
            and int(expiry) > time.time()
        )

    def _sign(self, purpose: str, session: str) -> str:
        return hmac.new(self.token.encode(), f"{purpose} {session}".encode(), hashlib.sha256).hexdigest()


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def cookie_name(headers: Mapping[str, str]) -> str:
    """Return the name of the cookie, by port: simulators beside each other must not overwrite theirs."""
    port = urlsplit(f"//{headers['host']}").port
    return f"schedlab-{port or 80}"


def _cookie(headers: Mapping[str, str]) -> str:
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(cookie_name(headers))
    except CookieError:
        return ""
    return "" if found is None else found.value


def login_url(address: str, logins: Logins | None) -> str:
    """Return where the web UI is, with a new link if one is needed. A fragment is neither sent nor logged."""
    return f"{address}/" if logins is None else f"{address}/#/login/{logins.open_link()}"
