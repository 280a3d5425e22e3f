"""Workflows that are written in Python: functions, and what they request in runs."""
