"""The families of the referee's data: which there are in a folder, how they are kept, which must be equal in full."""

from __future__ import annotations

import gzip
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import orjson

Case = dict[str, Any]

#: Pairs of an input and an output or error, without a cluster.
PAIRS: Final = ("defaulting", "configdefaults")
#: Not compared by the judge.
NOT_CASES: Final = ("extenderpayloads",)

#: What must be equal in full, in the order in which it is worth looking at. Extend this when a family passes.
REQUIRED: Final = (
    "nodebasic",
    "taints",
    "nodeaffinity",
    "ports",
    "resources",
    "images",
    "spread",
    "podaffinity",
    "gating",
    "podrequests",
    "declaredfeatures",
    "nodeorder",
    "sampling",
    "config",
    "configmixed",
    "configdefaults",
    "defaulting",
    "nominated",
    "preemption",
    "preemptmixed",
    "extender",
    "batching",
    "batchmixed",
    "volrestrict",
    "volbinding",
    "volzone",
    "vollimits",
    "volmixed",
    "dra",
    "dramixed",
    "queue",
    "mixed",
    "medium",
)

_SUFFIX: Final = ".jsonl.gz"


class CorpusError(Exception):
    """A folder or a family that cannot be used; the text says what to do."""


def find(corpus: Path, wanted: Iterable[str]) -> dict[str, Path]:
    """Return the files of the wanted families (none named: all) by family; raises CorpusError."""
    if not corpus.is_dir():
        raise CorpusError(f"there is no folder {corpus}")
    files = {path.name.removesuffix(_SUFFIX): path for path in sorted(corpus.glob(f"*{_SUFFIX}"))}
    for name in NOT_CASES:
        files.pop(name, None)
    if not files:
        raise CorpusError(f"there are no families (files FAMILY{_SUFFIX}) in {corpus}")
    chosen = list(dict.fromkeys(wanted))
    unknown = [name for name in chosen if name not in files]
    if unknown:
        raise CorpusError(f"unknown family: {', '.join(unknown)}; {corpus} has {', '.join(files)}")
    return {name: files[name] for name in chosen} if chosen else files


def read_lines(path: Path) -> list[bytes]:
    """Return the lines of a file, one case each."""
    with gzip.open(path) as lines:
        return [line for line in lines if line.strip()]


def read(path: Path) -> list[Case]:
    """Return the cases of a file."""
    return [orjson.loads(line) for line in read_lines(path)]


def write_lines(path: Path, lines: Iterable[bytes]) -> None:
    """Write lines as a file of their family."""
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.writelines(lines)


def write(path: Path, cases: Iterable[Case]) -> None:
    """Write cases as a file of their family."""
    write_lines(path, (orjson.dumps(case) + b"\n" for case in cases))
