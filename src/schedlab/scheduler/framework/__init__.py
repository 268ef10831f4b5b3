"""The contract between the scheduler and its plugins: extension points, status codes, cycle state, node and pod
views.

What a plugin may import, inside the project or outside. It calls no plugin itself and imports no other part of the
scheduler.
"""
