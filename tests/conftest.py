"""What holds for all tests."""

from __future__ import annotations

import gc

from hypothesis import settings

# The first example of a property imports what it is about, and machines are busy at times.
settings.register_profile("whorl", deadline=None)
settings.load_profile("whorl")


def pytest_collection_finish() -> None:
    """Thousands of tests stay until the end: looking through them again and again is slow."""
    gc.collect()
    gc.freeze()
