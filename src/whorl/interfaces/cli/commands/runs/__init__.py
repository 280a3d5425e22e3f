"""Commands that start, steer and look at runs."""
