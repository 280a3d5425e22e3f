"""The programs of peers that npm has installed, and what they run with."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest


def program(name: str) -> list[str]:
    """The command line of a program; skips where npm could not install it."""
    folder = Path(os.environ.get("WHORL_TEST_PEERS", str(Path(sys.prefix) / "peers")))
    found = folder / "node_modules" / ".bin" / name
    # The machine's own Node may be older than what the programs need.
    node = folder / "node_modules" / "node" / "bin" / "node"
    if not found.exists() or not node.exists():
        pytest.skip(f"npm has not installed the peers: there is no {name}")
    return [str(node), str(found)]
