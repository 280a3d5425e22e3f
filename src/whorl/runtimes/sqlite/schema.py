"""The tables of a store, the numbers of the event kinds, and every statement that takes many rows.

The journal is one log for all runs, in the order in which things happened, so that a commit touches
few pages however many runs it serves; an index finds the entries of a run. Numbers of kinds and the
meaning of columns never change within a format version.
"""

from __future__ import annotations

from typing import Final

APPLICATION_ID: Final = 0x57484F52  # "WHOR"
FORMAT_VERSION: Final = 3
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
    "task.held": 14,
    "task.sent": 15,
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

_DEFINITIONS: Final = """
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
    behaviour INTEGER NOT NULL,
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
    error TEXT NOT NULL,
    not_begun TEXT NOT NULL,
    loop TEXT NOT NULL,
    iteration INTEGER NOT NULL,
    score REAL,
    exit_reason TEXT NOT NULL,
    stopped_by TEXT NOT NULL,
    mark TEXT NOT NULL
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
    large TEXT,
    checksum INTEGER NOT NULL
);
CREATE UNIQUE INDEX journal_by_run ON journal(run, seq);
CREATE INDEX iterations_by_run ON journal(run, seq) WHERE kind = 34;
CREATE TABLE loops(
    run INTEGER NOT NULL,
    address TEXT NOT NULL,
    state TEXT NOT NULL,
    started INTEGER NOT NULL,
    finished INTEGER,
    iterations_max INTEGER NOT NULL DEFAULT 0,
    mark TEXT NOT NULL DEFAULT '',
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
CREATE TABLE inbox(
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
# SQLite keeps the text of a definition: without the indentation it fits into one page.
TABLES: Final = " ".join(_DEFINITIONS.split())

# Each call of SQLite gives up Python's lock, and a busy event loop is slow to give it back:
# statements that take up to 64 rows keep the number of calls per commit small.
ROW_COUNTS: Final = (64, 16, 8, 4, 3, 2, 1)


def by_row_count(head: str, row: str, tail: str = "") -> dict[int, str]:
    """One constant statement for each number of rows that is bound at once."""
    return {count: head + ",".join([row] * count) + tail for count in ROW_COUNTS}


INSERT_ENTRIES: Final = by_row_count(
    "INSERT INTO journal(run, seq, kind, at, address, body, large, checksum) VALUES",
    "(?,?,?,?,?,?,?,?)",
)
SELECT_OWNERS: Final = by_row_count(
    "SELECT run, owner, last_seq FROM progress WHERE run IN (", "?", ")"
)
# What each append changes in the row of a run.
CHANGING: Final = (
    "last_seq",
    "updated_at",
    "cost_usd",
    "calls",
    "input_tokens",
    "output_tokens",
    "in_doubt",
    "budget_usd",
    "error",
    "not_begun",
    "loop",
    "iteration",
    "score",
    "exit_reason",
    "stopped_by",
)
UPSERT_PROGRESS: Final = by_row_count(
    f"INSERT INTO progress(run, owner, {', '.join(CHANGING)}, mark) VALUES",
    f"({'?,' * (len(CHANGING) + 2)}'')",
    f" ON CONFLICT(run) DO UPDATE SET {', '.join(f'{name}=excluded.{name}' for name in CHANGING)}",
)
