"""The live view in a terminal: a picture of the run that is redrawn now and then, with keys.

The picture is a list of rows, made from the frames of the run's machine. They hold what the journal
does not: the number of items, which of them have begun, and the reserved amounts. On each level one
running place is open. No function here reads all items of a list.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
import time
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console, Group
from rich.live import Live as Region
from rich.panel import Panel
from rich.text import Text

from whorl import ir
from whorl.errors import StoreError, plural
from whorl.interfaces import formatting
from whorl.interfaces.cli.terminal import SIGNS, badge, is_ours
from whorl.interfaces.cli.watchers import Lines, NullWatcher, iteration_cells, lines_of, verdict
from whorl.interfaces.formatting import allowed, difference, dollars, joined, line, seconds, used
from whorl.interfaces.progress import LoopProgress, Progress
from whorl.interfaces.status_words import condition_words, exit_words, target_of
from whorl.interpreter.events import join
from whorl.interpreter.machine import Machine
from whorl.interpreter.plan import Plan
from whorl.lazily import dataclass
from whorl.runtimes.journal.folding import come_to_rest, take

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import TextIO

    from whorl.interfaces.cli.watchers import Offers
    from whorl.interfaces.progress import Step
    from whorl.runtimes.journal.folding import Folded
    from whorl.runtimes.journal.journal import Entry, RunId

REDRAW_S = 0.2
SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
PLAIN = "the run continues here, in plain lines; Ctrl-C stops it so that it can be resumed"
# What a picture cannot show stays above it as a line.
_ABOVE = frozenset({"warning", "task.in_doubt"})
# An arrow and its like send several characters, which are no keys of ours.
_OTHER_KEYS = re.compile(r"\x1b[\[O][0-9;]*[~A-Za-z]")
# What is computed at once, or ends something else, is not shown.
_UNSEEN = (ir.Compute, ir.Assign, ir.Stop, ir.Break, ir.Continue)
_HOLDING = (ir.Loop, ir.ForEach, ir.Group, ir.Branch, ir.Call)
# How many items are looked at, from the first and from the last that began, in search of some.
_LOOKED_AT = 1_000
# So many rows of a loop and of a list, and so many questions.
_ITERATIONS_MAX, _ITEMS_MAX, _GATES_MAX = 8, 10, 2
_SPARKS_MAX = 28
_BAR = 14
_HEAD = ("  #", " score", "    Δ", " time", "tokens", "   cost", "verdict")
# What a budget is called, and how its amounts are written.
_BUDGETS: dict[str, tuple[str, Callable[[float], str]]] = {
    "cost_usd": ("budget", dollars),
    "tokens": ("tokens", formatting.count),
    "calls": ("calls", formatting.count),
}


@dataclass(frozen=True, slots=True)
class Place:
    """A node of a block. `key` names its frame; it and `state` are empty until it begins."""

    node: ir.Node
    address: str
    state: str
    key: str = ""
    # Whether one can look into it.
    holds: bool = False

    @property
    def name(self) -> str:
        return line(self.node.name, 60)

    @property
    def is_running(self) -> bool:
        return self.state == "running"


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the picture; the open ones lead to what is running, and stay if room is short."""

    depth: int
    text: Text
    is_open: bool = False


