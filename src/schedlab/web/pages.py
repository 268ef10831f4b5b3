"""The files of the web UI, built from `ui/` (tools/build_ui.py). They need no token, as they show nothing of the cluster.

Everything has the digest of its content in its name and may be kept for ever, except the page itself: it names the
others, and carries the nonce with which libraries may add style sheets. Scripts come from files only.
"""

from __future__ import annotations

import mimetypes
import secrets
from functools import cache
from pathlib import Path
from typing import Final

from schedlab.web.routing import Answer, Refusal, Request, Route
from schedlab.web.simulator import Simulator

_BUILT: Final = Path(__file__).parent / "built"
_FOR_EVER: Final = (("cache-control", "public, max-age=31536000, immutable"),)
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-{nonce}'; img-src 'self' data: blob:; "
    "font-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_NOT_BUILT: Final = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>schedlab</title>
<h1>schedlab</h1>
<p>A simulated Kubernetes cluster is running here, but its web UI has not been built.</p>
<p><code>make ui</code> builds it; <code>schedlab --help</code> lists what the command line can do.</p>
</html>
"""


@cache
def _files() -> dict[str, Path]:
    """The files that may be asked for, so that no name can lead out of the folder."""
    return {path.name: path for path in _BUILT.glob("*.*") if path.name not in ("index.html", "sources.sha256")}


async def page(_simulator: Simulator, _request: Request) -> Answer:
    """Show the page."""
    index = _BUILT / "index.html"
    if not index.is_file():
        return Answer(_NOT_BUILT.encode(), "text/html; charset=UTF-8")
    nonce = secrets.token_urlsafe(16)
    body = index.read_text(encoding="utf-8").replace("{{nonce}}", nonce)
    policy = (("content-security-policy", _POLICY.format(nonce=nonce)),)
    return Answer(body.encode(), "text/html; charset=UTF-8", headers=policy)


async def built_file(_simulator: Simulator, request: Request) -> Answer:
    """Give one of the files."""
    path = _files().get(request.parameters["file"])
    if path is None:
        raise Refusal(404, "there is no such file; reload the page: it may be of an older version")
    kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    return Answer(path.read_bytes(), kind, headers=_FOR_EVER)


ROUTES = (
    Route("GET", "/", page, needs_token=False),
    Route("GET", "/ui/{file}", built_file, needs_token=False),
)
