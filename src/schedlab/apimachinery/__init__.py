"""What any object is, whatever its kind: metadata of types, selectors, patches, tables, wire formats, status errors.

Knows no single kind: a rule that names pods or nodes belongs to `api`. Everything here is a pure function of its
arguments; only `kernel` may be imported.
"""
