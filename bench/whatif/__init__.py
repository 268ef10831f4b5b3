"""Benchmarks of forks, trials and the search for changes on full clusters."""
