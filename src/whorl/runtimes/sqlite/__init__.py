"""The embedded store: one SQLite file, durable appends, many readers."""

from __future__ import annotations

from whorl.runtimes.sqlite.checking import Sizes
from whorl.runtimes.sqlite.listing import RunFilter
from whorl.runtimes.sqlite.pruning import Pruned
from whorl.runtimes.sqlite.reading import MemoryRow
from whorl.runtimes.sqlite.store import SqliteStore

__all__ = ["MemoryRow", "Pruned", "RunFilter", "Sizes", "SqliteStore"]
