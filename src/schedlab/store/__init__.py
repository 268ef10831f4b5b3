"""The role of etcd: one revision counter, optimistic concurrency, the watch log, kept history and copy-on-write
forks.

Holds immutable bytes and never looks inside a body. There is a single writer. It is imported directly by `registry`,
`cluster` and the back ends alone; everybody else goes through the registry.
"""
