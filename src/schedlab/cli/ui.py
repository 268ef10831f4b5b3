"""`schedlab ui`: a link that opens the web UI of a running simulator."""

from __future__ import annotations

from schedlab.cli import simulator_api
from schedlab.cli.kube_context import NameOption, resolve
from schedlab.cli.options import OpenOption, open_url
from schedlab.kernel.errors import SchedlabError


def ui(
    *,
    open_browser: OpenOption = False,
    name: NameOption = None,
) -> None:
    """Print a link that opens the web UI: good once, for an hour."""
    home = resolve(name, None)[0]
    if "apiserver" not in home.read_cluster():
        raise SchedlabError(
            "this is a scheduler alone, and the web UI shows whole clusters",
            location=str(home.path),
            hint="start a cluster: schedlab up; or ask here: schedlab explain pod/NAME",
        )
    url = simulator_api.ask(home, "POST", "/api/v1/login-links")["url"]
    print(url)
    if open_browser:
        open_url(url)
