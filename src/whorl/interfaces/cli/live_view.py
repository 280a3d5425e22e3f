"""The live view in a terminal: a picture of the run that is redrawn now and then, with keys.

The picture is a tree of the steps and loops in the journal: below an open loop are its
newest iterations and the steps of the running one. Of a list, the first running item is open.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from dataclasses import field
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console, Group
from rich.live import Live as Region
from rich.panel import Panel
from rich.text import Text

from whorl import ir
from whorl.errors import plural
from whorl.interfaces import formatting
from whorl.interfaces.cli import watchers
from whorl.interfaces.cli.terminal import SIGNS, badge, is_ours
from whorl.interfaces.formatting import allowed, dollars, joined, line, seconds
from whorl.interfaces.progress import LoopProgress, Progress, name_of
from whorl.interfaces.status_words import condition_words, target_of
from whorl.interpreter.events import split_iteration
from whorl.lazily import dataclass
from whorl.services.inspecting.results import loop_node

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from whorl.errors import StoreError
    from whorl.interfaces.cli.watchers import Offers
    from whorl.interfaces.progress import Step
    from whorl.runtimes.journal.journal import Entry, RunId

REDRAW_S = 0.2
SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
# What a picture cannot show stays above it as a line.
_ABOVE = frozenset({"warning", "task.in_doubt", "gate.waiting"})
# What is computed at once, or ends something else, is not shown before it begins.
_UNSEEN = (ir.Compute, ir.Assign, ir.Stop, ir.Break, ir.Continue)
_BUSY = ("running", "retrying", "waiting")
# So many rows of a loop and of a list.
_ITERATIONS_MAX, _ITEMS_MAX = 8, 10
_SPARKS_MAX = 28
_BAR = 14


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the picture; the open ones lead to what is running, and stay if room is short."""

    depth: int
    text: Text
    is_open: bool = False


