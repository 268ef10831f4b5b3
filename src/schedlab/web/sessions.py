"""Letting browsers in and out, by the rules of `logins`."""

from __future__ import annotations

from schedlab.web.logins import LINK_S, SESSION_S, cookie_name, login_url
from schedlab.web.routing import Answer, Refusal, Request, Route, json_answer
from schedlab.web.simulator import Simulator


async def post_login_link(simulator: Simulator, request: Request) -> Answer:
    """Give out a new link."""
    url = login_url(f"http://{request.headers['host']}", simulator.logins)
    return json_answer({"url": url, "validForSeconds": None if simulator.logins is None else LINK_S})


async def get_session(_simulator: Simulator, _request: Request) -> Answer:
    """Say that whoever asks is let in; others have been refused before."""
    return json_answer({})


async def post_session(simulator: Simulator, request: Request) -> Answer:
    """Let a browser in."""
    body = await request.json()
    link = body.get("link") if isinstance(body, dict) else None
    if not isinstance(link, str):
        raise Refusal(400, 'the body must be {"link": "…"}')
    begun = None if simulator.logins is None else simulator.logins.begin_session(link)
    if begun is None:
        raise Refusal(
            401, "this link was used before or is too old", hint="`schedlab ui` prints a new one, good once for an hour"
        )
    answer = json_answer({"csrfToken": begun[1]})
    return Answer(answer.body, headers=(("set-cookie", _set_cookie(request, begun[0], SESSION_S)),))


async def delete_session(_simulator: Simulator, request: Request) -> Answer:
    """Let the browser forget its cookie."""
    return Answer(b"{}\n", headers=(("set-cookie", _set_cookie(request, "", 0)),))


def _set_cookie(request: Request, value: str, seconds: int) -> str:
    return f"{cookie_name(request.headers)}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict"


ROUTES = (
    Route("POST", "/api/v1/login-links", post_login_link),
    Route("GET", "/api/v1/session", get_session),
    Route("POST", "/api/v1/session", post_session, needs_token=False),
    Route("DELETE", "/api/v1/session", delete_session),
)
