"""`schedlab decisions`: what the scheduler has decided, listed, filtered and exported."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlencode

from cyclopts import Parameter

from schedlab.cli import simulator_api
from schedlab.cli.columns import columns
from schedlab.cli.kube_context import resolve
from schedlab.cli.output_file import write_file
from schedlab.cluster.home import Home
from schedlab.kernel.errors import SchedlabError

_MESSAGE_SHOWN = 90
_PAGE = 1000
_LIMIT = 50


def decisions(
    *,
    table: Annotated[
        Literal["attempts", "verdicts", "filters", "scores", "moves"],
        Parameter(
            help="Attempts, or what was said of every node, by every filter of every node, every score, every move in the "
            "queue."
        ),
    ] = "attempts",
    namespace: Annotated[str, Parameter(name=["--namespace", "-n"], help="Only pods of this namespace.")] = "",
    pod: Annotated[str, Parameter(help="Only pods of this name.")] = "",
    attempt: Annotated[int | None, Parameter(help="Only attempts of this number.")] = None,
    node: Annotated[str, Parameter(help="Only what concerns this node: of attempts, those that chose it.")] = "",
    plugin: Annotated[str, Parameter(help="Only attempts that this plugin turned down.")] = "",
    reason: Annotated[str, Parameter(help="Only attempts whose message has this text in it.")] = "",
    result: Annotated[
        Literal["scheduled", "unschedulable", "error"] | None, Parameter(help="Only attempts that ended so.")
    ] = None,
    since: Annotated[str, Parameter(help="Only attempts from this time on, 2026-01-31T12:00:00Z.")] = "",
    until: Annotated[str, Parameter(help="Only attempts before this time.")] = "",
    limit: Annotated[
        int | None, Parameter(help="How many attempts to list, newest first; 0 is all, 50 if not given.")
    ] = None,
    output: Annotated[
        Literal["text", "json", "jsonl", "parquet"],
        Parameter(name=["--output", "-o"], help="Form of the answer; jsonl and parquet give whole tables."),
    ] = "text",
    file: Annotated[
        Path | None,
        Parameter(name=["--file", "-f"], help="File to write to; parquet needs one and the extra `parquet`."),
    ] = None,
    name: Annotated[str | None, Parameter(help="Name of the cluster; the one kubectl points at if not given.")] = None,
) -> int:
    """List what the scheduler has decided, newest first, or export it."""
    home, _ = resolve(name, None)
    wanted = {
        "namespace": namespace,
        "pod": pod,
        "attempt": attempt,
        "node": node,
        "plugin": plugin,
        "reason": reason,
        "result": result,
        "since": since,
        "until": until,
    }
    query = {key: value for key, value in wanted.items() if value not in ("", None)}
    if output in ("jsonl", "parquet") or table != "attempts":
        if limit is not None:
            raise SchedlabError(
                "whole tables have no limit", location="--limit", hint="choose by --pod, --attempt, --since and so on"
            )
        return _export(home, f"/api/v1/tables/{table}?{urlencode(query)}", output, file)
    limit = _LIMIT if limit is None else limit
    if limit < 0:
        raise SchedlabError(f"{limit} attempts cannot be listed", location="--limit", hint="give 0 or more")
    found = list(_pages(home, query, limit))
    _write(json.dumps(found, indent=2) if output == "json" else "\n".join(_lines(found)), file)
    return 0


def _pages(home: Home, query: Mapping[str, Any], limit: int) -> Iterator[dict[str, Any]]:
    """Yield attempts page by page until there are enough."""
    before: int | None = None
    left = limit or sys.maxsize
    while left:
        size = min(left, _PAGE)
        page = {**query, "limit": size, **({} if before is None else {"before": before})}
        answer = simulator_api.ask(home, "GET", f"/api/v1/decisions?{urlencode(page)}")
        yield from answer["items"]
        left -= len(answer["items"])
        before = answer["next"]
        if before is None:
            return


def _export(home: Home, path: str, output: str, file: Path | None) -> int:
    if output == "parquet":
        if file is None:
            raise SchedlabError(
                "Parquet is no text", location="-o parquet", hint="name a file: --file decisions.parquet"
            )
        from schedlab.cli.parquet import write_parquet

        write_parquet(simulator_api.stream(home, "GET", path), file)
        return 0
    rows = simulator_api.stream(home, "GET", path)
    match output:
        case "jsonl":
            _write_lines((json.dumps(row, separators=(",", ":")) for row in rows), file)
        case "json":
            _write(json.dumps(list(rows), indent=2), file)
        case _:
            _write("\n".join(_any_lines(list(rows))), file)
    return 0


def _write_lines(lines: Iterator[str], file: Path | None) -> None:
    if file is None:
        for line in lines:
            print(line)
        return
    write_file(file, (f"{line}\n" for line in lines), "--file")


def _write(text: str, file: Path | None) -> None:
    _write_lines(iter([text] if text else []), file)


def _lines(found: list[dict[str, Any]]) -> list[str]:
    if not found:
        return ["No attempts are recorded that match."]
    rows = [["TIME", "POD", "ATTEMPT", "RESULT", "NODE", "MESSAGE"]]
    for row in found:
        message = row["message"]
        short = message if len(message) <= _MESSAGE_SHOWN else f"{message[: _MESSAGE_SHOWN - 1]}…"
        who = f"{row['namespace']}/{row['pod']}"
        rows.append([row["time"], who, str(row["attempt"]), row["result"], row["node"] or "-", short])
    return [line[2:] for line in columns(rows)]


def _any_lines(found: list[dict[str, Any]]) -> list[str]:
    if not found:
        return ["Nothing is recorded that matches."]
    names = list(found[0])
    rows = [[name.upper() for name in names], *([_cell(row[name]) for name in names] for row in found)]
    return [line[2:] for line in columns(rows)]


def _cell(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
