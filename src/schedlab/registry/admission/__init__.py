"""Admission: small steps between a request and the store, each switchable by its usual name.

A step that changes objects runs before the kind's own preparation and checks, in upstream's order; one that only
judges runs after them. A step lands together with the controller that answers it.
"""
