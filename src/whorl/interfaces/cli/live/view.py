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
from whorl.interfaces.cli.live import tables
from whorl.interfaces.cli.live.drawing import draw
from whorl.interfaces.cli.live.outline import Outline
from whorl.interfaces.cli.live.tree_rows import View
from whorl.interfaces.cli.terminal import is_ours
from whorl.interfaces.cli.watchers import Lines, NullWatcher, lines_of
from whorl.interfaces.formatting import line
from whorl.interfaces.progress import Progress
from whorl.interpreter.machine import Machine
from whorl.interpreter.plan import Plan
from whorl.runtimes.journal.folding import come_to_rest, take

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TextIO

    from whorl.interfaces.cli.live.outline import Path
    from whorl.interfaces.cli.watchers import Offers
    from whorl.ir import Workflow
    from whorl.runtimes.journal.folding import Folded
    from whorl.runtimes.journal.journal import Entry, RunId


REDRAW_S = 0.2
ROWS_MAX = 8
PLAIN = "the run goes on here, in plain lines; Ctrl-C leaves it so that it can be resumed"
LAST_HEIGHT = 60
# What a picture cannot show stays above it as a line.
_ABOVE = frozenset({"warning", "task.in_doubt"})
# A key that sends several characters, such as an arrow, or any other.
_KEY = re.compile(r"\x1b[\[O]([A-D])|\x1b\[[0-9;]*[~A-Za-z]|(.)", re.DOTALL)
_ARROWS = {"A": "k", "B": "j", "C": "l", "D": "h"}


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
        for key in keys_in(os.read(self._stream.fileno(), 32).decode("utf-8", "ignore")):
            self._pressed(key)
            if self._before is None:
                return


def keys_in(typed: str) -> list[str]:
    """The keys that were pressed; the arrows are those of vi, and unknown ones are left out."""
    keys = (_ARROWS.get(match[1] or "", match[2]) for match in _KEY.finditer(typed))
    return [key for key in keys if key]


class Focus:
    """What is looked at: by itself what is under way, or what a person has moved to."""

    def __init__(self) -> None:
        self.path: Path = ()
        self.is_moved = False

    def follow(self, outline: Outline) -> None:
        if not self.is_moved:
            self.path = outline.busiest(before=self.path)

    def press(self, key: str, outline: Outline) -> None:
        """Moves to what is beside it (j, k), into it (l), out of it (h), or follows again (f)."""
        moved: Path | None = None
        match key:
            case "j" | "k":
                moved = outline.beside(self.path, 1 if key == "j" else -1)
            case "l":
                moved = outline.busiest(self.path, is_moved=True)
            case "h" if len(self.path) > 1:
                moved = self.path[:-1]
            case "f":
                self.is_moved = False
        if moved is not None:
            self.path, self.is_moved = moved, True


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
        self._look: Callable[[], Folded] | None = None
        self._folded: Folded | None = None
        self._outline: Outline | None = None
        self._focus = Focus()
        # How many rows of each loop at the top have scrolled up.
        self._scrolled: dict[str, int] = {}
        # Fixed while the view is open: a row that has scrolled up must not come back.
        self._rows_max = min(ROWS_MAX, max(2, self._console.size.height - 14))

    def offer(self, offers: Offers) -> None:
        self._offers = offers

    def look_on(self, look: Callable[[], Folded]) -> None:
        self._look = look

    def begin(self, progress: Progress, workflow: Workflow) -> None:
        self.progress, self._workflow = progress, workflow
        for address in progress.loops:
            if "[" not in address:
                self._scrolled.setdefault(address, 0)
        self._fold()
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
        for entry in self.progress.unseen(entries):
            self.progress.take(entry.event)
            self._feed(entry)
            if entry.event.kind == "loop.started" and "[" not in entry.event.address:
                self._scrolled[entry.event.address] = 0
            if entry.event.kind in _ABOVE:
                for words in lines_of(self.progress, entry.event):
                    self._console.print(Text(words, "yellow"))

    def _fold(self) -> None:
        assert self._workflow is not None
        try:
            self._folded = self._look() if self._look is not None else None
        except StoreError:
            # Whoever drives the run says so; its entries tell enough for a plainer picture.
            self._folded = None
        machine = self._folded.machine if self._folded else Machine(Plan(self._workflow))
        self._outline = Outline(machine)

    def _feed(self, entry: Entry) -> None:
        if self._folded is None or entry.seq <= self._folded.seq:
            return
        if entry.seq > self._folded.seq + 1:
            self._fold()
            return
        try:
            take(self._folded, entry)
        except StoreError:
            # What it cannot read it cannot follow; whoever drives the run can.
            self._look = None
            self._fold()
        else:
            come_to_rest(self._folded)
            self._folded.forget_journaled()

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
        elif self._outline is not None and self._region is not None:
            self._focus.press(key, self._outline)
            self._redraw()

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
        assert self._outline is not None
        self._scroll_up()
        progress, size = self.progress, self._console.size
        self._focus.follow(self._outline)
        view = View(
            progress,
            self._workflow,
            time.time() if progress.status == "running" else progress.updated_at,
            self._outline,
            self._focus.path,
            is_moved=self._focus.is_moved,
            rows_max=self._rows_max,
            width=size.width - 4,
            height=LAST_HEIGHT if is_last else size.height - 3,
            is_last=is_last,
        )
        offers = {"q": ("plain lines", None)} | self._offers
        words = [f"{key} {offer[0]}" for key, offer in sorted(offers.items())]
        self._region.update(framed(view, self._title, words), refresh=True)

    def _scroll_up(self) -> None:
        """Prints the rows that no longer fit into the view above it, where they stay."""
        for address, printed in self._scrolled.items():
            loop = self.progress.loops.get(address)
            for done in list(loop.iterations)[: -self._rows_max] if loop else ():
                if done.number > printed:
                    text = Text.assemble(line(address, 30), " ", tables.iteration(done))
                    self._console.print(text, no_wrap=True, overflow="ellipsis")
                    self._scrolled[address] = done.number


def framed(view: View, title: str, keys: Sequence[str]) -> Panel:
    """The picture in its frame, with the keys that do something; the last one has none."""
    lines = draw(view)
    for text in lines:
        text.no_wrap, text.overflow = True, "ellipsis"
    moves = ["↑↓←→ look around"] if view.path else []
    moves += ["f follow"] if view.is_moved else []
    return Panel(
        Group(*lines),
        title=title,
        title_align="left",
        subtitle=None if view.is_last else "  ".join([*keys, *moves]),
        box=ROUNDED,
        border_style="dim",
    )
