"""Which runs of a workflow wait for their turn, where only so many of them run at once.

A place is taken when a run begins, and given back when it ends, waits for a person or is paused.
Whoever takes a place does it in one transaction, so that the limit holds for all processes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from whorl.runtimes.journal.journal import RunId
from whorl.runtimes.sqlite.ownership import IS_OWN, lane_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from whorl.runtimes.sqlite.connection import Reader
    from whorl.runtimes.sqlite.rows import JournalTables

_WAITS: Final = """SELECT queue.run, lane, at_once FROM queue JOIN runs ON number = queue.run
    WHERE runs.id = ? AND began = 0"""
# What has left its place; a run that cannot be driven, or that is left to people, keeps none.
_LEFT: Final = """DELETE FROM queue WHERE began = 1 AND lane = ?1
    AND (SELECT status FROM runs WHERE number = queue.run) IS NOT 'running'"""
_TAKEN: Final = """(SELECT count(*) FROM queue AS other JOIN runs ON number = other.run
    JOIN upkeep ON upkeep.run = other.run WHERE other.began = 1 AND other.lane = {lane}
    AND status = 'running' AND kept AND held = '')"""
_EARLIER: Final = """SELECT 1 FROM queue WHERE began = 0 AND lane = ? AND run < ? LIMIT 1"""
# The lanes hop along the index, however many runs wait.
_NEXT: Final = f"""WITH RECURSIVE waiting(lane) AS (
        SELECT min(lane) FROM queue WHERE began = 0 UNION ALL
        SELECT (SELECT min(lane) FROM queue WHERE began = 0 AND lane > waiting.lane)
        FROM waiting WHERE lane IS NOT NULL),
    first(run) AS (SELECT (SELECT min(run) FROM queue
        WHERE began = 0 AND queue.lane = waiting.lane) FROM waiting)
    SELECT id FROM first JOIN runs ON number = first.run JOIN queue ON queue.run = first.run
    WHERE {_TAKEN.format(lane="queue.lane")} < at_once AND {IS_OWN} ORDER BY number LIMIT ?"""
_LENGTH: Final = "SELECT count(*) FROM queue WHERE began = 0 AND lane = ?"


class QueueTable:
    """What a store knows of runs that wait for their turn."""

    home: str
    _reader: Reader
    _ask: Callable[..., Awaitable[Any]]

    def is_queued(self, run: str) -> bool:
        """Whether a run waits for its turn."""
        return bool(self._reader.rows(_WAITS, (run,)))

    def next_in_queue(self, limit: int) -> list[RunId]:
        """Of each workflow the run whose turn it is, where there is a place for it."""
        return [RunId(row[0]) for row in self._reader.rows(_NEXT, (self.home, limit))]

    def queue_length(self, workflow: str) -> int:
        return int(self._reader.rows(_LENGTH, (lane_of(self.home, workflow),))[0][0])

    async def admit(self, run: str) -> bool:
        """Gives a run its place; False: it is not its turn."""

        def change(tables: JournalTables) -> bool:
            execute = tables.connection.execute
            row = execute(_WAITS, (run,)).fetchone()
            if row is None:
                return True
            number, workflow, at_once = row
            execute(_LEFT, (workflow,))
            taken = execute(f"SELECT {_TAKEN.format(lane='?')}", (workflow,)).get
            if taken >= at_once or execute(_EARLIER, (workflow, number)).get:
                return False
            execute("UPDATE queue SET began = 1 WHERE run = ?", (number,))
            return True

        return bool(await self._ask(change))
