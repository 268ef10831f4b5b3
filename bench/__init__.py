"""Benchmarks: whole loads, run by hand or by `make bench`, alone on a quiet machine."""
