"""Benchmarks, always as ratios in one run: `python -m bench`, or `python -m bench iteration`."""
