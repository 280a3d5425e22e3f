"""One process at a time records more of an experiment: two of them would pay for the same."""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from whorl.errors import UsageError
from whorl.wings.experiments.trials import digest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_NUMBER_BYTES = 20


@contextmanager
def alone(store: Path, name: str, again: str) -> Iterator[None]:
    """Keeps others from recording more of an experiment in a store, until this process ends.

    Raises UsageError W905 where one does so already; `again` is the command to give afterwards.
    """
    lock = os.open(store.with_name(f".{digest(name)}.lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            process = os.pread(lock, _NUMBER_BYTES, 0).decode("ascii", "replace")
            words = f"process {process} records more of experiment {name!r} already"
            raise UsageError(words, help=f"once it has ended: {again}", code="W905") from None
        os.ftruncate(lock, 0)
        os.pwrite(lock, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(lock)
