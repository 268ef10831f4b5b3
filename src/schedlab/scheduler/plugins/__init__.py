"""The default plugins, one file each, and the explicit registry that lists them.

A plugin imports the framework, shared predicates of `api` and lower layers; never another plugin, the runtime, the
queue or the cache. The scalar form is the specification, the array form must equal it. A new plugin is a file here, a
line in the registry and a test file of the same name.
"""