@dataclass(slots=True)
class Picture:
    """The picture of a run at one moment, at most `width` wide and `height` high.

    The last picture stays on the screen, as high as needed: it shows the inside of every loop and
    list, except of those inside items.
    """

    machine: Machine
    progress: Progress
    workflow: ir.Workflow
    now: float
    width: int = 100
    height: int = 40
    is_last: bool = False

    def lines(self) -> list[Text]:
        progress, places = self.progress, self.root()
        words, color = badge(progress.status, progress.mark)
        took = seconds(self.now - progress.started_at) if progress.started_at else ""
        title, rest = (line(progress.workflow, 60), "bold"), f"  run {progress.run}  {took}"
        head = Text.assemble((words, f"bold {color}"), " ", title, rest)
        numbers = [*self._scores(places), *self._budgets()]
        foot = [*self._gates(), *([Text("")] if numbers else []), *numbers]
        room = 10**6 if self.is_last else max(1, self.height - 1 - len(foot))
        rows = _fitting(list(self._block(places, 1)), room)
        return [head, *(Text.assemble("  " * row.depth, row.text) for row in rows), *foot]

    # The places of the run, as the frames of its machine have them.

    def root(self) -> list[Place]:
        """Returns the nodes of the run; if its machine has no frames, from its entries alone."""
        if places := self._inside(self.machine.state["root"]):
            return places
        steps, loops = self.progress.steps, self.progress.loops
        usual = "succeeded" if self.progress.status == "succeeded" else ""
        states = {name: loop.exit_reason or "running" for name, loop in loops.items()}
        states |= {name: step.state for name, step in steps.items()}
        return [
            Place(node, node.name, states.get(node.name, usual), holds=node.name in loops)
            for node in self.workflow.body.nodes
            if not isinstance(node, _UNSEEN)
        ]

    def _inside(self, key: str) -> list[Place]:
        """Returns the nodes of the block inside a frame, or [] if it has no block."""
        frame: Any = self.machine.frames.get(key) or {}
        return self._places(frame["body"]) if frame.get("body") else []

    def _places(self, block: str) -> list[Place]:
        """Returns the visible nodes of a block; the nodes inside an unnamed call replace it."""
        frame, plan = self.machine.block(block)
        nodes = [node for node in plan.block.nodes if not isinstance(node, _UNSEEN)]
        if len(nodes) == 1 and isinstance(nodes[0], ir.Call) and nodes[0].unnamed:
            return self._inside(frame["children"].get(nodes[0].name, ""))
        places: list[Place] = []
        for node in nodes:
            key = frame["children"].get(node.name, "")
            state = str(frame["ends"].get(node.name, {}).get("status", "running" if key else ""))
            own = self.machine.frames[key]["address"] if key else join(frame["address"], node.name)
            holds = bool(key) and isinstance(node, _HOLDING)
            places.append(Place(node, own, state, key, holds))
        return places

    def _below(self, place: Place) -> list[Place]:
        """Returns the nodes inside a place: those of the running iteration or item."""
        if not place.key or (isinstance(place.node, ir.Loop) and not place.is_running):
            # Only the last body of an ended loop is kept, and it is not shown.
            return []
        if isinstance(place.node, ir.ForEach):
            running = self._running_items(place.key)
            return self._item_places(place.key, running[0]) if running else []
        return self._inside(place.key)

    def _open_one(self, places: Sequence[Place], depth: int) -> Place | None:
        """Returns the running place, or else, at the top, the last one that has an inside."""
        begun = [place for place in places if place.holds]
        running = [place for place in begun if place.is_running]
        return next(iter(running or ([] if depth > 1 else begun[-1:])), None)

    def _loop(self, place: Place) -> LoopProgress:
        """Returns what is known of a loop; for one that began long ago, what its frame holds."""
        if place.address in self.progress.loops:
            return self.progress.loops[place.address]
        frame = self.machine.loop_frames[place.key]
        number, limit = frame.get("count", 0), (frame.get("limits") or {}).get("iterations") or 0
        reason = str(frame.get("reason", ""))
        return LoopProgress(place.address, number=number, limit=int(limit), exit_reason=reason)

    def _is_judging(self, place: Place) -> bool:
        return bool(place.key and self.machine.loop_frames[place.key].get("judge"))

    def _step(self, place: Place) -> Step | None:
        frame: Any = self.machine.frames.get(place.key) or {}
        return self.progress.steps.get(frame.get("base", place.address))

    def counts(self, key: str) -> dict[str, int]:
        """Returns the number of items of a list in each state."""
        frame = self.machine.foreach_frames[key]
        if "items" not in frame:
            return dict.fromkeys(("total", "done", "failed", "running", "waiting"), 0)
        total, failed, left = len(frame["items"]), len(frame["failures"]), frame["left"]
        waiting = total - frame["next"] + len(frame.get("lost", ()))
        counts = {"total": total, "done": total - left - failed, "failed": failed}
        return counts | {"running": left - waiting, "waiting": waiting}

    def _running_items(self, key: str) -> list[int]:
        """Returns the first running items, in their order."""
        children = self.machine.foreach_frames[key].get("children", {})
        near = chain(islice(children, _LOOKED_AT), islice(reversed(children), _LOOKED_AT))
        running = (int(name) for name in near if "ended" not in self.machine.frames[children[name]])
        return sorted(islice(dict.fromkeys(running), _ITEMS_MAX))

    def _item_places(self, key: str, index: int) -> list[Place]:
        """Returns the nodes of an item, or [] if it has not begun or its frame was dropped."""
        block = self.machine.foreach_frames[key].get("children", {}).get(str(index), "")
        return self._places(block) if block else []

    # The rows.

    def _block(self, places: list[Place], depth: int) -> Iterator[Row]:
        """Yields a row for each node of a block, and below the open one its inside."""
        opened = self._open_one(places, depth)
        for place in places:
            is_open = place is opened or (self.is_last and place.holds)
            # Without an inside, a running step is what leads on.
            leads = is_open or (opened is None and place.is_running)
            yield Row(depth, self._node_text(place, is_open=is_open), leads)
            if not is_open:
                continue
            if isinstance(place.node, ir.Loop):
                yield from self._iterations(place, depth + 1)
            elif isinstance(place.node, ir.ForEach) and place.key:
                yield from self._items(place, depth + 1)
            else:
                yield from self._block(self._below(place), depth + 1)

    def _iterations(self, place: Place, depth: int) -> Iterator[Row]:
        """Yields the newest iterations of a loop under a head, and what its current one does."""
        loop = self._loop(place)
        done = list(loop.iterations)[-_ITERATIONS_MAX:]
        best = loop.best[0] if loop.best is not None else None
        rows = [(*iteration_cells(each), verdict(each)) for each in done]
        styles = ["bold" if each.number == best else "" for each in done]
        if place.key and not loop.exit_reason and loop.number > (done[-1].number if done else 0):
            took = seconds(self.now - loop.iteration_at) if loop.iteration_at else ""
            doing = "judge" if self._is_judging(place) else ""
            rows.append((str(loop.number), "", "", took, "", "", doing))
            styles.append("yellow")
        # A column that says nothing is left out; the last one has words.
        cells = [column for column in zip(_HEAD, *rows, strict=True) if any(column[1:])]
        numbers = [column for column in cells if column[0] != _HEAD[-1]]
        table = formatting.table(zip(*cells, strict=True), right=range(len(numbers)))
        for words, style in zip(table, ["dim", *styles] if rows else [], strict=True):
            text = Text(words, style)
            text.highlight_words("✓", "green")
            text.highlight_words("✗", "red")
            yield Row(depth, text, style == "yellow")
        yield from self._block(self._below(place), depth + 1)

    def _items(self, place: Place, depth: int) -> Iterator[Row]:
        """Yields a row for each item of a list, of many for the running and failed ones."""
        key, total = place.key, self.counts(place.key)["total"]
        frame, running = self.machine.foreach_frames[place.key], self._running_items(place.key)
        picked: Sequence[int] = range(total)
        if total > _ITEMS_MAX:
            failed = map(int, islice(reversed(frame["failures"]), _ITEMS_MAX))
            picked = sorted(islice(dict.fromkeys((*running, *failed)), _ITEMS_MAX))
        cells = []
        for at in picked:
            item: Any = "" if self.machine.plan.is_confidential else frame["items"][at]
            label = line(formatting.written(item), 28)
            error: Any = frame["failures"].get(str(at), {})
            while isinstance(cause := error.get("cause"), dict) and cause.get("message"):
                error = cause
            words = line(str(error.get("message", "")), 100)
            if not words and at not in running[:1]:
                words = self._doing(self._item_places(key, at))
            cells.append((str(at + 1), "" if label == str(at + 1) else label, words))
        for at, row in zip(picked, formatting.table(cells, right={0}), strict=True):
            name, state = str(at), "running" if at in running else "succeeded"
            if name in frame["failures"]:
                state = "failed"
            elif at >= frame["next"] or name in frame.get("lost", ()):
                state = ""
            style = {"failed": "red", "": "dim"}.get(state, "")
            text = Text.assemble(self._sign(state), (row, style))
            yield Row(depth + 1, text, at in running[:1])
            if at in running[:1]:
                yield from self._block(self._below(place), depth + 2)
        if len(picked) < total:
            yield Row(depth + 1, Text(f"… {plural(total - len(picked), 'more item')}"))

    def _node_text(self, place: Place, *, is_open: bool) -> Text:
        """Returns a node: its sign, its name and its progress; an open one shows the rest below."""
        node, step = place.node, self._step(place)
        if isinstance(node, ir.Loop) and place.holds:
            loop = self._loop(place)
            sign = ("↻ ", "yellow")
            if loop.is_failed or loop.mark:
                sign = ("✗ ", "red") if loop.is_failed else ("! ", "yellow")
            elif loop.exit_reason:
                sign = ("✓ ", "green")
            until = condition_words(node.until) if is_open and not loop.exit_reason else ""
            words = f"{loop.count()}   until {until}" if until else self._loop_words(place)
            return Text.assemble(sign, (place.name, "bold"), f"  iteration {words}")
        if step is not None and not isinstance(node, _HOLDING):
            return self._step_text(step, step.state if place.is_running else place.state, place)
        style = "bold" if is_open else "" if place.state else "dim"
        text = Text.assemble(self._sign(place.state), (place.name, style))
        if step is not None and step.branch:
            text.append(f"  → {line(step.branch, 40)}", "dim")
        if isinstance(node, ir.ForEach) and place.key:
            text.append(f"  {self._list_words(place)}")
        elif isinstance(node, ir.Wait) and place.is_running:
            due = self.machine.plain_frames[place.key].get("due")
            text.append(f"  {seconds(due - self.now)} left" if due is not None else "", "dim")
        elif place.is_running and not is_open:
            text.append(f"  {self._doing(self._below(place))}".rstrip(), "dim")
        return text

    def _sign(self, state: str) -> tuple[str, str]:
        if state == "running" and self.progress.status == "running":
            return f"{SPINNER[int(self.now * 5) % len(SPINNER)]} ", "yellow"
        sign, color = SIGNS.get(state, ("○", "dim"))
        return f"{sign} ", color

    def _step_text(self, step: Step, state: str, place: Place) -> Text:
        text = Text.assemble(self._sign(state), place.name)
        took = (step.ended_at or self.now) - step.started_at
        attempt = f"attempt {step.attempt}" if step.attempt > 1 else ""
        time, spent = seconds(took) if took else "", used(step.tokens, step.cost_usd)
        about = joined(line(step.model, 40), time, spent, attempt)
        text.append(f"  {about}" if about else "", "dim")
        if step.error:
            text.append(f"  {line(step.error, 80)}", "red")
        elif step.text and step.state == "running":
            room = max(10, self.width - len(text) - 24)
            shown = line(step.text[-room * 2 :], room * 2)[-room:]
            text.append(f'  "{shown}…"')
        return text

    def _loop_words(self, place: Place) -> str:
        loop, score = self._loop(place), ""
        if loop.iterations:
            # The score of the newest one, and how it changed.
            newest = loop.iterations[-1]
            score = f"{newest.shown_score} {difference(newest.score, newest.before)}".strip()
        doing = "judge" if self._is_judging(place) else self._doing(self._below(place))
        return joined(loop.count(), score, exit_words(loop.exit_reason, loop.stopped_by), doing)

    def _list_words(self, place: Place) -> str:
        counts = self.counts(place.key)
        words = [f"{counts[name]:,} {name}" for name in ("failed", "running", "waiting")
                 if counts[name]]  # fmt: skip
        return joined(f"{counts['done']:,} of {counts['total']:,} done", *words)

    def _doing(self, places: Sequence[Place]) -> str:
        """Returns what is running in a block, down to its step, or how its loop has ended."""
        ended = [place for place in places if isinstance(place.node, ir.Loop) and place.key]
        running = [place for place in places if place.is_running]
        if not (chosen := [*running, *ended][:1]):
            return ""
        place, name = chosen[0], line(chosen[0].name, 20)
        if isinstance(place.node, ir.ForEach):
            return f"{name} {self._list_words(place)}"
        if isinstance(place.node, ir.Loop):
            return f"{name} {self._loop_words(place)}"
        step = self._step(place)
        took = seconds(self.now - step.started_at) if step else ""
        return self._doing(self._below(place)) or f"{name} {took}".rstrip()

    # Below the tree: questions, scores, budgets.

    def _gates(self) -> Iterator[Text]:
        """Yields the open questions; a run that only waits asks them below the view, at its end."""
        waiting = self.progress.waiting if self.progress.status == "running" else {}
        for address, gate in islice(waiting.items(), _GATES_MAX):
            words = line(str(gate.get("message", "")), self.width - 20)
            place = line(address.partition("/:")[0], 40)
            yield Text.assemble(("⏸ ", "yellow"), place, "  ", (words, "yellow"))

    def _scores(self, places: list[Place]) -> Iterator[Text]:
        """Yields the scores of the innermost loop that is open, its best one and its target."""
        opened = [place] if (place := self._open_one(places, 1)) else []
        while place := self._open_one(self._below(opened[-1]), 2) if opened else None:
            opened.append(place)
        for place in [place for place in opened if isinstance(place.node, ir.Loop)][-1:]:
            loop, node = self._loop(place), place.node
            measured = [done.score for done in loop.iterations][-_SPARKS_MAX:]
            if not any(item is not None for item in measured):
                return
            text = Text.assemble("score   ", (formatting.sparkline(measured), "cyan"), "  ")
            if loop.best is not None:
                text.append(f"best {formatting.score(loop.best[1])} @{loop.best[0]}")
            target = target_of(node.until) if isinstance(node, ir.Loop) else None
            text.append(f"   target {formatting.score(target)}" if target is not None else "")
            yield text

    def _budgets(self) -> Iterator[Text]:
        """Yields for each limit of the run what is spent, reserved for calls, and left."""
        progress, state = self.progress, self.machine.state
        limits: Any = {"cost_usd": progress.budget_usd} | (state.get("limits") or {})
        held: Any = state.get("reserved") or {}
        usage: Any = state.get("usage") or {}
        unpriced = int(usage.get("unpriced", 0))
        cost = f"{dollars(progress.cost_usd)}{' + ?' if unpriced else ''}"
        if unpriced and not progress.cost_usd:
            cost = f"cost not known: {plural(unpriced, 'call')} of unknown price"
        spent = {"cost_usd": progress.cost_usd, "tokens": progress.tokens, "calls": progress.calls}
        shown = [name for name in _BUDGETS if limits.get(name)]
        for name in shown:
            label, written = _BUDGETS[name]
            limit, reserved = limits[name], held.get(name, 0.0)
            whole = allowed(limit) if name == "cost_usd" else written(limit)
            if name == "cost_usd" and unpriced:
                # What is left of it is not known.
                yield Text(f"{label:<8}{cost}   {whole} allowed")
                continue
            left = max(0.0, limit - spent[name] - reserved)
            about = f"{written(reserved)} reserved" if reserved else ""
            words = (f"{written(spent[name])} spent", about, f"{written(left)} left of {whole}")
            if not progress.calls and not reserved:
                # What the first call costs may not be known.
                words = (f"nothing spent yet of {whole}", "", "")
            share = min(1.0, spent[name] / limit)
            bar = f"{'█' * round(share * _BAR):░<{_BAR}}"
            style = "red" if share >= 0.8 else "magenta"
            yield Text.assemble(f"{label:<8}", (bar, style), f"  {joined(*words)}")
        if not shown and progress.calls:
            tokens = f"{formatting.count(progress.tokens)} tok"
            known = cost if progress.cost_usd or unpriced else ""
            yield Text(f"used    {joined(plural(progress.calls, 'call'), tokens, known)}")


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


