"""Where changes are kept beyond the life of the process, behind the store's back-end protocol.

Threads, files and connections to etcd are allowed here and in `cluster`. A back end is made by `cluster` alone, which
says how to get back onto the thread of the store.
"""

from schedlab.backends.etcd import EtcdBackend, EtcdPlace
from schedlab.backends.etcd_client import EtcdTLS, read_servers
from schedlab.backends.folder_lock import FolderLock
from schedlab.backends.group_writer import GroupWriter, Post, WriteRefusedError
from schedlab.backends.sqlite import SQLiteBackend

__all__ = [
    "EtcdBackend",
    "EtcdPlace",
    "EtcdTLS",
    "FolderLock",
    "GroupWriter",
    "Post",
    "SQLiteBackend",
    "WriteRefusedError",
    "read_servers",
]
