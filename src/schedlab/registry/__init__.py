"""One strategy per resource: prepare, default, admit, validate and the subresources; the door to the store.

Takes requests without HTTP (a verb, a resource, a body) and answers objects or a `StatusError`. A rule of one kind's
fields belongs to `api`, the wire to `apiserver`.
"""
