"""Patches: JSON patch, JSON merge patch and strategic merge patch. Server-side apply has its own package.

Mirrors: staging/src/k8s.io/apiserver/pkg/endpoints/handlers/patch.go (v1.36)
"""
