"""Where changes are kept beyond the life of the process, behind the store's back-end protocol.

Threads and files are allowed here and in `cluster`. A back end is made by `cluster` alone, which says how to get back
onto the thread of the store.
"""

from schedlab.backends.folder_lock import FolderLock
from schedlab.backends.group_writer import GroupWriter, WriteRefusedError
from schedlab.backends.sqlite import SQLiteBackend

__all__ = ["FolderLock", "GroupWriter", "SQLiteBackend", "WriteRefusedError"]
