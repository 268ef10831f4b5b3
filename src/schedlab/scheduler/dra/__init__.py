"""Dynamic resource allocation: what is known of devices, slices, classes and claims, and the search for devices.

`devices` keeps what all profiles share; `allocator` searches; `plugins/dynamic_resources` asks and writes.
"""
