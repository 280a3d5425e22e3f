"""The live view in a terminal: redrawn now and then, with keys, and left as a record."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from typing import TYPE_CHECKING, Any

import click
from rich.box import ROUNDED
from rich.console import Console, Group
from rich.live import Live as Region
from rich.panel import Panel
from rich.text import Text

from whorl.interfaces.cli.drawing import View, draw, row_cells
from whorl.interfaces.cli.terminal import is_ours
from whorl.interfaces.cli.watchers import Lines, NullWatcher, lines_of
from whorl.interfaces.figures import line
from whorl.interfaces.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TextIO

    from whorl.errors import StoreError
    from whorl.interfaces.cli.watchers import Offers
    from whorl.ir import Workflow
    from whorl.runtimes.journal import Entry, RunId

REDRAW_S = 0.2
ROWS_MAX = 8
PLAIN = "the run goes on here, in plain lines; Ctrl-C leaves it so that it can be resumed"
# What a picture cannot show stays above it as a line.
_ABOVE = frozenset({"warning", "task.in_doubt"})


class Keys:
    """Reads keys while it is open, and leaves the terminal as it was."""

    def __init__(self, stream: TextIO, pressed: Callable[[str], None]) -> None:
        self._stream = stream
        self._pressed = pressed
        self._before: list[Any] | None = None

    def open(self) -> None:
        """Begins to listen, where there is a terminal and it is ours."""
        if is_ours(self._stream):
            import termios
            import tty

            number = self._stream.fileno()
            self._before = termios.tcgetattr(number)
            tty.setcbreak(number)
            asyncio.get_running_loop().add_reader(number, self._read)

    def close(self) -> None:
        if self._before is not None:
            asyncio.get_running_loop().remove_reader(self._stream.fileno())
            self.restore()

    def restore(self) -> None:
        if self._before is not None:
            import termios

            before, self._before = self._before, None
            termios.tcsetattr(self._stream.fileno(), termios.TCSADRAIN, before)

    def _read(self) -> None:
        for key in os.read(self._stream.fileno(), 32).decode("utf-8", "ignore"):
            self._pressed(key)
            if self._before is None:
                return


class Live(NullWatcher):
    """Draws the run; `q` leaves the view, and plain lines go on."""

    def __init__(self) -> None:
        self.progress = Progress()
        command = click.get_current_context(silent=True)
        self._title = "whorl" if command is None else command.command_path
        self._console = Console(stderr=True, highlight=False)
        self._workflow: Workflow | None = None
        self._region: Region | None = None
        self._redrawing: asyncio.Task[None] | None = None
        self._keys: Keys | None = None
        self._offers: Offers = {}
        self._lines: Lines | None = None
        self._scrolled: dict[str, int] = {}
        # Fixed while the view is open: a row that has scrolled up must not come back.
        self._rows_max = min(ROWS_MAX, max(2, self._console.size.height - 14))

    def offer(self, offers: Offers) -> None:
        self._offers = offers

    def begin(self, progress: Progress, workflow: Workflow) -> None:
        self.progress, self._workflow = progress, workflow
        self._region = Region(
            console=self._console,
            auto_refresh=False,
            redirect_stdout=False,
            redirect_stderr=False,
            vertical_overflow="ellipsis",
        )
        self._region.start()
        self._keys = Keys(sys.stdin, self._pressed)
        self._keys.open()
        self._redrawing = asyncio.create_task(self._redraw_now_and_then())

    def end(self, status: str, mark: str) -> None:
        self.progress.status, self.progress.mark = status, mark
        self._close()

    def release(self) -> None:
        if self._keys is not None:
            self._keys.restore()
        self._console.show_cursor()

    def entries(self, run: RunId, entries: list[Entry]) -> None:
        if self._lines is not None:
            self._lines.entries(run, entries)
            return
        for entry in entries:
            self.progress.take(entry.event)
            if entry.event.kind in _ABOVE:
                for words in lines_of(self.progress, entry.event):
                    self._console.print(Text(words, "yellow"))

    def text(self, run: RunId, address: str, text: str) -> None:
        self.progress.stream(address, text)

    def leave(self, words: str) -> None:
        if self._region is None:
            super().leave(words)
        else:
            self._console.print(Text(words, "yellow"))

    def trouble(self, run: RunId, fault: StoreError) -> None:
        if self._region is None:
            super().trouble(run, fault)
            return
        words = f"the store cannot be written, so the run waits: {line(str(fault), 200)}"
        self._console.print(Text(words, "red"))

    def _pressed(self, key: str) -> None:
        if key == "q" and "q" not in self._offers:
            self._close()
            self._console.print(PLAIN)
            self._lines = Lines()
            self._lines.progress = self.progress
        if key in self._offers:
            self._offers[key][1]()

    def _close(self) -> None:
        if self._keys is not None:
            self._keys.close()
            self._keys = None
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
        assert self._workflow is not None
        self._scroll_up()
        progress, width = self.progress, self._console.size.width - 4
        now = time.time() if progress.status == "running" else progress.updated_at
        lines = draw(View(progress, self._workflow, now, self._rows_max, width))
        for text in lines:
            text.no_wrap, text.overflow = True, "ellipsis"
        offers = {"q": ("plain lines", None)} | self._offers
        words = [f"{key} {offer[0]}" for key, offer in sorted(offers.items())]
        panel = Panel(
            Group(*lines),
            title=self._title,
            title_align="left",
            subtitle=None if is_last else "  ".join(words),
            box=ROUNDED,
            border_style="dim",
        )
        self._region.update(panel, refresh=True)

    def _scroll_up(self) -> None:
        """Prints the rows that no longer fit into the view above it, where they stay."""
        for address, loop in self.progress.loops.items():
            if "[" in address:
                continue
            printed = self._scrolled.get(address, 0)
            for done in list(loop.iterations)[: -self._rows_max]:
                if done.number > printed:
                    text = Text.assemble(line(address, 30), " ", row_cells(done))
                    self._console.print(text, no_wrap=True, overflow="ellipsis")
                    self._scrolled[address] = done.number
