"""Sends the text that steps stream to other processes, through a named pipe for each listener.

A listener makes a pipe in a folder beside the store, and the process that drives the run writes
to it. The text is not stored, and without listeners it is not sent. If the platform has no named
pipes, listeners see the text of a step when the step has ended.
"""

from __future__ import annotations

import asyncio
import json
import os
import stat
import time
from contextlib import contextmanager, suppress
from dataclasses import field
from typing import TYPE_CHECKING

from whorl.lazily import dataclass
from whorl.runtimes.journal.journal import RunId

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from whorl.errors import StoreError
    from whorl.runtimes.journal.journal import Entry

ENDING = "-live"
# If no listener takes the text, its end is kept.
TEXT_MAX = 100_000
# The folder is looked into so often at most, when there is text.
_LOOK_S = 0.02
# So many bytes are written whole or not at all; POSIX has no less than 512 of them.
_LINE_MAX = 4_096
_ESCAPED_MAX = 12


def folder_of(store: Path) -> Path:
    """Returns the folder with the pipes of a store's listeners."""
    return store.with_name(f"{store.name}{ENDING}")


def add_text(texts: dict[str, str], address: str, text: str) -> None:
    """Appends text to the text of a step."""
    texts[address] = (texts.get(address, "") + text)[-TEXT_MAX:]


@dataclass(slots=True, eq=False)
class _Pipe:
    """The writing end of a pipe; text that does not fit waits until there is room."""

    file: int
    waiting: dict[str, str]
    is_blocked: bool = False

    def flush(self) -> None:
        """Writes the waiting text that fits. Raises OSError if no process reads the pipe."""
        while self.waiting:
            address, text = next(iter(self.waiting.items()))
            room = _LINE_MAX - len(json.dumps(address)) - len('["", ""]\n')
            count = max(1, room // _ESCAPED_MAX)
            try:
                os.write(self.file, json.dumps([address, text[:count]]).encode() + b"\n")
            except BlockingIOError:
                if not self.is_blocked:
                    self.is_blocked = True
                    asyncio.get_running_loop().add_writer(self.file, self._continue)
                return
            del self.waiting[address]
            if text[count:]:
                self.waiting[address] = text[count:]

    def _continue(self) -> None:
        self._unblock()
        with suppress(OSError):
            self.flush()

    def _unblock(self) -> None:
        if self.is_blocked:
            self.is_blocked = False
            asyncio.get_running_loop().remove_writer(self.file)

    def close(self) -> None:
        self._unblock()
        os.close(self.file)


@dataclass(slots=True, eq=False)
class LiveText:
    """Implements `Watcher`: sends other processes the text that steps of this process stream.

    The store is beside `folder`.
    """

    folder: Path
    # The text that running steps have streamed so far, for late readers.
    _texts: dict[RunId, dict[str, str]] = field(default_factory=dict)
    _pipes: dict[RunId, dict[str, _Pipe]] = field(default_factory=dict)
    _looked: float = 0.0

    def entries(self, run: RunId, entries: list[Entry]) -> None:
        texts = self._texts.get(run, {})
        for entry in entries:
            if entry.event.kind in ("task.finished", "task.failed"):
                texts.pop(entry.event.address, None)
            elif entry.event.kind in ("run.finished", "run.waiting"):
                self._forget(run)

    def text(self, run: RunId, address: str, text: str) -> None:
        texts = self._texts.setdefault(run, {})
        self._look()
        add_text(texts, address, text)
        pipes = self._pipes.get(run, {})
        for name, pipe in list(pipes.items()):
            add_text(pipe.waiting, address, text)
            try:
                pipe.flush()
            except OSError:
                pipes.pop(name).close()

    def trouble(self, run: RunId, fault: StoreError) -> None:
        """Does nothing: other processes see the trouble at the store."""

    def close(self) -> None:
        for run in list(self._texts):
            self._forget(run)

    def _forget(self, run: RunId) -> None:
        self._texts.pop(run, None)
        for pipe in self._pipes.pop(run, {}).values():
            with suppress(OSError):
                pipe.flush()
            pipe.close()

    def _look(self) -> None:
        """Finds the listeners to runs that are driven here."""
        now = time.monotonic()
        if now - self._looked < _LOOK_S:
            return
        self._looked = now
        for run, name in _listed(self.folder):
            if run in self._texts and name not in self._pipes.setdefault(run, {}):
                file = _opened(self.folder / name)
                if file is not None:
                    self._pipes[run][name] = _Pipe(file, dict(self._texts[run]))


def _listed(folder: Path) -> list[tuple[RunId, str]]:
    """Returns the pipes of listeners, each with its run."""
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    # One that is not ready to be read has a name with a dot before it.
    return [(RunId(name.partition(".")[0]), name) for name in names if name[0] != "."]


def _opened(path: Path) -> int | None:
    """Opens a pipe that has a reader; removes a pipe without one."""
    try:
        file = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    except OSError:
        with suppress(OSError):
            if stat.S_ISFIFO(os.lstat(path).st_mode):
                os.unlink(path)
        return None
    about = os.fstat(file)
    # Another user who may write to the folder receives nothing.
    if stat.S_ISFIFO(about.st_mode) and about.st_uid == os.geteuid():
        return file
    os.close(file)
    return None


@contextmanager
def listening(
    folder: Path, run: RunId, hear: Callable[[str, str], None]
) -> Iterator[Callable[[], None]]:
    """Calls `hear` with the address and the text of steps that another process runs.

    Yields a function that takes all text received so far. The caller's event loop has to run.
    """
    made = _new_pipe(folder, run)
    if made is None:
        yield lambda: None
        return
    path, file = made
    rest = b""

    def take() -> None:
        nonlocal rest
        with suppress(BlockingIOError):
            while read := os.read(file, 65_536):
                *lines, rest = (rest + read).split(b"\n")
                for line in lines:
                    hear(*json.loads(line))

    loop = asyncio.get_running_loop()
    loop.add_reader(file, take)
    try:
        yield take
    finally:
        loop.remove_reader(file)
        os.close(file)
        with suppress(OSError):
            path.unlink()


def _new_pipe(folder: Path, run: RunId) -> tuple[Path, int] | None:
    """Creates a named pipe, or returns None if the platform or the folder does not allow it."""
    if not hasattr(os, "mkfifo"):
        return None
    name = f"{run}.{os.urandom(4).hex()}"
    hidden, path = folder / f".{name}", folder / name
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        if folder.is_symlink():
            return None
        for _, other in _listed(folder):
            # Those of processes that were killed are removed.
            if (left := _opened(folder / other)) is not None:
                os.close(left)
        os.mkfifo(hidden, 0o600)
        # It is opened for writing, too, so that it does not end with the one who writes to it.
        file = os.open(hidden, os.O_RDWR | os.O_NONBLOCK)
        hidden.rename(path)
    except OSError:
        return None
    return path, file
