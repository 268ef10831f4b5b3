"""Asking the running simulator of a cluster through its REST API."""

from __future__ import annotations

import http.client
import json
from typing import Any

from schedlab.cluster.home import Home
from schedlab.kernel.errors import SchedlabError

_TIMEOUT_S = 30


def get(home: Home, path: str) -> tuple[int, dict[str, Any]]:
    """Return the status and the decoded body of an answer; raises SchedlabError when there is none."""
    facts = home.read_cluster()
    if "simulator" not in facts:
        raise SchedlabError(
            "this is an API server alone: no scheduler of ours works on it",
            location=str(home.path),
            hint="start a whole cluster: schedlab up",
        )
    address = str(facts["simulator"]).removeprefix("http://")
    connection = http.client.HTTPConnection(address, timeout=_TIMEOUT_S)
    try:
        connection.request("GET", path, headers={"Authorization": f"Bearer {home.token()}"})
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    except (OSError, http.client.HTTPException) as error:
        raise SchedlabError(
            f"the simulator does not answer: {error}", location=f"http://{address}", hint="start it: schedlab up"
        ) from error
    except ValueError as error:
        raise SchedlabError(
            "what answers there is not a schedlab simulator",
            location=f"http://{address}",
            hint="another program may have taken the port; start the simulator again: schedlab up",
        ) from error
    finally:
        connection.close()
