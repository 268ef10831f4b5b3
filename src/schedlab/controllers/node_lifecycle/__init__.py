"""Node lifecycle: what becomes of nodes that are not ready, unreachable or under pressure."""
