"""The Job controller: pods that run to their end, as often as asked for."""
