"""What several plugins share: normalising scores, scoring by a shape, fragments of pod signatures.

Mirrors: pkg/scheduler/framework/plugins/helper (v1.36).
"""
