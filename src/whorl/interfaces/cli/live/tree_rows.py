"""The rows of the live view: what one line says of a step, a loop, a list or an item."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from rich.text import Text

from whorl.errors import columns
from whorl.interfaces import formatting
from whorl.interfaces.cli.terminal import SIGNS
from whorl.interfaces.formatting import difference, joined, line, seconds, used
from whorl.interfaces.progress import LoopProgress
from whorl.interfaces.status_words import condition_words, exit_words
from whorl.lazily import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whorl.interfaces.cli.live.outline import Counts, Level, Outline, Path, Place
    from whorl.interfaces.progress import Progress, Step
    from whorl.ir import Workflow

SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_LABEL_MAX = 28
_DEPTH_MAX = 4
_GOOD = ("condition_met", "accepted")
# The fields of an item by which people know it.
_NAMES = ("name", "title", "id", "key", "label", "topic", "text")


@dataclass(frozen=True, slots=True)
class View:
    """What a picture is drawn of, and how large it may be.

    `path` is what is looked at, and `is_moved` whether a person chose it. Of a loop `rows_max`
    iterations are shown at most; the last picture, which stays, has those of every loop at the top.
    """

    progress: Progress
    workflow: Workflow
    now: float
    outline: Outline
    path: Path = ()
    is_moved: bool = False
    rows_max: int = 8
    width: int = 100
    height: int = 40
    is_last: bool = False


def place(view: View, place: Place, *, is_open: bool = False) -> Text:
    """A node: its sign, its name, and how far it is; one that is open says the rest below."""
    step = view.progress.steps.get(_base(view, place))
    state = step.state if step is not None and place.is_running and not step.branch else place.state
    if place.kind == "loop" and place.key:
        return _loop(view, place, is_open=is_open)
    if step is not None and not step.branch and place.kind not in ("foreach", "call", "group"):
        return _step(view, step, state, place.name)
    name = (line(place.name, 60), "bold" if is_open else "" if state else "dim")
    text = Text.assemble(_sign(view, state), name)
    if step is not None and step.branch:
        text.append(f"  → {line(step.branch, 40)}", "dim")
    if place.kind == "foreach" and place.key:
        text.append("  ").append(_list_words(view, place))
    elif place.kind == "wait" and place.is_running:
        text.append(f"  {_wait_words(view, place)}", "dim")
    elif view.outline.body(place.key) and place.is_running and not is_open:
        text.append(f"  {_doing(view, place)}".rstrip(), "dim")
    return text


def _wait_words(view: View, place: Place) -> str:
    due = view.outline.machine.plain_frames[place.key].get("due")
    return f"{seconds(due - view.now)} left" if due is not None else ""


def remains(view: View, name: str) -> Text:
    """A node of a run whose frames are gone."""
    step, loop = view.progress.steps.get(name), view.progress.loops.get(name)
    if step is not None and not step.branch:
        return _step(view, step, step.state, name)
    if loop is not None:
        words = joined(f"iteration {loop.number}{_of(loop)}", _ended(loop))
        return Text.assemble(_loop_sign(loop), (line(name, 60), "bold"), f"  {words}")
    is_done = view.progress.status == "succeeded"
    return Text.assemble(_sign(view, "succeeded" if is_done else ""), (line(name, 60), "dim"))


def _base(view: View, place: Place) -> str:
    frame = view.outline.machine.frames.get(place.key) if place.key else None
    return frame.get("base", place.address) if frame is not None else place.address


def _sign(view: View, state: str) -> tuple[str, str]:
    if state == "running" and view.progress.status == "running":
        return f"{SPINNER[int(view.now * 5) % len(SPINNER)]} ", "yellow"
    sign, color = SIGNS.get(state, ("○", "dim"))
    return f"{sign} ", color


def _step(view: View, step: Step, state: str, name: str) -> Text:
    text = Text.assemble(_sign(view, state), line(name, 60))
    took = (step.ended_at or view.now) - step.started_at
    attempt = f"attempt {step.attempt}" if step.attempt > 1 else ""
    time, spent = seconds(took) if took else "", used(step.tokens, step.cost_usd)
    about = joined(line(step.model, 40), time, spent, attempt)
    text.append(f"  {about}" if about else "", "dim")
    if step.error:
        text.append(f"  {line(step.error, 80)}", "red")
    elif step.text and step.state == "running":
        room = max(10, view.width - len(text) - 24)
        shown = line(step.text[-room * 2 :], room * 2)[-room:]
        text.append(f'  "{shown}…"')
    return text


def loop_at(view: View, key: str) -> LoopProgress:
    """What is known of a loop; of one that began long ago at least what its frame tells."""
    frame, _ = view.outline.loop(key)
    known = view.progress.loops.get(frame["address"])
    if known is not None:
        return known
    limits: Any = frame.get("limits") or {}
    number, limit = frame.get("count", 0), limits.get("iterations") or 0
    reason = str(frame.get("reason", ""))
    return LoopProgress(frame["address"], number=number, limit=limit, exit_reason=reason)


def is_under_way(loop: LoopProgress) -> bool:
    """Whether an iteration has begun and not ended."""
    newest = loop.iterations[-1].number if loop.iterations else 0
    return not loop.exit_reason and loop.number > newest


def _loop_sign(loop: LoopProgress) -> tuple[str, str]:
    if not loop.exit_reason:
        return "↻ ", "yellow"
    if loop.is_failed:
        return "✗ ", "red"
    if loop.mark:
        return "! ", "yellow"
    return "✓ ", "green" if loop.exit_reason in _GOOD else "yellow"


def _loop(view: View, place: Place, *, is_open: bool) -> Text:
    loop, node = loop_at(view, place.key), view.outline.loop(place.key)[1]
    text = Text.assemble(_loop_sign(loop), (line(place.name, 60), "bold"))
    text.append("  iteration ").append(str(loop.number), "bold").append(_of(loop))
    if is_open or loop.exit_reason:
        until = condition_words(node.until)
        ended = _ended(loop)
        text.append(f"   {ended}" if ended else f"   until {until}" if until else "")
    else:
        text.append(f"  {joined(_measured(loop), inside(view, place.key))}".rstrip())
    return text


def _of(loop: LoopProgress) -> str:
    return f"/{loop.limit}" if loop.limit else ""


def _ended(loop: LoopProgress) -> str:
    return exit_words(loop.exit_reason, loop.stopped_by)


def _measured(loop: LoopProgress) -> str:
    """The score of the newest iteration, and how it changed."""
    if not loop.iterations:
        return ""
    newest = loop.iterations[-1]
    return joined(newest.shown_score, difference(newest.score, newest.before)).replace("  ", " ")


def _list_words(view: View, place: Place) -> Text:
    counts = view.outline.counts(place.key)
    text = Text.assemble((f"{counts.done:,}", "bold"), f" of {counts.total:,} done")
    text.append(f"  {counts.failed:,} failed" if counts.failed else "", "red")
    text.append(f"  {counts.running:,} running" if counts.running else "")
    is_over = not place.is_running
    word = "not begun" if is_over else "waiting"
    text.append(f"  {counts.waiting:,} {word}" if counts.waiting else "", "dim")
    left_s = _left_s(view, place, counts)
    text.append(f"  ~{formatting.age(left_s)} left" if left_s is not None else "", "dim")
    return text


def _left_s(view: View, place: Place, counts: Counts) -> float | None:
    """How long the rest of a list may take: what is under way counts as half done."""
    began, ended = view.progress.begun.get(place.address), counts.done + counts.failed
    goes_on = place.is_running and view.progress.status == "running"
    if began is None or not ended or not goes_on or not view.progress.is_whole:
        return None
    half = counts.running / 2
    return (view.now - began) * (counts.waiting + half) / (ended + half)


def items(view: View, level: Level, shown: Sequence[int], indent: str) -> list[Text]:
    """A row for each of these items: its number, its name, and how far it is."""
    total = view.outline.counts(level.key).total
    labels = {index: _label(view.outline.item(level.key, index), index) for index in shown}
    width = max(map(columns, labels.values()), default=0)
    lines: list[Text] = []
    for index in shown:
        state = view.outline.item_state(level.key, index)
        is_chosen = index == level.chosen
        pointer = "▸ " if is_chosen and view.is_moved else "  "
        name = labels[index] + " " * (width - columns(labels[index]))
        style = "bold" if is_chosen else "" if state else "dim"
        text = Text.assemble((indent, "dim"), pointer, _sign(view, state))
        text.append(f"{index + 1:>{len(str(total))}} ", "dim" if name else style)
        text.append(f"{name} " if name else "", style).append(" ")
        text.append(_item_words(view, level.key, index, state), "red" if state == "failed" else "")
        text.rstrip()
        lines.append(text)
    return lines


def _label(item: Any, index: int) -> str:
    """What people know an item by, where its number does not say it already."""
    if isinstance(item, dict):
        named = (item[name] for name in _NAMES if isinstance(item.get(name), str | int))
        item = next(named, item)
    text = item if isinstance(item, str) else json.dumps(item, ensure_ascii=False)
    return "" if item is None or text == str(index + 1) else line(text, _LABEL_MAX)


def _item_words(view: View, key: str, index: int, state: str) -> str:
    if state == "failed":
        return line(view.outline.item_error(key, index), 100)
    block = view.outline.item_block(key, index)
    if not block:
        return ""
    if state == "running":
        return _in_block(view, block)
    loops = [place for place in view.outline.places(block) if place.kind == "loop" and place.key]
    return joined(*(_loop_words(view, place) for place in loops[:2]))


def _loop_words(view: View, place: Place) -> str:
    loop = loop_at(view, place.key)
    return joined(f"{line(place.name, 20)} {loop.number}{_of(loop)}", _measured(loop), _ended(loop))


def _doing(view: View, place: Place, depth: int = 0) -> str:
    """What a node that is under way does, in a few words."""
    name = line(place.name, 20)
    if place.kind == "loop":
        return joined(_loop_words(view, place), inside(view, place.key, depth + 1))
    if place.kind == "foreach":
        counts = view.outline.counts(place.key)
        return f"{name} {counts.done:,} of {counts.total:,} done"
    inner = view.outline.body(place.key)
    if inner and depth < _DEPTH_MAX:
        return _in_block(view, inner, depth + 1) or name
    step = view.progress.steps.get(_base(view, place))
    if place.kind == "wait":
        return joined(name, _wait_words(view, place))
    if step is None:
        return name
    word = {"waiting": " asks", "retrying": " is tried again"}.get(step.state, "")
    return f"{name}{word or ' ' + seconds(view.now - step.started_at)}"


def inside(view: View, key: str, depth: int = 0) -> str:
    """What the current iteration of a loop does."""
    judge = view.outline.judge(key)
    if judge is not None:
        return _doing(view, judge)
    block = view.outline.body(key)
    return _in_block(view, block, depth) if block and depth < _DEPTH_MAX else ""


def _in_block(view: View, block: str, depth: int = 0) -> str:
    running = [place for place in view.outline.places(block) if place.is_running]
    words = [_doing(view, place, depth) for place in running[:2]]
    more = [f"+{len(running) - 2}"] if len(running) > 2 else []
    return ", ".join([*words, *more])
