"""The live view in a terminal: redrawn now and then, with keys, and left as a record."""

from __future__ import annotations

import asyncio
import os
import re
import sys
import time
from typing import TYPE_CHECKING, Any

import click
from rich.box import ROUNDED
from rich.console import Console, Group
from rich.live import Live as Region
from rich.panel import Panel
from rich.text import Text

from whorl.errors import StoreError
from whorl.interfaces.cli.live_tree import Outline, Picture
from whorl.interfaces.cli.terminal import is_ours
from whorl.interfaces.cli.watchers import Lines, NullWatcher, iteration_line, lines_of
from whorl.interfaces.formatting import line
from whorl.interfaces.progress import Progress
from whorl.interpreter.machine import Machine
from whorl.interpreter.plan import Plan
from whorl.runtimes.journal.folding import come_to_rest, take

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TextIO

    from whorl.interfaces.cli.watchers import Offers
    from whorl.ir import Workflow
    from whorl.runtimes.journal.folding import Folded
    from whorl.runtimes.journal.journal import Entry, RunId


REDRAW_S = 0.2
ROWS_MAX = 8
PLAIN = "the run goes on here, in plain lines; Ctrl-C leaves it so that it can be resumed"
# What a picture cannot show stays above it as a line.
_ABOVE = frozenset({"warning", "task.in_doubt"})
# An arrow and its like send several characters, which are no keys of ours.
_OTHER_KEYS = re.compile(r"\x1b[\[O][0-9;]*[~A-Za-z]")


class Keys:
    """Reads keys while it is open, and leaves the terminal as it was."""

    def __init__(self, stream: TextIO, pressed: Callable[[str], None]) -> None:
        self._stream = stream
        self._pressed = pressed
        self._before: list[Any] | None = None

    def open(self) -> None:
        """Starts to listen if the stream is a terminal and this process is in its foreground."""
        if is_ours(self._stream):
            import termios
            import tty

            self._before = termios.tcgetattr(self._stream)
            tty.setcbreak(self._stream)
            asyncio.get_running_loop().add_reader(self._stream, self._read)

    def close(self) -> None:
        if self._before is not None:
            import termios

            before, self._before = self._before, None
            asyncio.get_running_loop().remove_reader(self._stream)
            termios.tcsetattr(self._stream, termios.TCSADRAIN, before)

    def _read(self) -> None:
        typed = os.read(self._stream.fileno(), 32).decode("utf-8", "ignore")
        for key in _OTHER_KEYS.sub("", typed):
            self._pressed(key)
            if self._before is None:
                return


