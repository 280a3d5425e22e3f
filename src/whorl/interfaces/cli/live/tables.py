"""The numbers of the live view: the table of a loop's iterations, its scores, and the budgets."""

from __future__ import annotations

from math import floor
from typing import TYPE_CHECKING, Any

from rich.text import Text

from whorl.errors import plural
from whorl.interfaces import formatting
from whorl.interfaces.cli.live.tree_rows import inside, loop_at
from whorl.interfaces.cli.watchers import iteration_cells, verdict
from whorl.interfaces.formatting import allowed, dollars, joined, seconds
from whorl.interfaces.status_words import target_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from whorl.interfaces.cli.live.tree_rows import View
    from whorl.interfaces.progress import Iteration, LoopProgress


SPARKS_MAX = 28
_BAR = (6, 28)
_CELLS = ("#", "score", "Δ", "time", "tokens", "cost")
_WIDTHS = (3, 8, 7, 7, 7, 9)
_OF_SCORES = (1, 2)
# What a budget is called, and how its amounts are written.
_BUDGETS: dict[str, tuple[str, Callable[[float], str], Callable[[float], str]]] = {
    "cost_usd": ("budget", dollars, allowed),
    "tokens": ("tokens", formatting.count, formatting.count),
    "calls": ("calls", formatting.count, formatting.count),
}


def has_scores(loop: LoopProgress) -> bool:
    """Whether the table of a loop needs columns for scores."""
    return any(done.shown_score for done in loop.iterations)


def head(*, scored: bool) -> str:
    return f"{_cells(_CELLS, scored=scored).plain}  verdict"


def iteration(done: Iteration, *, is_best: bool = False, scored: bool = True) -> Text:
    """A finished iteration: numbers, and what it came to."""
    cells = iteration_cells(done)
    style, change = "bold" if is_best else "", "green" if cells[2].startswith("+") else "red"
    text = _cells(cells, (style, style, change), scored=scored)
    mark = verdict(done)
    text.append("  ")
    text.append(mark[:1], "green" if done.is_met else "red" if mark[:1] == "✗" else "yellow")
    text.append(mark[1:])
    return text


def current(view: View, key: str, loop: LoopProgress, *, scored: bool) -> Text:
    """The iteration that is under way, with what it has used so far."""
    frame, _ = view.outline.loop(key)
    usage, before = frame.get("usage", {}), frame.get("iteration", {}).get("usage", {})
    spent = {name: amount - before.get(name, 0) for name, amount in usage.items()}
    tokens = spent.get("input_tokens", 0) + spent.get("output_tokens", 0)
    cost = spent.get("cost_usd", 0)
    began = loop.iteration_at
    cells = [str(loop.number), "…", "", seconds(view.now - began) if began else ""]
    cells += [formatting.count(tokens) if tokens > 0 else "", dollars(cost) if cost > 0 else ""]
    # What its steps do stands below.
    words = inside(view, key) if view.outline.judge(key) or not view.outline.body(key) else ""
    return Text.assemble(_cells(cells, ("yellow",), scored=scored), "  ", (words, "yellow"))


def _cells(cells: Sequence[str], styles: Sequence[str] = (), *, scored: bool = True) -> Text:
    """Cells set to the right, each apart from the one before, however wide it is."""
    text = Text()
    for at, (cell, width) in enumerate(zip(cells, _WIDTHS, strict=True)):
        if at in _OF_SCORES and not scored:
            continue
        style = styles[at] if at < len(styles) else ""
        text.append(f"{' ' + cell if at else cell:>{width}}", style)
    return text


def scores(view: View, key: str) -> Iterator[Text]:
    """The scores of the loop that is looked at, its best one and its target."""
    loop, target = loop_at(view, key), target_of(view.outline.loop(key)[1].until)
    measured = [done.score for done in loop.iterations][-SPARKS_MAX:]
    if not any(item is not None for item in measured):
        return
    text = Text.assemble("score   ", (formatting.sparkline(measured), "cyan"), "  ")
    if loop.best is not None:
        number, best = loop.best
        text.append("best ").append(formatting.score(best, target), "bold").append(f" @{number}")
    text.append(f"   target {formatting.score(target, *measured)}" if target is not None else "")
    yield text


def budgets(view: View, loop: LoopProgress | None) -> Iterator[Text]:
    """For each limit of the run what is spent, what is reserved for calls, and what is left."""
    progress = view.progress
    state: Any = view.outline.machine.state
    limits = {"cost_usd": progress.budget_usd} | (state.get("limits") or {})
    held = state.get("reserved") or {}
    spent = {"cost_usd": progress.cost_usd, "tokens": progress.tokens, "calls": progress.calls}
    shown = [name for name in _BUDGETS if limits.get(name)]
    unpriced, cost = int((state.get("usage") or {}).get("unpriced", 0)), progress.cost_usd
    for name in shown:
        if name == "cost_usd" and unpriced and not cost:
            calls = f"{plural(unpriced, 'call')} of unknown price"
            yield Text(f"budget  cost not known: {calls}   {allowed(limits[name])} allowed")
            continue
        more = _iterations_left(limits[name] - spent[name], loop) if name == "cost_usd" else ""
        amounts = (spent[name], held.get(name, 0.0), limits[name])
        yield _budget(view, name, amounts, more, is_known=name != "cost_usd" or not unpriced)
    if not shown and progress.calls:
        known = dollars(cost) if cost else "cost not known" if unpriced else ""
        known += " + ?" if cost and unpriced else ""
        words = joined(f"{formatting.count(progress.tokens)} tok", known)
        yield Text(f"used    {joined(plural(progress.calls, 'call'), words)}")


def _budget(
    view: View, name: str, amounts: tuple[float, float, float], more: str, *, is_known: bool
) -> Text:
    label, written, whole = _BUDGETS[name]
    spent, reserved, limit = amounts
    reserved = min(reserved, max(0.0, limit - spent))
    left = max(0.0, limit - spent - reserved)
    if name == "cost_usd" and left >= 0.1:
        # In cents, and not more than there is.
        left = floor(left * 100 + 1e-6) / 100
    words = [f"{written(spent)}{'' if is_known else ' + ?'} spent"]
    words += [f"{written(reserved)} reserved"] if reserved else []
    at_most = "" if is_known else "≤ "
    text = joined(*words, f"{at_most}{written(left)} left of {whole(limit)}")
    if not view.progress.calls and not reserved:
        # What the first call costs may not be known.
        text = f"nothing spent yet of {whole(limit)}"
    room = view.width - 10 - len(text)
    if more and room - len(more) - 3 >= _BAR[0]:
        text, room = f"{text}   {more}", room - len(more) - 3
    width = min(max(room, _BAR[0]), _BAR[1])
    full = min(width, round(spent / limit * width))
    held = min(width - full, round((spent + reserved) / limit * width) - full)
    color = "red" if spent / limit >= 0.8 else "magenta"
    bar = ("█" * full, color), ("▒" * held, "yellow"), ("░" * (width - full - held), "bright_black")
    return Text.assemble(f"{label:<8}", *bar, f"  {text}")


def _iterations_left(left_usd: float, loop: LoopProgress | None) -> str:
    costs = [done.cost_usd for done in loop.iterations if done.cost_usd] if loop else []
    if loop is None or not costs or loop.exit_reason:
        return ""
    left = int(left_usd / (sum(costs) / len(costs)))
    if loop.limit:
        left = min(left, loop.limit - len(loop.iterations))
    return f"~{plural(max(0, left), 'iteration')} left"
