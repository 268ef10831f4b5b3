"""The end of namespaces: their contents go, and conditions tell what is left."""
