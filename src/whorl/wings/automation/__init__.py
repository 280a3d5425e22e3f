"""Schedules: workflows that the clock starts."""
