"""Tables beside those of runs and journals; a store that was made without gets them later."""

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
# Names and values by which runs are found; those of experiments have labels, too, and runs that
# were made before there were labels get the one that their keys tell.
LABEL_TABLES: Final = """
CREATE TABLE IF NOT EXISTS labels(
    run INTEGER NOT NULL, label TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY(run, label)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS labels_by_value ON labels(label, value);
INSERT OR IGNORE INTO labels
    SELECT number, 'experiment', substr(key, 12, instr(substr(key, 12), ':') - 1)
    FROM runs WHERE key >= 'experiment:' AND key < 'experiment;';
"""
