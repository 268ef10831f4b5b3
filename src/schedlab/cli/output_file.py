"""Files that verbs write for their users."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from schedlab.kernel.errors import SchedlabError


def write_file(file: Path, parts: Iterable[str], option: str = "", *, private: bool = False) -> None:
    """Write parts of a text one after the other; a new private file is for its owner alone.

    Raises SchedlabError, which names the option that chose the file.
    """
    try:
        if private:
            file.touch(mode=0o600)
        with file.open("w", encoding="utf-8") as out:
            out.writelines(parts)
    except OSError as error:
        hint = f"name another file: {option}" if option else "name another file"
        raise SchedlabError(f"cannot be written: {error.strerror}", location=str(file), hint=hint) from error
