"""What a scenario or a scheduler configuration is read from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from schedlab.apimachinery.yaml_file import read_text
from schedlab.kernel.errors import SchedlabError


@dataclass(frozen=True, slots=True)
class Source:
    """A file, or a text that is taken for the content of one.

    within: the folder outside of which it may name no other files, None for a user who may read them anyway.
    """

    file: Path
    text: str | None = None
    within: Path | None = None

    def read(self, hint: str) -> str:
        """Return the text; raises SchedlabError, with the hint when there is no such file."""
        return read_text(self.file, hint) if self.text is None else self.text

    def beside(self, given: str) -> Path:
        """Return the path of a file that the text names; raises SchedlabError for one that it may not name."""
        path = self.file.parent / given
        if self.within is not None and not path.resolve().is_relative_to(self.within.resolve()):
            raise SchedlabError(
                f"{given} is not in the folder of scenarios",
                hint="name a file in it, or run the scenario with `schedlab run`",
            )
        return path
