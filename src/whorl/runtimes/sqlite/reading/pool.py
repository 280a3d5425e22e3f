"""Reading connections, lent out for one short query at a time so that the log can be emptied."""

from __future__ import annotations

import threading
from collections import deque
from contextlib import contextmanager
from typing import TYPE_CHECKING

import apsw

from whorl.errors import StoreError
from whorl.runtimes.sqlite.connection import open_reader
from whorl.runtimes.sqlite.faults import store_error

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.runtimes.sqlite.connection import Place


class Reader:
    """A pool of connections that cannot write; usable from any thread, without an event loop."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._idle: deque[apsw.Connection] = deque()
        self._watching: apsw.Connection | None = None
        self._gate = threading.Lock()
        self._closed = False

    @contextmanager
    def lend(self) -> Iterator[apsw.Connection]:
        """A connection for one query or a few; errors of SQLite come out as StoreError."""
        try:
            connection = self._idle.pop()
        except IndexError:
            connection = self._open()
        try:
            yield connection
        except apsw.Error as error:
            raise store_error(error, self._place.path) from error
        finally:
            if self._closed:
                connection.close(True)
            else:
                self._idle.append(connection)

    def version(self) -> int:
        """A number that changes whenever anybody has committed something to the store."""
        with self._gate:
            if self._watching is None:
                self._watching = self._open()
            try:
                return int(self._watching.pragma("data_version"))
            except apsw.Error as error:
                raise store_error(error, self._place.path) from error

    def close(self) -> None:
        """Closes all connections that are not lent out; those follow when they come back."""
        self._closed = True
        with self._gate:
            if self._watching is not None:
                self._watching.close(True)
        while self._idle:
            self._idle.pop().close(True)

    def _open(self) -> apsw.Connection:
        if self._closed:
            raise StoreError(f"the store {self._place.path!r} is closed", help="open it again")
        try:
            return open_reader(self._place)
        except apsw.Error as error:
            raise store_error(error, self._place.path) from error
