"""What the registry must know of each kind: defaults, checks, preparation, selectable fields; one file per kind."""
