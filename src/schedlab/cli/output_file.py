"""Files that verbs write for their users."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from schedlab.kernel.errors import SchedlabError


def check_file(file: Path | None, option: str) -> None:
    """Refuse a file that cannot be written later, before anything is done for it; raises SchedlabError."""
    if file is None:
        return
    problem = ""
    if file.is_dir():
        problem = "Is a directory"
    elif not file.parent.is_dir():
        problem = "No such file or directory"
    elif not os.access(file if file.exists() else file.parent, os.W_OK):
        problem = "Permission denied"
    if problem:
        raise SchedlabError(f"cannot be written: {problem}", location=str(file), hint=f"name another file: {option}")


def write_file(file: Path, parts: Iterable[str | bytes], option: str = "", *, private: bool = False) -> None:
    """Write parts of a text, or bytes, one after the other; a new private file is for its owner alone.

    Raises SchedlabError, which names the option that chose the file.
    """
    try:
        if private:
            file.touch(mode=0o600)
        with file.open("wb") as out:
            out.writelines(part if isinstance(part, bytes) else part.encode() for part in parts)
    except OSError as error:
        hint = f"name another file: {option}" if option else "name another file"
        raise SchedlabError(f"cannot be written: {error.strerror}", location=str(file), hint=hint) from error