@dataclass(slots=True)
class Picture:
    """The picture of a run at one moment, at most `width` wide and `height` high.

    The last picture stays on the screen, as high as needed: it shows the inside of every loop,
    except of those inside items.
    """

    progress: Progress
    workflow: ir.Workflow
    now: float
    width: int = 100
    height: int = 40
    is_last: bool = False
    # The addresses below each place, in the order in which they began.
    _inside: dict[str, dict[str, None]] = field(default_factory=dict)
    _busy: set[str] = field(default_factory=set)
    _failed: set[str] = field(default_factory=set)

    def lines(self) -> list[Text]:
        progress = self.progress
        words, color = badge(progress.status, progress.mark)
        took = seconds(self.now - progress.started_at) if progress.started_at else ""
        title, rest = (line(progress.workflow, 60), "bold"), f"  run {progress.run}  {took}"
        head = Text.assemble((words, f"bold {color}"), " ", title, rest)
        self._find_places()
        numbers = [*self._scores(), *self._budget()]
        foot = [*([Text("")] if numbers else []), *numbers]
        room = 10**6 if self.is_last else max(1, self.height - 1 - len(foot))
        rows = _fitting([*self._rows("", 1), *self._later()], room)
        return [head, *(Text.assemble("  " * row.depth, row.text) for row in rows), *foot]

    def _find_places(self) -> None:
        places: dict[str, Any] = {**self.progress.loops, **self.progress.steps}
        for address, place in sorted(places.items(), key=lambda item: item[1].started_at):
            is_loop = isinstance(place, LoopProgress)
            is_busy = not place.exit_reason if is_loop else place.state in _BUSY
            has_failed = place.is_failed if is_loop else place.state == "failed"
            while address:
                self._busy |= {address} if is_busy else set()
                self._failed |= {address} if has_failed else set()
                around = address[: max(address.rfind("["), address.rfind("/"), 0)]
                self._inside.setdefault(around, {})[address] = None
                address = around

    def _rows(self, around: str, depth: int) -> Iterator[Row]:
        """Yields a row for each place in another one, and below the open ones their inside."""
        inside = self._inside.get(around, {})
        for address in inside:
            is_busy = address in self._busy
            if (loop := self.progress.loops.get(address)) is not None:
                is_open = is_busy or (self.is_last and depth == 1)
                yield Row(depth, self._loop_text(loop, is_open=is_open), is_busy)
                if is_open:
                    table = watchers.loop_table(loop, newest=_ITERATIONS_MAX, now=self.now)
                    for text in map(Text, table):
                        text.highlight_words("✓", "green")
                        text.highlight_words("✗", "red")
                        yield Row(depth + 1, text)
                    for iteration in self._inside.get(address, ()):
                        yield from self._rows(iteration, depth + 2)
            elif (step := self.progress.steps.get(address)) is not None:
                is_leaf = address not in self._inside
                yield Row(depth, self._step_text(step), is_busy and is_leaf)
                yield from self._rows(address, depth + 1) if is_busy else ()
            else:
                items = [each for each in self._inside[address] if each[len(address)] == "["]
                yield Row(depth, self._text_around(address, items), is_busy)
                if items:
                    yield from self._items(items, depth + 1)
                elif is_busy:
                    yield from self._rows(address, depth + 1)

    def _items(self, items: list[str], depth: int) -> Iterator[Row]:
        """Yields a row for each item of a list, of many for the running and failed ones."""
        running = [item for item in items if item in self._busy]
        if len(items) > _ITEMS_MAX:
            failed = [item for item in items if item in self._failed]
            items = [*running, *failed][:_ITEMS_MAX]
        for item in items:
            is_open = item in running[:1]
            loops = filter(None, map(self.progress.loops.get, self._inside.get(item, ())))
            named = (
                f"{line(name_of(loop.address), 20)} {watchers.position_words(loop)}"
                for loop in loops
            )
            words = "" if is_open else joined(*named)
            text = Text.assemble(self._sign(self._state(item)), item[item.rindex("[") :], "  ")
            yield Row(depth, text.append(words), is_open)
            yield from self._rows(item, depth + 1) if is_open else ()

    def _later(self) -> Iterator[Row]:
        """Yields the nodes of the workflow that have not begun."""
        begun = {address.partition("[")[0] for address in self._inside.get("", ())}
        nodes = () if self.progress.status == "succeeded" else self.workflow.body.nodes
        for node in nodes:
            if node.name not in begun and not isinstance(node, _UNSEEN):
                yield Row(1, Text(f"○ {line(node.name, 60)}", "dim"))

    def _state(self, address: str) -> str:
        ended = "failed" if address in self._failed else "succeeded"
        return "running" if address in self._busy else ended

    def _sign(self, state: str) -> tuple[str, str]:
        if state == "running" and self.progress.status == "running":
            return f"{SPINNER[int(self.now * 5) % len(SPINNER)]} ", "yellow"
        sign, color = SIGNS.get(state, ("○", "dim"))
        return f"{sign} ", color

    def _text_around(self, address: str, items: list[str]) -> Text:
        """Returns a group, or a list with the numbers of its items that have begun and run."""
        text = Text.assemble(self._sign(self._state(address)), (line(name_of(address), 60), "bold"))
        if items:
            begun = max(split_iteration(item)[1] or 0 for item in items)
            sets = (("failed", self._failed), ("running", self._busy))
            counts = [(begun, "begun"), *((len(all_of & {*items}), word) for word, all_of in sets)]
            text.append(f"  {joined(*(f'{n:,} {word}' for n, word in counts if n))}")
        return text

    def _loop_text(self, loop: LoopProgress, *, is_open: bool) -> Text:
        sign = ("✓ ", "green") if loop.exit_reason else ("↻ ", "yellow")
        if loop.is_failed or loop.mark:
            sign = ("✗ ", "red") if loop.is_failed else ("! ", "yellow")
        node = loop_node(self.workflow, loop.path) if is_open and not loop.exit_reason else None
        until = f"until {condition_words(node.until)}" if node and node.until is not None else ""
        name = (line(name_of(loop.address), 60), "bold")
        return Text.assemble(
            sign, name, f"  iteration {watchers.position_words(loop)}  {until}".rstrip()
        )

    def _step_text(self, step: Step) -> Text:
        words = watchers.step_words(step, line(name_of(step.address), 60), now=self.now)
        text = Text.assemble(self._sign(step.state), words.partition(" ")[2])
        if step.text and step.state == "running":
            room = max(10, self.width - len(text) - 24)
            text.append(f'  "{line(step.text[-room * 2 :], room * 2)[-room:]}…"')
        return text

    # Below the tree: scores and the budget.

    def _scores(self) -> Iterator[Text]:
        """Yields the scores of the last loop that is open, its best one and its target."""
        busy = [loop for at, loop in self.progress.loops.items() if at in self._busy]
        for loop in busy[-1:]:
            scores = [done.score for done in loop.iterations][-_SPARKS_MAX:]
            if blocks := formatting.sparkline(scores):
                best = loop.best and f"  best {formatting.score(loop.best[1])} @{loop.best[0]}"
                node = loop_node(self.workflow, loop.path)
                target = target_of(node.until) if node is not None else None
                aim = f"   target {formatting.score(target)}" if target is not None else ""
                yield Text.assemble("score   ", (blocks, "cyan"), best or "", aim)

    def _budget(self) -> Iterator[Text]:
        """Yields what is used, and how much of the budget is left."""
        progress, budget = self.progress, self.progress.budget_usd
        cost = dollars(progress.cost_usd) if progress.cost_usd or not progress.unpriced else ""
        if progress.unpriced:
            calls = f"{plural(progress.unpriced, 'call')} of unknown price"
            cost = f"{cost} + ?" if cost else f"cost not known: {calls}"
        spent = f"{formatting.count(progress.tokens)} tok"
        if budget and progress.unpriced:
            # What is left of it is not known.
            yield Text(f"budget  {cost}   {allowed(budget)} allowed")
        elif budget:
            left = dollars(max(0.0, budget - progress.cost_usd))
            spending = f"{cost} spent  {left} left" if progress.calls else "nothing spent yet"
            yield _bar("budget", progress.cost_usd / budget, f"{spending} of {allowed(budget)}")
        # A person may have raised it since.
        if (tokens := self.workflow.limits.tokens) and progress.tokens <= tokens:
            share = progress.tokens / tokens
            yield _bar("tokens", share, f"{spent} of {formatting.count(tokens)}")
        elif progress.calls and not budget:
            yield Text(f"used    {joined(plural(progress.calls, 'call'), spent, cost)}")


