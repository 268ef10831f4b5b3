"""One process per folder: a lock that ends with the process that holds it, however that ends.

The locked file holds the process id for whoever is refused, and stays when the process is gone.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from schedlab.kernel.errors import SchedlabError


class FolderLock:
    """The right to use a folder; given back by `release` or by the end of the process."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor: int | None = descriptor

    @classmethod
    def take(cls, folder: Path, name: str, *, hint: str) -> FolderLock:
        """Lock the file `name` of a folder that exists; raises SchedlabError when another process has it."""
        file = folder / name
        try:
            descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise SchedlabError(
                f"cannot be opened: {error.strerror}", location=str(file), hint="make the folder writable"
            ) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(descriptor)
            raise SchedlabError(f"is in use by process {_noted(file)}", location=str(folder), hint=hint) from error
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"{os.getpid()}\n".encode())
        return cls(descriptor)

    @staticmethod
    def holder(folder: Path, name: str) -> int | None:
        """Return the id of the process that uses a folder; None when none does."""
        file = folder / name
        try:
            descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            noted = _noted(file)
            return int(noted) if noted.isdecimal() else None
        finally:
            os.close(descriptor)
        return None

    def release(self) -> None:
        """Let others use the folder; harmless when that has been said already."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def _noted(file: Path) -> str:
    return file.read_text().strip() or "of another user"
