"""What all controllers are made of: work queue, expectations, events, ownership, pods made from templates.

Mirrors: pkg/controller/controller_utils.go, controller_ref_manager.go and client-go's workqueue and record (v1.36).
"""
