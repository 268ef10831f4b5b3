"""Reading the lines of `GET /api/v1/map`, as the web UI does."""

from __future__ import annotations

from typing import Any


def whole_pods(line: dict[str, Any]) -> dict[str, Any]:
    """Give the pods of a line their looks; each look is there once and used."""
    found = {key: pod and {"node": pod[0], **line["looks"][pod[1]]} for key, pod in line["pods"].items()}
    looks = line.get("looks", [])
    assert len(looks) == len({str(look) for look in looks}) == len({pod[1] for pod in line["pods"].values() if pod})
    return found
