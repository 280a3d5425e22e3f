"""Tables of what servers offer beside runs; a store that was made without gets them later."""

from __future__ import annotations

from typing import Final

# Addresses that start workflows. Secrets are sealed; an old one counts until its time is over.
HOOK_TABLES: Final = """
CREATE TABLE IF NOT EXISTS hooks(
    name TEXT PRIMARY KEY, file TEXT NOT NULL, workflow TEXT NOT NULL, format TEXT NOT NULL,
    created_at REAL NOT NULL, secret TEXT NOT NULL, old_secret TEXT NOT NULL,
    old_until REAL NOT NULL
) WITHOUT ROWID;
"""
# Runs of workflows of which so many run at once; those that have not begun wait for their turn,
# one lane for each workflow.
QUEUE_TABLES: Final = """
CREATE TABLE IF NOT EXISTS queue(
    run INTEGER PRIMARY KEY, lane TEXT NOT NULL, at_once INTEGER NOT NULL,
    began INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS queue_by_turn ON queue(began, lane, run);
"""
