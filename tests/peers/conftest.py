"""What the tests of peers share with those of our own side: scripted servers, and their replies."""

from __future__ import annotations

import sys
from pathlib import Path

TESTS = Path(__file__).parents[1]
sys.path += [str(TESTS / folder) for folder in ("providers", "agents", "python")]
