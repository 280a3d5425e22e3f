"""Stops runs at every entry of their journals and resumes them."""
