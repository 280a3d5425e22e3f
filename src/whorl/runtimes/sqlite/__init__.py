"""The embedded store: one SQLite file, durable appends, many readers."""

from __future__ import annotations

from whorl.runtimes.sqlite.read_journal import MemoryRow, Sizes
from whorl.runtimes.sqlite.read_runs import Total
from whorl.runtimes.sqlite.shared_tables import Pruned
from whorl.runtimes.sqlite.store import SqliteStore

__all__ = ["MemoryRow", "Pruned", "Sizes", "SqliteStore", "Total"]
