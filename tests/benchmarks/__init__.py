"""Benchmarks: `python -m tests.benchmarks` measures and compares with `bounds.toml`."""
