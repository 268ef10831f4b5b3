"""`schedlab ui`: a link that opens the web UI of a running simulator."""

from __future__ import annotations

import webbrowser
from typing import Annotated

from cyclopts import Parameter

from schedlab.cli import simulator_api
from schedlab.cli.kube_context import NameOption, resolve


def ui(
    *,
    open_browser: Annotated[
        bool, Parameter(name="--open", negative="", help="Open it in the browser of this machine.")
    ] = False,
    name: NameOption = None,
) -> None:
    """Print a link that opens the web UI: good once, for an hour."""
    home = resolve(name, None)[0]
    url = simulator_api.ask(home, "POST", "/api/v1/login-links")["url"]
    print(url)
    if open_browser:
        webbrowser.open(url)
