"""What holds for all tests."""

from __future__ import annotations

from hypothesis import settings

# The first example of a property imports what it is about, and machines are busy at times.
settings.register_profile("whorl", deadline=None)
settings.load_profile("whorl")
