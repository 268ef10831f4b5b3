"""The families of the referee's data: which there are in a folder, how they are kept, which must be equal in full."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

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


def read(path: Path) -> list[Case]:
    """Return the cases of a file."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def write(path: Path, cases: Iterable[Case]) -> None:
    """Write cases as a file of their family."""
    with gzip.open(path, "wt", encoding="utf-8", compresslevel=1) as lines:
        lines.writelines(f"{json.dumps(case)}\n" for case in cases)
