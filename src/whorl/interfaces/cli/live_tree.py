"""The live view as a picture: the tree of a run, with lines cut to a size; no clock, no terminal.

The tree comes from the frames of the run's machine. They hold what the journal does not: the number
of items, which of them have begun, and the reserved amounts. On each level one running place is
open. No function here reads all items of a list.
"""

from __future__ import annotations

import json
from itertools import chain, islice
from math import floor
from typing import TYPE_CHECKING, Any

from rich.text import Text

from whorl import ir
from whorl.errors import plural
from whorl.interfaces import formatting
from whorl.interfaces.cli.terminal import SIGNS, badge
from whorl.interfaces.cli.watchers import iteration_cells, verdict
from whorl.interfaces.formatting import allowed, difference, dollars, joined, line, seconds, used
from whorl.interfaces.progress import LoopProgress
from whorl.interfaces.status_words import condition_words, exit_words, target_of
from whorl.interpreter.events import join
from whorl.lazily import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from whorl.interfaces.progress import Progress, Step
    from whorl.interpreter.machine import Machine

SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
# What is computed at once, or ends something else, is not shown.
_UNSEEN = (ir.Compute, ir.Assign, ir.Stop, ir.Break, ir.Continue)
_HOLDING = (ir.Loop, ir.ForEach, ir.Group, ir.Branch, ir.Call)
# How many items are looked at, from the first and from the last that began, in search of some.
_LOOKED_AT = 1_000
_GATES_MAX = 2
_SPARKS_MAX = 28
_BAR = (6, 28)
_HEAD = ("  #", " score", "    Δ", " time", "tokens", "   cost", "verdict")
# The fields of an item by which people know it.
_NAMES = ("name", "title", "id", "key", "label", "topic", "text")
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
    holds: bool = False
    """Whether one can look into it."""

    @property
    def name(self) -> str:
        return line(self.node.name, 60)

    @property
    def is_running(self) -> bool:
        return self.state == "running"

    @property
    def until(self) -> ir.Condition | None:
        return self.node.until if isinstance(self.node, ir.Loop) else None


@dataclass(frozen=True, slots=True)
class Counts:
    """The number of items of a list in each state; together they are `total`."""

    total: int = 0
    done: int = 0
    failed: int = 0
    running: int = 0
    waiting: int = 0


