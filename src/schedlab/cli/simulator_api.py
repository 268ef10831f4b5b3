"""Asking the running simulator of a cluster through its REST API."""

from __future__ import annotations

import http.client
import json
from typing import Any

from schedlab.cluster.home import Home
from schedlab.kernel.errors import SchedlabError

_TIMEOUT_S = 30
#: Longer than the server lets a search take, so that it is the server who says so.
_SEARCH_TIMEOUT_S = 150
_BAD_REQUEST = 400


def get(home: Home, path: str) -> tuple[int, dict[str, Any]]:
    """Return the status and the decoded body of an answer; raises SchedlabError when there is none."""
    return _call(home, "GET", path, None, _TIMEOUT_S)


def ask(home: Home, method: str, path: str, body: object = None) -> dict[str, Any]:
    """Return the answer to a question that may take its time; raises SchedlabError for every other outcome."""
    status, answer = _call(home, method, path, body, _SEARCH_TIMEOUT_S)
    if status == _BAD_REQUEST:
        raise SchedlabError(
            str(answer.get("message", answer)), location=answer.get("location", ""), hint=answer.get("hint", "")
        )
    if status >= _BAD_REQUEST:
        raise SchedlabError(str(answer.get("message", answer)), location=path, hint="schedlab status tells how it is")
    return answer


def _call(home: Home, method: str, path: str, body: object, timeout_s: float) -> tuple[int, dict[str, Any]]:
    facts = home.read_cluster()
    if "simulator" not in facts:
        raise SchedlabError(
            "this is an API server alone: no scheduler of ours works on it",
            location=str(home.path),
            hint="start a whole cluster: schedlab up",
        )
    address = str(facts["simulator"]).removeprefix("http://")
    connection = http.client.HTTPConnection(address, timeout=timeout_s)
    sent = None if body is None else json.dumps(body)
    try:
        connection.request(method, path, sent, headers={"Authorization": f"Bearer {home.token()}"})
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