class Live(NullWatcher):
    """Draws the run; `q` leaves the view, and plain lines follow."""

    def __init__(self) -> None:
        self.progress = Progress()
        command = click.get_current_context(silent=True)
        self._title = "whorl" if command is None else command.command_path
        self._console = Console(stderr=True, highlight=False)
        self._workflow: Workflow | None = None
        self._region: Region | None = None
        self._redrawing: asyncio.Task[None] | None = None
        self._keys = Keys(sys.stdin, self._press)
        self._offers: Offers = {}
        self._lines: Lines | None = None
        self._look: Callable[[], Folded] | None = None
        self._folded: Folded | None = None
        self._outline: Outline | None = None
        # How many rows of each loop at the top have scrolled up.
        self._scrolled: dict[str, int] = {}
        # Fixed while the view is open: a row that has scrolled up must not come back.
        self._rows_max = min(ROWS_MAX, max(2, self._console.size.height - 14))

    def offer(self, offers: Offers) -> None:
        self._offers = {"q": ("plain lines", self._leave_view), **offers}

    def look_on(self, look: Callable[[], Folded]) -> None:
        self._look = look

    def begin(self, progress: Progress, workflow: Workflow) -> None:
        self.progress, self._workflow = progress, workflow
        self._fold()
        self._region = Region(
            console=self._console,
            auto_refresh=False,
            redirect_stdout=False,
            redirect_stderr=False,
            vertical_overflow="ellipsis",
        )
        self._region.start()
        self._keys.open()
        self._redrawing = asyncio.create_task(self._redraw_now_and_then())

    def end(self, status: str, mark: str) -> None:
        self.progress.status, self.progress.mark = status, mark
        self._close()

    def release(self) -> None:
        self._keys.close()
        self._console.show_cursor()

    def entries(self, run: RunId, entries: list[Entry]) -> None:
        if self._lines is not None:
            self._lines.entries(run, entries)
            return
        for entry in self.progress.unseen(entries):
            self.progress.take(entry.event)
            self._feed(entry)
            if entry.event.kind == "loop.started":
                self._scrolled.pop(entry.event.address, None)
            if entry.event.kind in _ABOVE:
                for words in lines_of(self.progress, entry.event):
                    self._say(words)

    def _fold(self) -> None:
        try:
            self._folded = self._look() if self._look is not None else None
        except StoreError:
            # The process that drives the run reports it; the entries allow a plainer picture.
            self._folded = None
        assert self._workflow is not None
        machine = self._folded.machine if self._folded else Machine(Plan(self._workflow))
        self._outline = Outline(machine, self.progress, self._workflow)

    def _feed(self, entry: Entry) -> None:
        if self._folded is None or entry.seq <= self._folded.seq:
            return
        if entry.seq > self._folded.seq + 1:
            self._fold()
            return
        try:
            take(self._folded, entry)
        except StoreError:
            # This process cannot follow what it cannot read; the one that drives the run can.
            self._look = None
            self._fold()
        else:
            come_to_rest(self._folded)
            self._folded.forget_journaled()

    def text(self, run: RunId, address: str, text: str) -> None:
        self.progress.stream(address, text)

    def leave(self, words: str) -> None:
        self._say(words)

    def trouble(self, run: RunId, fault: StoreError) -> None:
        words = f"the store cannot be written, so the run waits: {line(str(fault), 200)}"
        self._say(words, "red")

    def _say(self, words: str, color: str = "yellow") -> None:
        """Prints words above the picture; they must be one safe line."""
        self._console.print(Text(words, color))

    def _press(self, key: str) -> None:
        if key in self._offers:
            self._offers[key][1]()

    def _leave_view(self) -> None:
        self._close()
        self._say(PLAIN)
        self._lines = Lines()
        self._lines.progress = self.progress

    def _close(self) -> None:
        self._keys.close()
        if self._redrawing is not None:
            self._redrawing.cancel()
            self._redrawing = None
        if self._region is not None:
            self._redraw(is_last=True)
            self._region.stop()
            self._region = None

    async def _redraw_now_and_then(self) -> None:
        while True:
            self._redraw()
            await asyncio.sleep(REDRAW_S)

    def _redraw(self, *, is_last: bool = False) -> None:
        assert self._region is not None
        assert self._outline is not None
        self._scroll_up()
        progress, size = self.progress, self._console.size
        picture = Picture(
            self._outline,
            time.time() if progress.status == "running" else progress.updated_at,
            rows_max=self._rows_max,
            width=size.width - 4,
            height=size.height - 3,
            is_last=is_last,
        )
        words = [f"{key} {offer[0]}" for key, offer in sorted(self._offers.items())]
        self._region.update(framed(picture, self._title, words), refresh=True)

    def _scroll_up(self) -> None:
        """Prints the rows that no longer fit into the view above it, where they stay."""
        for address, loop in self.progress.loops.items():
            for done in list(loop.iterations)[: -self._rows_max] if "[" not in address else ():
                if done.number > self._scrolled.get(address, 0):
                    row = Text(iteration_line(loop, done), no_wrap=True, overflow="ellipsis")
                    self._console.print(row)
                    self._scrolled[address] = done.number


def framed(picture: Picture, title: str, keys: Sequence[str]) -> Panel:
    """The picture in its frame, with the keys that do something; the last one has none."""
    lines = picture.lines()
    for text in lines:
        text.no_wrap, text.overflow = True, "ellipsis"
    return Panel(
        Group(*lines),
        title=title,
        title_align="left",
        subtitle=None if picture.is_last else "  ".join(keys),
        box=ROUNDED,
        border_style="dim",
    )
