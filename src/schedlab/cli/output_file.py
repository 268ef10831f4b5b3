"""Files that verbs write for their users."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from schedlab.kernel.errors import SchedlabError


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
