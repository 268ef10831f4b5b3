"""The Deployment controller: which ReplicaSets there are, how large each is, and what the status says of it."""
