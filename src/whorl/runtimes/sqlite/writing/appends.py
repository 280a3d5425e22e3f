"""What an owner hands to the writer thread for its run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Sequence
    from concurrent.futures import Future

    from whorl.errors import WhorlError
    from whorl.interpreter.events import Event
    from whorl.runtimes.journal import Record, RunId
    from whorl.runtimes.sqlite.bodies import Encoded

AppendOutcome: TypeAlias = "tuple[Append, int | None, WhorlError | None]"
Answer: TypeAlias = "asyncio.Future[object] | Future[object]"


@dataclass(slots=True, eq=False)
class Append:
    """Entries for one run, with what has to happen in the same transaction."""

    run: RunId
    owner: int
    events: Sequence[Event]
    rows: Sequence[Encoded]
    after: int | None = None
    letters: Sequence[int] = ()
    memories: Sequence[tuple[Record, str]] = ()
    answer: Answer | None = None
    loop: asyncio.AbstractEventLoop | None = None
