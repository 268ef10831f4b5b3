"""Changes comparisons and constants in the plugins, one at a time, and counts how many of the changes parity notices.

    python -m tools.mutate_plugins CORPUS JUDGE [SAMPLE [SEED]]

Works on a copy of the tree. A mutant is noticed when the parity run over the plugin's families fails, crashes or does
not end. The survivors are printed with file, line and change; docs/parity.md quotes the result.
"""

from __future__ import annotations

import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PLUGINS = Path("src/schedlab/scheduler/plugins")
_TIMEOUT_S = 240
_SWAPS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
# Families that meet the plugin, beside `mixed`; matched by the start of the file's path below the plugins.
_FAMILIES = {
    "default_preemption": ("preemption", "preemptmixed", "nominated"),
    "dynamic_resources": ("dra", "dramixed", "queue"),
    "image_locality": ("images", "mixed"),
    "inter_pod_affinity": ("podaffinity", "mixed", "queue", "configmixed"),
    "node_affinity": ("nodeaffinity", "mixed", "queue"),
    "node_declared_features": ("declaredfeatures", "gating", "queue"),
    "node_name": ("nodebasic", "mixed", "queue"),
    "node_ports": ("ports", "mixed", "queue"),
    "node_resources": ("resources", "podrequests", "mixed", "config", "configmixed", "queue"),
    "node_unschedulable": ("taints", "mixed", "queue"),
    "node_volume_limits": ("vollimits", "volmixed", "queue"),
    "pod_topology_spread": ("spread", "mixed", "queue", "configmixed"),
    "priority_sort": ("queue",),
    "scheduling_gates": ("nodebasic", "queue"),
    "taint_toleration": ("taints", "mixed", "queue"),
    "volume_binding": ("volbinding", "volmixed", "queue", "config"),
    "volume_restrictions": ("volrestrict", "volmixed", "queue"),
    "volume_zone": ("volzone", "volmixed", "queue"),
}


@dataclass(frozen=True)
class Mutant:
    """One change: the file below the plugins, the line, and the number of the node in the walk of the tree."""

    file: Path
    line: int
    number: int
    change: str


def mutants(file: Path, source: str) -> Iterator[Mutant]:
    """Every comparison and integer constant of a file that can be changed."""
    for number, node in enumerate(ast.walk(ast.parse(source))):
        if isinstance(node, ast.Compare) and type(node.ops[0]) in _SWAPS:
            yield Mutant(file, node.lineno, number, f"{type(node.ops[0]).__name__} of `{ast.unparse(node)}`")
        elif isinstance(node, ast.Constant) and type(node.value) is int:
            yield Mutant(file, node.lineno, number, f"constant {node.value}")


def mutated(source: str, mutant: Mutant) -> str:
    """The source with the change."""
    tree = ast.parse(source)
    node = list(ast.walk(tree))[mutant.number]
    if isinstance(node, ast.Compare):
        node.ops[0] = _SWAPS[type(node.ops[0])]()
    elif isinstance(node, ast.Constant) and isinstance(node.value, int):
        node.value += 1
    return ast.unparse(tree)


def noticed(tree: Path, mutant: Mutant, corpus: str, judge: str) -> bool:
    """Whether parity fails with the change."""
    target = tree / PLUGINS / mutant.file
    source = target.read_text(encoding="utf-8")
    target.write_text(mutated(source, mutant), encoding="utf-8")
    families = next(names for start, names in _FAMILIES.items() if str(mutant.file).startswith(start))
    command = [sys.executable, "-m", "tests.parity.run", "--judge", judge, "--corpus", corpus]
    command += [word for family in families for word in ("--family", family)]
    environment = {**os.environ, "PYTHONPATH": str(tree / "src")}
    try:
        done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, timeout=_TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        return True
    finally:
        target.write_text(source, encoding="utf-8")
    return done.returncode != 0


def main() -> int:
    """Try a sample of all mutants."""
    if len(sys.argv) not in {3, 4, 5}:
        print(__doc__)
        return 2
    corpus, judge = (str(Path(word).resolve()) for word in sys.argv[1:3])
    size, seed = (int(word) for word in (*sys.argv[3:], "100", "1")[:2])
    with tempfile.TemporaryDirectory(prefix="schedlab-mutants-") as folder:
        tree = Path(folder)
        for part in ("src", "tests"):
            shutil.copytree(ROOT / part, tree / part, ignore=shutil.ignore_patterns("__pycache__"))
        files = [file.relative_to(ROOT / PLUGINS) for file in sorted((ROOT / PLUGINS).rglob("*.py"))]
        known = [file for file in files if str(file).startswith(tuple(_FAMILIES))]
        every = [one for file in known for one in mutants(file, (ROOT / PLUGINS / file).read_text(encoding="utf-8"))]
        sample = random.Random(seed).sample(every, min(size, len(every)))  # noqa: S311 - a repeatable sample
        survivors = []
        for position, mutant in enumerate(sample, 1):
            if not noticed(tree, mutant, corpus, judge):
                survivors.append(mutant)
                print(f"survived: {mutant.file}:{mutant.line} {mutant.change}", flush=True)
            if position % 10 == 0:
                print(f"{position} tried, {len(survivors)} survived", flush=True)
    print(f"{len(every)} mutants, {len(sample)} tried, {len(sample) - len(survivors)} noticed by parity")
    return 0


if __name__ == "__main__":
    sys.exit(main())
