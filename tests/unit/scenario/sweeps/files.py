"""A small scenario, a configuration and sweeps of them."""

from __future__ import annotations

from pathlib import Path

from tests.unit.scenario.test_comparing import PACKING, SCENARIO

HEAD = "apiVersion: schedlab.dev/v1alpha1\nkind: Sweep\nscenario: s.yaml\n"
SWEEP = """\
seeds: 1..2
configs: [{name: default}, packing.yaml]
parameters:
- {path: "cluster.nodes[0].count", values: [3, 4]}
"""


def write_sweep(folder: Path, body: str = SWEEP, scenario: str = SCENARIO) -> Path:
    """Write all files, and return the sweep's."""
    (folder / "s.yaml").write_text(scenario, encoding="utf-8")
    (folder / "packing.yaml").write_text(PACKING, encoding="utf-8")
    file = folder / "sweep.yaml"
    file.write_text(HEAD + body, encoding="utf-8")
    return file
