"""`schedlab env` prints the line that points kubectl at the simulator."""

from __future__ import annotations

from pathlib import Path

import pytest

from schedlab import cli
from schedlab.cluster.home import Home


def test_line_exports_the_kubeconfig(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SCHEDLAB_HOME", str(tmp_path))
    home = Home.of("lab")
    home.prepare()
    home.write_cluster({})

    with pytest.raises(SystemExit):
        cli.main(["env", "--name", "lab"])

    assert capsys.readouterr().out == f"export KUBECONFIG={tmp_path}/lab/kubeconfig\n"
