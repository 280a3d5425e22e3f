"""Benchmarks, always as ratios in one run: `python -m bench` (all) or `python -m bench iteration`."""