def _bar(label: str, share: float, words: str) -> Text:
    bar = f"{'█' * round(min(1.0, share) * _BAR):░<{_BAR}}"
    return Text.assemble(f"{label:<8}", (bar, "red" if share >= 0.8 else "magenta"), f"  {words}")


def _fitting(rows: list[Row], room: int) -> list[Row]:
    """Leaves out the rows that are farthest from what is running, and says how many."""
    if len(rows) <= room:
        return rows
    focus = max((at for at, row in enumerate(rows) if row.is_open), default=len(rows) - 1)
    ranked = sorted(range(len(rows)), key=lambda at: (not rows[at].is_open, abs(at - focus)))
    kept = [rows[at] for at in sorted(ranked[: max(1, room - 1)])]
    more = plural(len(rows) - len(kept), "more row")
    return [*kept, Row(1, Text(f"… {more}", "dim"))][:room]


def framed(picture: Picture, title: str, keys: Sequence[str]) -> Panel:
    """Returns the picture in its frame, with the keys that do something; the last one has none."""
    lines = picture.lines()
    for text in lines:
        text.no_wrap, text.overflow = True, "ellipsis"
    below = None if picture.is_last else "  ".join(keys)
    return Panel(Group(*lines), title=title, title_align="left", subtitle=below, border_style="dim")


class Live(watchers.NullWatcher):
    """Draws the run until it is left or ends."""

    def __init__(self) -> None:
        self.progress = Progress()
        command = click.get_current_context(silent=True)
        self._title = "whorl" if command is None else command.command_path
        self._console = Console(stderr=True, highlight=False)
        self._region: Region | None = None
        self._redrawing: asyncio.Task[None] | None = None
        self._offers: Offers = {}
        # How the terminal was before it sent single keys.
        self._before: list[Any] | None = None
        self._workflow: ir.Workflow | None = None

    def offer(self, offers: Offers) -> None:
        self._offers = offers

    def begin(self, progress: Progress, workflow: ir.Workflow) -> None:
        self.progress, self._workflow = progress, workflow
        self._region = Region(
            console=self._console, auto_refresh=False, redirect_stdout=False, redirect_stderr=False
        )
        self._region.start()
        self._open_keys()
        self._redrawing = asyncio.create_task(self._redraw_now_and_then())

    def end(self, status: str, mark: str) -> None:
        self.progress.status, self.progress.mark = status, mark
        self._close_keys()
        if self._redrawing is not None and self._region is not None:
            self._redrawing.cancel()
            self._redraw(is_last=True)
            self._region.stop()
            self._redrawing = self._region = None

    def release(self) -> None:
        self._close_keys()
        self._console.show_cursor()

    def entries(self, run: RunId, entries: list[Entry]) -> None:
        for entry in self.progress.unseen(entries):
            self.progress.take(entry.event)
            if entry.event.kind in _ABOVE:
                for words in watchers.lines_of(self.progress, entry.event):
                    self.leave(words)

    def text(self, run: RunId, address: str, text: str) -> None:
        self.progress.stream(address, text)

    def leave(self, words: str) -> None:
        """Prints words above the picture; they must be one safe line."""
        self._console.print(Text(words, "yellow"))

    def trouble(self, run: RunId, fault: StoreError) -> None:
        self.leave(f"the store cannot be written, so the run waits: {line(str(fault), 200)}")

    def _open_keys(self) -> None:
        """Reads keys if this process is in the foreground of a terminal."""
        if is_ours(sys.stdin):
            import termios
            import tty

            self._before = termios.tcgetattr(sys.stdin)
            tty.setcbreak(sys.stdin)
            asyncio.get_running_loop().add_reader(sys.stdin, self._read_keys)

    def _close_keys(self) -> None:
        if self._before is not None:
            import termios

            before, self._before = self._before, None
            asyncio.get_running_loop().remove_reader(sys.stdin)
            termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)

    def _read_keys(self) -> None:
        for key in os.read(sys.stdin.fileno(), 32).decode("utf-8", "ignore"):
            if key in self._offers:
                self._offers[key][1]()

    async def _redraw_now_and_then(self) -> None:
        while True:
            self._redraw()
            await asyncio.sleep(REDRAW_S)

    def _redraw(self, *, is_last: bool = False) -> None:
        assert self._region is not None
        assert self._workflow is not None
        size, progress = self._console.size, self.progress
        now = time.time() if progress.status == "running" else progress.updated_at
        wide, high = size.width - 4, size.height - 3
        picture = Picture(progress, self._workflow, now, wide, high, is_last=is_last)
        words = [f"{key} {offer[0]}" for key, offer in sorted(self._offers.items())]
        self._region.update(framed(picture, self._title, words), refresh=True)
