"""The tables of a store, the numbers of the event kinds, and every statement that takes many rows.

The journal is one log for all runs, in the order in which things happened, so that a commit touches
few pages however many runs it serves; an index finds the entries of a run. Numbers of kinds and the
meaning of columns never change within a format version.
"""

from __future__ import annotations

from typing import Final

APPLICATION_ID: Final = 0x57484F52  # "WHOR"
FORMAT_VERSION: Final = 2
PAGE_SIZE: Final = 4096
WAL_BYTES_MAX: Final = 64 * 1024 * 1024
BODY_BYTES_MAX: Final = 64 * 1024 * 1024

KIND_NUMBERS: Final[dict[str, int]] = {
    "run.started": 1,
    "task.started": 2,
    "task.finished": 3,
    "task.failed": 4,
    "task.in_doubt": 5,
    "timer.fired": 6,
    "gate.decided": 7,
    "run.paused": 8,
    "run.resumed": 9,
    "run.cancelled": 10,
    "run.continued": 11,
    "run.accepted": 12,
    "run.forked": 13,
    "loop.started": 32,
    "iteration.started": 33,
    "iteration.finished": 34,
    "loop.finished": 35,
    "node.finished": 36,
    "node.skipped": 37,
    "task.retrying": 38,
    "gate.waiting": 39,
    "budget.reached": 40,
    "run.waiting": 41,
    "run.finished": 42,
    "warning": 43,
    "loop.continued": 44,
}
KIND_NAMES: Final[dict[int, str]] = {number: kind for kind, number in KIND_NUMBERS.items()}

TABLES: Final = """
CREATE TABLE runs(
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    key TEXT UNIQUE,
    name TEXT NOT NULL,
    dialect TEXT NOT NULL,
    file TEXT NOT NULL,
    parent TEXT NOT NULL,
    created_at REAL NOT NULL,
    workflow_hash TEXT NOT NULL,
    workflow INTEGER NOT NULL,
    sources INTEGER NOT NULL,
    status TEXT NOT NULL
);
CREATE INDEX runs_by_status ON runs(status);
CREATE TABLE progress(
    run INTEGER PRIMARY KEY,
    owner INTEGER NOT NULL,
    process INTEGER,
    last_seq INTEGER NOT NULL,
    updated_at REAL NOT NULL,
    cost_usd REAL NOT NULL,
    calls INTEGER NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    in_doubt INTEGER NOT NULL,
    budget_usd REAL,
    loop TEXT NOT NULL,
    iteration INTEGER NOT NULL,
    iterations_max INTEGER NOT NULL,
    score REAL,
    exit_reason TEXT NOT NULL,
    error TEXT NOT NULL
);
CREATE TABLE processes(
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    pid INTEGER NOT NULL,
    started TEXT NOT NULL,
    boot TEXT NOT NULL,
    namespace TEXT NOT NULL,
    beat_at REAL NOT NULL,
    beat_monotonic REAL NOT NULL
);
CREATE TABLE journal(
    id INTEGER PRIMARY KEY,
    run INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    at REAL NOT NULL,
    address TEXT NOT NULL,
    body NOT NULL,
    large TEXT
);
CREATE UNIQUE INDEX journal_by_run ON journal(run, seq);
CREATE INDEX iterations_by_run ON journal(run, seq) WHERE kind = 34;
CREATE TABLE loops(
    run INTEGER NOT NULL,
    address TEXT NOT NULL,
    state TEXT NOT NULL,
    started INTEGER NOT NULL,
    finished INTEGER,
    PRIMARY KEY(run, address)
) WITHOUT ROWID;
CREATE TABLE payloads(
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    hash BLOB NOT NULL UNIQUE,
    size INTEGER NOT NULL,
    deflated INTEGER NOT NULL,
    content BLOB NOT NULL
);
CREATE TABLE payload_uses(
    run INTEGER NOT NULL,
    payload INTEGER NOT NULL,
    PRIMARY KEY(run, payload)
) WITHOUT ROWID;
CREATE INDEX payload_uses_by_payload ON payload_uses(payload);
CREATE TABLE snapshots(
    run INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    state BLOB NOT NULL,
    PRIMARY KEY(run, seq)
) WITHOUT ROWID;
CREATE TABLE letters(
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    run INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    at REAL NOT NULL,
    address TEXT NOT NULL,
    body NOT NULL
);
CREATE TABLE memories(
    key TEXT NOT NULL,
    number INTEGER NOT NULL,
    at REAL NOT NULL,
    record TEXT NOT NULL,
    PRIMARY KEY(key, number)
) WITHOUT ROWID;
"""

# The limit of a loop belongs to the loop: a run's row shows now this loop, now that one.
LIMITS_AND_MARKS: Final = """
ALTER TABLE loops ADD COLUMN iterations_max INTEGER NOT NULL DEFAULT 0;
ALTER TABLE loops ADD COLUMN mark TEXT NOT NULL DEFAULT '';
UPDATE loops SET iterations_max = coalesce((SELECT iterations_max FROM progress
    WHERE progress.run = loops.run AND progress.loop = loops.address), 0);
ALTER TABLE progress DROP COLUMN iterations_max;
ALTER TABLE progress ADD COLUMN mark TEXT NOT NULL DEFAULT '';
"""

# Version n is reached from n - 1 by MIGRATIONS[n], inside the transaction that sets the version.
# SQLite keeps the text of a definition: without the indentation it fits into one page.
MIGRATIONS: Final[dict[int, str]] = {
    1: " ".join(TABLES.split()),
    2: " ".join(LIMITS_AND_MARKS.split()),
}

# Each call of SQLite gives up Python's lock, and a busy event loop is slow to give it back:
# statements that take up to 64 rows keep the number of calls per commit small.
ROW_COUNTS: Final = (64, 16, 8, 4, 3, 2, 1)


def by_row_count(head: str, row: str, tail: str = "") -> dict[int, str]:
    """One constant statement for each number of rows that is bound at once."""
    return {count: head + ",".join([row] * count) + tail for count in ROW_COUNTS}


INSERT_ENTRIES: Final = by_row_count(
    "INSERT INTO journal(run, seq, kind, at, address, body, large) VALUES", "(?,?,?,?,?,?,?)"
)
SELECT_OWNERS: Final = by_row_count(
    "SELECT run, owner, last_seq FROM progress WHERE run IN (", "?", ")"
)
UPSERT_PROGRESS: Final = by_row_count(
    "INSERT INTO progress(run, owner, last_seq, updated_at, cost_usd, calls, input_tokens,"
    " output_tokens, in_doubt, budget_usd, loop, iteration, score, exit_reason, error) VALUES",
    "(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
    " ON CONFLICT(run) DO UPDATE SET last_seq=excluded.last_seq, updated_at=excluded.updated_at,"
    " cost_usd=excluded.cost_usd, calls=excluded.calls, input_tokens=excluded.input_tokens,"
    " output_tokens=excluded.output_tokens, in_doubt=excluded.in_doubt,"
    " budget_usd=excluded.budget_usd, loop=excluded.loop, iteration=excluded.iteration,"
    " score=excluded.score, exit_reason=excluded.exit_reason, error=excluded.error",
)