class Outline:
    """What the frames of a running machine show of a run; it keeps no state of its own."""

    def __init__(self, machine: Machine, progress: Progress, workflow: ir.Workflow) -> None:
        self.machine, self.progress, self.workflow = machine, progress, workflow

    def root(self) -> list[Place]:
        """Returns the nodes of the run; if its machine has no frames, from its entries alone."""
        block = self.body(self.machine.state["root"])
        if block:
            return self.places(block)
        steps, loops = self.progress.steps, self.progress.loops
        usual = "succeeded" if self.progress.status == "succeeded" else ""
        states = {name: loop.exit_reason or "running" for name, loop in loops.items()}
        states |= {name: step.state for name, step in steps.items()}
        return [
            Place(node, node.name, states.get(node.name, usual), holds=node.name in loops)
            for node in self.workflow.body.nodes
            if not isinstance(node, _UNSEEN)
        ]

    def places(self, block: str) -> list[Place]:
        """Returns the visible nodes of a block; the nodes inside an unnamed call replace it."""
        frame, plan = self.machine.block(block)
        nodes = [node for node in plan.block.nodes if not isinstance(node, _UNSEEN)]
        if len(nodes) == 1 and isinstance(nodes[0], ir.Call) and nodes[0].unnamed:
            inner = self.body(frame["children"].get(nodes[0].name, ""))
            return self.places(inner) if inner else []
        places: list[Place] = []
        for node in nodes:
            key = frame["children"].get(node.name, "")
            state = str(frame["ends"].get(node.name, {}).get("status", "running" if key else ""))
            address = join(frame["address"], node.name)
            if key:
                address = self.machine.frames[key]["address"]
            places.append(
                Place(node, address, state, key, bool(key) and isinstance(node, _HOLDING))
            )
        return places

    def body(self, key: str) -> str:
        """Returns the key of the block inside a frame, or "" if it has no block."""
        frame = self.machine.frames.get(key)
        return (frame.get("body") or "") if frame is not None else ""

    def step(self, place: Place) -> Step | None:
        frame = self.machine.frames.get(place.key)
        base = frame.get("base", place.address) if frame is not None else place.address
        return self.progress.steps.get(base)

    def loop(self, place: Place) -> LoopProgress:
        """Returns what is known of a loop; for one that began long ago, what its frame holds."""
        known = self.progress.loops.get(place.address)
        if known is not None:
            return known
        frame = self.machine.loop_frames[place.key]
        limits: Any = frame.get("limits") or {}
        number, limit = frame.get("count", 0), limits.get("iterations") or 0
        reason = str(frame.get("reason", ""))
        return LoopProgress(place.address, number=number, limit=limit, exit_reason=reason)

    def is_judging(self, place: Place) -> bool:
        """Returns whether a loop waits for its judge."""
        return bool(place.key and self.machine.loop_frames[place.key].get("judge"))

    def counts(self, key: str) -> Counts:
        frame = self.machine.foreach_frames[key]
        if "items" not in frame:
            return Counts()
        total, failed, left = len(frame["items"]), len(frame["failures"]), frame["left"]
        waiting = total - frame["next"] + len(frame.get("lost", ()))
        return Counts(total, total - left - failed, failed, left - waiting, waiting)

    def item_state(self, key: str, index: int) -> str:
        frame = self.machine.foreach_frames[key]
        name = str(index)
        if name in frame["failures"]:
            return "failed"
        if index >= frame["next"] or name in frame.get("lost", ()):
            return ""
        return "running" if self._is_running(key, name) else "succeeded"

    def _is_running(self, key: str, name: str) -> bool:
        child = self.machine.foreach_frames[key]["children"].get(name)
        return child is not None and "ended" not in self.machine.frames[child]

    def item_places(self, key: str, index: int) -> list[Place]:
        """Returns the nodes of an item, or [] if it has not begun or its frame was dropped."""
        block = self.machine.foreach_frames[key].get("children", {}).get(str(index), "")
        return self.places(block) if block else []

    def item_error(self, key: str, index: int) -> str:
        """Returns the message of the first error that made an item fail."""
        error = self.machine.foreach_frames[key]["failures"].get(str(index), {})
        while isinstance(cause := error.get("cause"), dict) and cause.get("message"):
            error = cause
        return str(error.get("message", ""))

    def item_label(self, key: str, index: int) -> str:
        """Returns the label of an item, or "" if it says no more than the number."""
        if self.machine.plan.is_confidential:
            return ""
        item: Any = self.machine.foreach_frames[key]["items"][index]
        if isinstance(item, dict):
            named = (item[name] for name in _NAMES if isinstance(item.get(name), str | int))
            item = next(named, item)
        text = item if isinstance(item, str) else json.dumps(item, ensure_ascii=False)
        return "" if item is None or text == str(index + 1) else line(text, 28)

    def running_items(self, key: str, most: int) -> list[int]:
        """Returns up to `most` of the running items, in their order."""
        children = self.machine.foreach_frames[key].get("children", {})
        most = min(most, self.counts(key).running)
        found: dict[int, None] = {}
        for name in chain(islice(children, _LOOKED_AT), islice(reversed(children), _LOOKED_AT)):
            if len(found) >= most:
                break
            if self._is_running(key, name):
                found[int(name)] = None
        return sorted(found)

    def items_of_interest(self, key: str, most: int) -> list[int]:
        """Picks items to show: running ones, the latest failures, the next ones, then the last."""
        counts, failures = self.counts(key), self.machine.foreach_frames[key].get("failures", {})
        first, last = counts.total - counts.waiting, counts.total
        found = dict.fromkeys(self.running_items(key, most))
        found |= dict.fromkeys(int(name) for name in islice(reversed(failures), most))
        found |= dict.fromkeys(range(first, min(last, first + most)))
        found |= dict.fromkeys(range(last - 1, max(-1, last - 1 - most), -1))
        return sorted(list(found)[:most])


