"""How fast it is: `python -m tests.benchmarks` measures and compares with `bounds.toml`."""