class Keys:
    """Reads keys while it is open, and leaves the terminal as it was."""

    def __init__(self, stream: TextIO, pressed: Callable[[str], None]) -> None:
        self._stream, self._pressed = stream, pressed
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
        self._region: Region | None = None
        self._redrawing: asyncio.Task[None] | None = None
        self._keys = Keys(sys.stdin, self._press)
        self._offers: Offers = {}
        self._lines: Lines | None = None
        self._look: Callable[[], Folded] | None = None
        self._folded: Folded | None = None
        self._workflow: ir.Workflow | None = None

    def offer(self, offers: Offers) -> None:
        self._offers = {"q": ("plain lines", self._leave_view), **offers}

    def look_on(self, look: Callable[[], Folded]) -> None:
        self._look = look

    def begin(self, progress: Progress, workflow: ir.Workflow) -> None:
        self.progress, self._workflow = progress, workflow
        self._fold(None)
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
            if self._folded is not None and entry.seq > self._folded.seq:
                self._fold(entry)
            if entry.event.kind in _ABOVE:
                for words in lines_of(self.progress, entry.event):
                    self.leave(words)

    def _fold(self, entry: Entry | None) -> None:
        """Takes an entry into the machine, or reads the journal up to now."""
        try:
            if entry is None or self._folded is None or entry.seq > self._folded.seq + 1:
                self._folded = self._look() if self._look is not None else None
            else:
                take(self._folded, entry)
                come_to_rest(self._folded)
                self._folded.forget_journaled()
        except StoreError:
            # The process that drives the run reports it; the entries allow a plainer picture.
            self._folded = None

    def text(self, run: RunId, address: str, text: str) -> None:
        self.progress.stream(address, text)

    def leave(self, words: str) -> None:
        """Prints words above the picture; they must be one safe line."""
        self._console.print(Text(words, "yellow"))

    def trouble(self, run: RunId, fault: StoreError) -> None:
        self.leave(f"the store cannot be written, so the run waits: {line(str(fault), 200)}")

    def _press(self, key: str) -> None:
        if key in self._offers:
            self._offers[key][1]()

    def _leave_view(self) -> None:
        self._close()
        self.leave(PLAIN)
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
        assert self._workflow is not None
        size, is_running = self._console.size, self.progress.status == "running"
        picture = Picture(
            self._folded.machine if self._folded else Machine(Plan(self._workflow)),
            self.progress,
            self._workflow,
            time.time() if is_running else self.progress.updated_at,
            width=size.width - 4,
            height=size.height - 3,
            is_last=is_last,
        )
        words = [f"{key} {offer[0]}" for key, offer in sorted(self._offers.items())]
        self._region.update(framed(picture, self._title, words), refresh=True)