@dataclass(slots=True)
class Picture:
    """The picture of a run at one moment, at most `width` wide and `height` high.

    A loop shows at most `rows_max` iterations. The last picture stays on the screen, as high as
    needed: it shows the inside of every loop and list, except of those inside items.
    """

    outline: Outline
    now: float
    rows_max: int = 8
    width: int = 100
    height: int = 40
    is_last: bool = False

    @property
    def progress(self) -> Progress:
        return self.outline.progress

    def lines(self) -> list[Text]:
        progress = self.progress
        words, color = badge(progress.status, progress.mark)
        took = seconds(self.now - progress.started_at) if progress.started_at else ""
        title, rest = (line(progress.workflow, 60), "bold"), f"  run {progress.run}  {took}"
        head = Text.assemble((words, f"bold {color}"), " ", title, rest)
        places = self.outline.root()
        numbers = [*self._scores(self._open_loop(places)), *self._budgets()]
        foot = [*self._gates(), *([Text("")] if numbers else []), *numbers]
        room = 10**6 if self.is_last else max(1, self.height - 1 - len(foot))
        return [head, *self._block(places, room, is_top=True), *foot]

    def _gates(self) -> Iterator[Text]:
        """Yields the open questions; a run that only waits asks them below the view, at its end."""
        waiting = self.progress.waiting if self.progress.status == "running" else {}
        for address, gate in islice(waiting.items(), _GATES_MAX):
            words = line(str(gate.get("message", "")), self.width - 20)
            place = line(address.partition("/:")[0], 40)
            yield Text.assemble(("⏸ ", "yellow"), place, "  ", (words, "yellow"))

    def _open_one(self, places: Sequence[Place], *, is_top: bool = False) -> Place | None:
        """Returns the running place, or else, at the top, the last one that has an inside."""
        begun = [place for place in places if place.holds]
        running = [place for place in begun if place.is_running]
        return next(iter(running or (begun[-1:] if is_top else ())), None)

    def _below(self, place: Place) -> list[Place]:
        """Returns the nodes inside an open place; for a loop, those of its current iteration."""
        if not place.key or (isinstance(place.node, ir.Loop) and not place.is_running):
            # Only the last body of an ended loop is kept, and it is not shown.
            return []
        if isinstance(place.node, ir.ForEach):
            first = self.outline.running_items(place.key, 1)
            return self.outline.item_places(place.key, first[0]) if first else []
        body = self.outline.body(place.key)
        return self.outline.places(body) if body else []

    def _open_loop(self, places: Sequence[Place]) -> Place | None:
        """The innermost loop that is open."""
        found, place = None, self._open_one(places, is_top=True)
        while place is not None:
            found = place if isinstance(place.node, ir.Loop) else found
            place = self._open_one(self._below(place))
        return found

    def _block(self, places: list[Place], room: int, *, is_top: bool = False) -> list[Text]:
        """Draws a row for each node of a block, and below the open one its inside.

        Each level keeps a part of its room for itself and gives the rest to its inside.
        """
        if room < 1 or not places:
            return []
        opened = self._open_one(places, is_top=is_top)
        rows: dict[int, list[Text]] = {}
        for at, place in enumerate(places):
            if place is opened or (self.is_last and place.holds):
                rows[at] = self._inside(place, room - _kept(len(places), room))
        begun = [at for at, place in enumerate(places) if place.state]
        running = [at for at in begun if places[at].is_running]
        middle = places.index(opened) if opened else [*running[:1], *begun[-1:], 0][0]
        # A line says how many are left out, where there is room for another one.
        size = max(1, room - sum(map(len, rows.values())))
        size = len(places) if size >= len(places) else max(1, size - 1)
        first = max(0, min(middle - size // 2, len(places) - size))
        more = plural(len(places) - size, "more step") if 1 < size < len(places) else ""
        lines: list[Text] = []
        for at in range(first, first + size):
            is_end = not more and at == first + size - 1
            row = self._row(places[at], is_open=at in rows)
            lines.append(Text.assemble(("└── " if is_end else "├── ", "dim"), row))
            lines += _set_in("    " if is_end else "│   ", rows.get(at, ()))
        return [*lines, Text(f"└── … {more}", "dim")] if more else lines

    def _inside(self, place: Place, room: int) -> list[Text]:
        if room < 1:
            return []
        if isinstance(place.node, ir.Loop):
            return self._iterations(place, room)
        if isinstance(place.node, ir.ForEach) and place.key:
            return self._items(place, room)
        return self._block(self._below(place), room)

    def _iterations(self, place: Place, room: int) -> list[Text]:
        """The newest iterations of a loop under a head, and what its current one does."""
        loop = self.outline.loop(place)
        done = list(loop.iterations)[-self.rows_max :]
        best = loop.best[0] if loop.best is not None else None
        rows = [(*iteration_cells(each), verdict(each)) for each in done]
        styles = ["bold" if each.number == best else "" for each in done]
        if place.key and not loop.exit_reason and loop.number > (done[-1].number if done else 0):
            rows.append(self._current(place, loop))
            styles.append("yellow")
        if not rows:
            return []
        inner = _set_in("   ", self._block(self._below(place), room - _kept(len(rows) + 1, room)))
        size = room - len(inner)
        # A column that says nothing is left out; the last one has words.
        cells = [column for column in zip(_HEAD, *rows, strict=True) if any(column[1:])]
        numbers = [column for column in cells if column[0] != _HEAD[-1]]
        table = formatting.table(zip(*cells, strict=True), right=range(len(numbers)))
        lines = [Text(words, style) for words, style in zip(table, ["dim", *styles], strict=True)]
        for text in lines:
            text.highlight_words("✓", "green")
            text.highlight_words("✗", "red")
        return [*lines[: size > 1], *lines[1:][-max(1, size - 1) :], *inner]

    def _items(self, place: Place, room: int) -> list[Text]:
        """Draws a row for each item of a list, and below the open one its inside."""
        outline, key, total = self.outline, place.key, self.outline.counts(place.key).total
        opened = next(iter(outline.running_items(key, 1)), None)
        inner = self._block(self._below(place), room - _kept(total, room))
        size = min(room, self.rows_max + 2) if self.is_last else room - len(inner)
        shown: Iterable[int] = range(total)
        if size < total:
            shown = outline.items_of_interest(key, max(1, size - 1))
        rows = [
            # What the open one does stands below it.
            (str(at + 1), outline.item_label(key, at),
             "" if inner and at == opened else self._item_words(key, at))
            for at in shown
        ]  # fmt: skip
        lines: list[Text] = []
        for at, row in zip(shown, formatting.table(rows, right={0}), strict=True):
            state = outline.item_state(key, at)
            style = {"failed": "red", "": "dim"}.get(state, "")
            lines.append(Text.assemble("  ", self._sign(state), (row, style)))
            lines += _set_in("   ", inner) if at == opened else []
        if len(rows) < total and size > 1:
            lines.append(Text(f"  … {plural(total - len(rows), 'more item')}", "dim"))
        return lines

    def _row(self, place: Place, *, is_open: bool = False) -> Text:
        """Draws a node: its sign, its name and its progress; an open one shows the rest below."""
        outline, node, step = self.outline, place.node, self.outline.step(place)
        if isinstance(node, ir.Loop) and place.holds:
            return self._loop_row(place, is_open=is_open)
        if step is not None and not isinstance(node, _HOLDING):
            return self._step_row(step, step.state if place.is_running else place.state, place.name)
        style = "bold" if is_open else "" if place.state else "dim"
        text = Text.assemble(self._sign(place.state), (place.name, style))
        if step is not None and step.branch:
            text.append(f"  → {line(step.branch, 40)}", "dim")
        if isinstance(node, ir.ForEach) and place.key:
            text.append(f"  {self._list_words(place)}")
        elif isinstance(node, ir.Wait) and place.is_running:
            due = outline.machine.plain_frames[place.key].get("due")
            text.append(f"  {seconds(due - self.now)} left" if due is not None else "", "dim")
        elif place.is_running and not is_open:
            text.append(f"  {self._doing(self._below(place))}".rstrip(), "dim")
        return text

    def _sign(self, state: str) -> tuple[str, str]:
        if state == "running" and self.progress.status == "running":
            return f"{SPINNER[int(self.now * 5) % len(SPINNER)]} ", "yellow"
        sign, color = SIGNS.get(state, ("○", "dim"))
        return f"{sign} ", color

    def _step_row(self, step: Step, state: str, name: str) -> Text:
        text = Text.assemble(self._sign(state), name)
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

    def _loop_row(self, place: Place, *, is_open: bool) -> Text:
        loop = self.outline.loop(place)
        sign = ("✓ ", "green" if loop.exit_reason in ("condition_met", "accepted") else "yellow")
        if not loop.exit_reason:
            sign = ("↻ ", "yellow")
        elif loop.is_failed or loop.mark:
            sign = ("✗ ", "red") if loop.is_failed else ("! ", "yellow")
        until = condition_words(place.until) if is_open and not loop.exit_reason else ""
        words = f"{_count(loop)}   until {until}" if until else self._loop_words(place)
        return Text.assemble(sign, (place.name, "bold"), f"  iteration {words}")

    def _loop_words(self, place: Place) -> str:
        loop = self.outline.loop(place)
        words = [_count(loop)]
        if loop.iterations:
            # The score of the newest one, and how it changed.
            newest = loop.iterations[-1]
            words.append(f"{newest.shown_score} {difference(newest.score, newest.before)}".strip())
        doing = "judge" if self.outline.is_judging(place) else self._doing(self._below(place))
        return joined(*words, exit_words(loop.exit_reason, loop.stopped_by), doing)

    def _list_words(self, place: Place) -> str:
        counts = self.outline.counts(place.key)
        left = "waiting" if place.is_running else "not begun"
        parts = [(counts.failed, "failed"), (counts.running, "running"), (counts.waiting, left)]
        words = [f"{number:,} {state}" for number, state in parts if number]
        began, ended = self.progress.begun.get(place.address), counts.done + counts.failed
        goes_on = place.is_running and self.progress.status == "running"
        if began is not None and ended and goes_on and self.progress.is_whole:
            # A running item counts as half done.
            half = counts.running / 2
            left_s = (self.now - began) * (counts.waiting + half) / (ended + half)
            words.append(f"~{formatting.age(left_s)} left")
        return joined(f"{counts.done:,} of {counts.total:,} done", *words)

    def _item_words(self, key: str, index: int) -> str:
        """Returns what an item is doing, how its loop has ended, or why it failed."""
        error = self.outline.item_error(key, index)
        return line(error, 100) if error else self._doing(self.outline.item_places(key, index))

    def _doing(self, places: Sequence[Place]) -> str:
        """Returns what is running in a block, down to its step, or how its loop has ended."""
        ended = [place for place in places if isinstance(place.node, ir.Loop) and place.key]
        running = [place for place in places if place.is_running]
        if not (chosen := [*running, *ended][:1]):
            return ""
        place, name = chosen[0], line(chosen[0].name, 20)
        if isinstance(place.node, ir.ForEach):
            counts = self.outline.counts(place.key)
            return f"{name} {counts.done:,} of {counts.total:,} done"
        if isinstance(place.node, ir.Loop):
            return f"{name} {self._loop_words(place)}"
        step = self.outline.step(place)
        took = seconds(self.now - step.started_at) if step else ""
        return self._doing(self._below(place)) or f"{name} {took}".rstrip()

    def _current(self, place: Place, loop: LoopProgress) -> tuple[str, ...]:
        """Returns the row of the running iteration, with its usage so far."""
        frame, began = self.outline.machine.loop_frames[place.key], loop.iteration_at
        usage, before = frame.get("usage", {}), frame.get("iteration", {}).get("usage", {})
        spent = {name: amount - before.get(name, 0) for name, amount in usage.items()}
        tokens = spent.get("input_tokens", 0) + spent.get("output_tokens", 0)
        cost = spent.get("cost_usd", 0)
        return (
            *(str(loop.number), "", "", seconds(self.now - began) if began else ""),
            *(formatting.count(tokens) if tokens > 0 else "", dollars(cost) if cost > 0 else ""),
            "judge" if self.outline.is_judging(place) else "",
        )

    def _scores(self, place: Place | None) -> Iterator[Text]:
        """The scores of the loop that is open, its best one and its target."""
        if place is None:
            return
        loop, target = self.outline.loop(place), target_of(place.until)
        measured = [done.score for done in loop.iterations][-_SPARKS_MAX:]
        if not any(item is not None for item in measured):
            return
        text = Text.assemble("score   ", (formatting.sparkline(measured), "cyan"), "  ")
        if loop.best is not None:
            number, best = loop.best
            text.append(f"best {formatting.score(best)} @{number}")
        if target is not None:
            text.append(f"   target {formatting.score(target)}")
        yield text

    def _budgets(self) -> Iterator[Text]:
        """Yields for each limit of the run what is spent, reserved for calls, and left."""
        progress, cost = self.progress, self.progress.cost_usd
        state: Any = self.outline.machine.state
        limits = {"cost_usd": progress.budget_usd} | (state.get("limits") or {})
        held = state.get("reserved") or {}
        spent = {"cost_usd": cost, "tokens": progress.tokens, "calls": progress.calls}
        unpriced = int((state.get("usage") or {}).get("unpriced", 0))
        shown = [name for name in _BUDGETS if limits.get(name)]
        for name in shown:
            if name == "cost_usd" and unpriced and not cost:
                calls = f"{plural(unpriced, 'call')} of unknown price"
                yield Text(f"budget  cost not known: {calls}   {allowed(limits[name])} allowed")
                continue
            amounts = (spent[name], held.get(name, 0.0), limits[name])
            yield self._budget(name, amounts, is_known=name != "cost_usd" or not unpriced)
        if not shown and progress.calls:
            known = f"{dollars(cost)}{' + ?' if unpriced else ''}" if cost else ""
            known = known or ("cost not known" if unpriced else "")
            tokens = f"{formatting.count(progress.tokens)} tok"
            yield Text(f"used    {joined(plural(progress.calls, 'call'), tokens, known)}")

    def _budget(self, name: str, amounts: tuple[float, float, float], *, is_known: bool) -> Text:
        label, written = _BUDGETS[name]
        spent, reserved, limit = amounts
        whole = allowed(limit) if name == "cost_usd" else written(limit)
        reserved = min(reserved, max(0.0, limit - spent))
        left = max(0.0, limit - spent - reserved)
        if name == "cost_usd" and left >= 0.1:
            # In cents, and not more than there is.
            left = floor(left * 100 + 1e-6) / 100
        text = joined(
            f"{written(spent)}{'' if is_known else ' + ?'} spent",
            f"{written(reserved)} reserved" if reserved else "",
            f"{'' if is_known else '≤ '}{written(left)} left of {whole}",
        )
        if not self.progress.calls and not reserved:
            # What the first call costs may not be known.
            text = f"nothing spent yet of {whole}"
        width = min(max(self.width - 10 - len(text), _BAR[0]), _BAR[1])
        full = min(width, round(spent / limit * width))
        held = min(width - full, round((spent + reserved) / limit * width) - full)
        bar = [("█" * full, "red" if spent / limit >= 0.8 else "magenta"), ("▒" * held, "yellow")]
        rest = ("░" * (width - full - held), "bright_black")
        return Text.assemble(f"{label:<8}", *bar, rest, f"  {text}")


def _count(loop: LoopProgress) -> str:
    return f"{loop.number}/{loop.limit}" if loop.limit else str(loop.number)


def _set_in(indent: str, lines: Iterable[Text]) -> list[Text]:
    return [Text.assemble((indent, "dim"), text) for text in lines]


def _kept(count: int, room: int) -> int:
    """Returns how many rows a level keeps for itself: a quarter of its room, at least one."""
    return min(count, max(1, room // 4))
