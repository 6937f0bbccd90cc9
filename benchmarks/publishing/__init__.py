"""Benchmarks of published collections."""
