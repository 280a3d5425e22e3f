"""`python -m whorl.interfaces.cli` is the same as `whorl`."""

from __future__ import annotations

from whorl.interfaces.cli import main

main()
