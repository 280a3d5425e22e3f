"""The tables of a store.

The journal is one log for all runs, in the order of events, so that a commit touches few pages for
any number of runs. An index finds the entries of a run. The meaning of columns never changes
within a format version.
"""

from __future__ import annotations

from typing import Final

FORMAT_VERSION: Final = 3

_RUNS: Final = """
CREATE TABLE runs(
    number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, key TEXT UNIQUE,
    name TEXT NOT NULL, dialect TEXT NOT NULL, file TEXT NOT NULL, parent TEXT NOT NULL,
    created_at REAL NOT NULL, workflow_hash TEXT NOT NULL, behaviour INTEGER NOT NULL,
    workflow INTEGER NOT NULL, sources INTEGER NOT NULL, status TEXT NOT NULL
);
CREATE INDEX runs_by_status ON runs(status);
CREATE TABLE progress(
    run INTEGER PRIMARY KEY, owner INTEGER NOT NULL, process INTEGER,
    last_seq INTEGER NOT NULL, updated_at REAL NOT NULL, cost_usd REAL NOT NULL,
    calls INTEGER NOT NULL, input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL,
    in_doubt INTEGER NOT NULL, budget_usd REAL, error TEXT NOT NULL, not_begun TEXT NOT NULL,
    loop TEXT NOT NULL, iteration INTEGER NOT NULL, score REAL, exit_reason TEXT NOT NULL,
    stopped_by TEXT NOT NULL, mark TEXT NOT NULL, seconds REAL NOT NULL DEFAULT 0
);
CREATE TABLE processes(
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    pid INTEGER NOT NULL, started TEXT NOT NULL, boot TEXT NOT NULL, namespace TEXT NOT NULL,
    beat_at REAL NOT NULL, beat_monotonic REAL NOT NULL
);
CREATE TABLE journal(
    id INTEGER PRIMARY KEY, run INTEGER NOT NULL, seq INTEGER NOT NULL, kind INTEGER NOT NULL,
    at REAL NOT NULL, address TEXT NOT NULL, body NOT NULL, large TEXT, checksum INTEGER NOT NULL
);
CREATE UNIQUE INDEX journal_by_run ON journal(run, seq);
CREATE INDEX iterations_by_run ON journal(run, seq) WHERE kind = 34;
CREATE TABLE loops(
    run INTEGER NOT NULL, address TEXT NOT NULL, state TEXT NOT NULL,
    started INTEGER NOT NULL, finished INTEGER,
    iterations_max INTEGER NOT NULL DEFAULT 0, mark TEXT NOT NULL DEFAULT '',
    exit_reason TEXT NOT NULL DEFAULT '',
    PRIMARY KEY(run, address)
) WITHOUT ROWID;
CREATE TABLE payloads(
    id INTEGER PRIMARY KEY AUTOINCREMENT, hash BLOB NOT NULL UNIQUE,
    size INTEGER NOT NULL, deflated INTEGER NOT NULL, content BLOB NOT NULL
);
CREATE TABLE payload_uses(
    run INTEGER NOT NULL, payload INTEGER NOT NULL, PRIMARY KEY(run, payload)
) WITHOUT ROWID;
CREATE INDEX payload_uses_by_payload ON payload_uses(payload);
CREATE TABLE snapshots(
    run INTEGER NOT NULL, seq INTEGER NOT NULL, state BLOB NOT NULL, PRIMARY KEY(run, seq)
) WITHOUT ROWID;
CREATE TABLE inbox(
    id INTEGER PRIMARY KEY AUTOINCREMENT, run INTEGER NOT NULL,
    kind INTEGER NOT NULL, at REAL NOT NULL, address TEXT NOT NULL, body NOT NULL
);
CREATE TABLE memories(
    key TEXT NOT NULL, number INTEGER NOT NULL, at REAL NOT NULL, record TEXT NOT NULL,
    PRIMARY KEY(key, number)
) WITHOUT ROWID;
"""
# Who started a run, whether servers keep it going, when it resumes by itself, why servers left it.
# The boot, and by how much the time of day was ahead of the monotonic clock.
# The charges of calls, by hour, loop and model.
_UPKEEP: Final = """
CREATE TABLE upkeep(
    run INTEGER PRIMARY KEY, origin TEXT NOT NULL, kept INTEGER NOT NULL, due REAL,
    held TEXT NOT NULL, anchor TEXT NOT NULL, ahead REAL NOT NULL
);
CREATE INDEX upkeep_by_due ON upkeep(due) WHERE due IS NOT NULL;
CREATE TABLE spending(
    run INTEGER NOT NULL, hour INTEGER NOT NULL, loop TEXT NOT NULL, model TEXT NOT NULL,
    calls INTEGER NOT NULL, input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL,
    cost_usd REAL NOT NULL, unpriced INTEGER NOT NULL, in_doubt INTEGER NOT NULL,
    PRIMARY KEY(run, hour, loop, model)
) WITHOUT ROWID;
"""
# Addresses that start workflows. Secrets are sealed; an old secret is valid until it expires.
_HOOKS: Final = """
CREATE TABLE hooks(
    name TEXT PRIMARY KEY, file TEXT NOT NULL, workflow TEXT NOT NULL, format TEXT NOT NULL,
    created_at REAL NOT NULL, secret TEXT NOT NULL, old_secret TEXT NOT NULL,
    old_until REAL NOT NULL
) WITHOUT ROWID;
"""
# Runs of workflows with a limit of concurrent runs. Runs that have not begun wait for their turn,
# one lane for each workflow.
_QUEUE: Final = """
CREATE TABLE queue(
    run INTEGER PRIMARY KEY, lane TEXT NOT NULL, at_once INTEGER NOT NULL,
    began INTEGER NOT NULL
);
CREATE INDEX queue_by_turn ON queue(began, lane, run);
"""
# Labels by which runs are found. The project of a run, unless it is the store's own project with
# its usual configuration. The reserve of calls in doubt, which is a part of the cost.
# Runs may have no rows here.
_ABOUT_RUNS: Final = """
CREATE TABLE labels(
    run INTEGER NOT NULL, label TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY(run, label)
) WITHOUT ROWID;
CREATE INDEX labels_by_value ON labels(label, value);
CREATE TABLE homes(run INTEGER PRIMARY KEY, home TEXT NOT NULL);
CREATE TABLE doubts(run INTEGER PRIMARY KEY, reserved_usd REAL NOT NULL);
"""
# The id of the store in the user's list of stores.
_IDENTITY: Final = "CREATE TABLE identity(id TEXT PRIMARY KEY) WITHOUT ROWID;"
# SQLite keeps the text of a definition: without the indentation it fits into one page.
TABLES: Final = " ".join(f"{_RUNS}{_UPKEEP}{_HOOKS}{_QUEUE}{_ABOUT_RUNS}{_IDENTITY}".split())
