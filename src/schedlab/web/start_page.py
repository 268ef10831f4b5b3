"""The page at `/`: what this is and how to go on. It needs no token, so it shows nothing of the cluster."""

from __future__ import annotations

from typing import Final

from schedlab.web.routing import Answer, Request, Route
from schedlab.web.simulator import Simulator

_PAGE: Final = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>schedlab</title>
<h1>schedlab</h1>
<p>A simulated Kubernetes cluster is running here. This page shows nothing of it; use the tools below.</p>
<ul>
<li><code>schedlab env</code> prints how to point kubectl at it.</li>
<li><code>schedlab explain pod/NAME</code> tells why a pod is where it is, or nowhere.</li>
<li><code>GET /api/v1/decisions/NAMESPACE/POD</code> gives the same as JSON, with the administrator's bearer token.</li>
</ul>
</html>
"""


async def start_page(_simulator: Simulator, _request: Request) -> Answer:
    """Show the page."""
    return Answer(_PAGE.encode(), "text/html; charset=UTF-8")


ROUTES = (Route("GET", "/", start_page, needs_token=False),)
