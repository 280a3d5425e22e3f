"""The live view as a picture: progress and workflow in, lines out; no clock, no terminal.

A group, a list or a wait leaves no entry when it begins; what runs before, inside and after it says
how far it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.text import Text

from whorl.interfaces import figures
from whorl.interfaces.cli.terminal import SIGNS, badge
from whorl.interfaces.cli.watchers import iteration_cells, verdict
from whorl.interfaces.figures import allowed, dollars, joined, line, score, seconds, used
from whorl.interfaces.progress import name_of
from whorl.interfaces.wording import condition_words, exit_words, target_of
from whorl.interpreter.events import join, numbered
from whorl.ir import Assign, Break, Compute, Continue, Group, Loop, Stop
from whorl.services.results import loop_node

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from whorl.interfaces.progress import Iteration, LoopProgress, Progress, Step
    from whorl.ir import Block, Node, Workflow

SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
SPARKS_MAX = 40
BAR_WIDTH = 28
_INSIDE_MAX = 8
_HEAD = ("#", "score", "Δ", "time", "tokens", "cost")
_WIDTHS = (3, 8, 7, 7, 7, 9)
# What is computed at once, or ends something else, is not drawn.
UNSEEN = (Compute, Assign, Stop, Break, Continue)
_UNDER_WAY = frozenset({"running", "retrying", "waiting"})
_WELL = frozenset({"succeeded", "skipped"})


@dataclass(frozen=True, slots=True)
class View:
    """What a picture is drawn of. `rows_max` is how many iterations of a loop are shown."""

    progress: Progress
    workflow: Workflow
    now: float
    rows_max: int = 8
    width: int = 100


def draw(view: View) -> list[Text]:
    progress = view.progress
    words, color = badge(progress.status, progress.mark)
    took = seconds(view.now - progress.started_at) if progress.started_at else ""
    title, rest = (line(progress.workflow, 60), "bold"), f"  run {progress.run}  {took}"
    lines = [Text.assemble((words, f"bold {color}"), " ", title, rest)]
    lines += _block(view, view.workflow.body, "", "")
    # A run that only waits asks with its last words, below the view.
    for address, gate in progress.waiting.items() if progress.status == "running" else ():
        words = line(str(gate.get("message", "")), view.width - 20)
        place = line(address.partition("/:")[0], 40)
        lines.append(Text.assemble(("⏸ ", "yellow"), place, "  ", (words, "yellow")))
    return [*lines, *_footer(view)]


def row_cells(done: Iteration, *, is_best: bool = False) -> Text:
    cells = iteration_cells(done)
    style = "bold" if is_best else ""
    text = _row(cells, (style, style, "green" if cells[2].startswith("+") else "red"))
    mark = verdict(done)
    text.append("  ")
    text.append(mark[:1], "green" if done.is_met else "red" if mark[:1] == "✗" else "yellow")
    text.append(mark[1:])
    return text


def _row(cells: Sequence[str], styles: Sequence[str] = ()) -> Text:
    """Cells set to the right, each apart from the one before, however wide it is."""
    text = Text()
    for at, (cell, width) in enumerate(zip(cells, _WIDTHS, strict=True)):
        style = styles[at] if at < len(styles) else ""
        text.append(f"{' ' + cell if at else cell:>{width}}", style)
    return text


def _block(view: View, block: Block, address: str, indent: str) -> Iterator[Text]:
    states = states_of(view.progress, block, address)
    nodes = [node for node in block.nodes if not isinstance(node, UNSEEN)]
    for node in nodes:
        is_last = node is nodes[-1]
        branch = indent + ("└── " if is_last else "├── ")
        below = indent + ("    " if is_last else "│   ")
        place = join(address, node.name)
        yield from _node(view, node, place, (branch, below), states[node.name])


def _node(
    view: View, node: Node, address: str, indents: tuple[str, str], state: str
) -> Iterator[Text]:
    branch, below = indents
    loop = newest_loop(view.progress, address)
    if isinstance(node, Loop) and loop is not None:
        yield from _loop(view, loop, node, indents)
        return
    step = view.progress.steps.get(address)
    if step is not None and not step.branch:
        yield _step(view, step, branch)
        return
    inside = steps_below(view.progress, address)
    mark, color = _mark(view, state)
    words = f"  → {line(step.branch, 40)}" if step is not None else ""
    done = sum(inner.state == "succeeded" for inner in inside)
    words += f"  {done} done" if inside else ""
    name = (line(node.name, 60), "" if state else "dim")
    yield Text.assemble((branch, "dim"), (f"{mark} ", color), name, (words, "dim"))
    yield from _inside(view, inside, address, below)


def _mark(view: View, state: str) -> tuple[str, str]:
    if state == "running" and view.progress.status == "running":
        return SPINNER[int(view.now * 5) % len(SPINNER)], "yellow"
    return SIGNS.get(state, ("○", "dim"))


def _inside(view: View, steps: list[Step], address: str, indent: str) -> Iterator[Text]:
    """What is under way inside a branch, a group, a call or the items of a list."""
    for step in [step for step in steps if step.state != "succeeded"][:_INSIDE_MAX]:
        yield _step(view, step, indent + "  ", step.address[len(address) :].lstrip("/"))
    for key, loop in view.progress.loops.items():
        node = loop_node(view.workflow, loop.path) if is_below(key, address) else None
        if node is not None and not loop.exit_reason:
            yield from _loop(view, loop, node, (indent + "└── ", indent + "    "))


def _step(view: View, step: Step, branch: str, name: str = "") -> Text:
    mark, color = _mark(view, step.state)
    shown = line(name or name_of(step.address), 60)
    text = Text.assemble((branch, "dim"), (f"{mark} ", color), shown)
    took = (step.ended_at or view.now) - step.started_at
    attempt = f"attempt {step.attempt}" if step.attempt > 1 else ""
    time, spent = seconds(took) if took else "", used(step.tokens, step.cost_usd)
    about = joined(line(step.model, 40), time, spent, attempt)
    text.append(f"  {about}" if about else "", "dim")
    if step.error:
        text.append(f"  {line(step.error, 80)}", "red")
    elif step.text and step.state == "running":
        room = max(10, view.width - len(text) - 6)
        shown = line(step.text[-room * 2 :], room * 2)[-room:]
        text.append(f'  "{shown}…"')
    return text


def _loop_sign(loop: LoopProgress) -> tuple[str, str]:
    if not loop.exit_reason:
        return "↻", "yellow"
    if loop.is_failed:
        return "✗", "red"
    if loop.mark:
        return "!", "yellow"
    return "✓", "green" if loop.exit_reason in ("condition_met", "accepted") else "yellow"


def _loop(view: View, loop: LoopProgress, node: Loop, indents: tuple[str, str]) -> Iterator[Text]:
    branch, below = indents
    ended = exit_words(loop.exit_reason, loop.stopped_by)
    until = condition_words(node.until)
    mark, color = _loop_sign(loop)
    title = Text.assemble((branch, "dim"), (f"{mark} ", color), (line(node.name, 60), "bold"))
    title.append("  iteration ").append(str(loop.number), "bold")
    title.append(f"/{loop.limit}" if loop.limit else "")
    title.append(f"   {ended}" if ended else f"   until {until}" if until else "")
    yield title
    shown = list(loop.iterations)[-view.rows_max :]
    if shown or not ended:
        yield Text(f"{below}{_row(_HEAD).plain}  verdict", "dim")
    for done in shown:
        is_best = loop.best is not None and loop.best[0] == done.number
        yield Text.assemble((below, "dim"), row_cells(done, is_best=is_best))
    if not ended and loop.number > (shown[-1].number if shown else 0):
        yield Text.assemble((below, "dim"), _current(view, loop))
        address = numbered(loop.address, loop.number)
        tried = [key for key in view.progress.steps if key.startswith(f"{address}#")]
        if tried and "/" not in loop.address:
            address = tried[-1].partition("/")[0]
        yield from _block(view, node.body, address, below + "   ")


def _current(view: View, loop: LoopProgress) -> Text:
    inside = numbered(loop.address, loop.number)
    steps = [step for key, step in view.progress.steps.items() if key.startswith(inside)]
    loops = [inner for key, inner in view.progress.loops.items() if key.startswith(inside)]
    spent = [(step.tokens, step.cost_usd) for step in steps]
    spent += [(done.tokens, done.cost_usd) for inner in loops for done in inner.iterations]
    tokens, cost = sum(amount[0] for amount in spent), sum(amount[1] for amount in spent)
    cells = [str(loop.number), "…", "", seconds(view.now - loop.iteration_at)]
    cells += [figures.count(tokens) if tokens else "", dollars(cost) if cost else ""]
    running = ", ".join(name_of(step.address) for step in steps if step.state == "running")
    words = f"{line(running, 40)} running" if running else ""
    return Text.assemble(_row(cells, ("yellow",)), "  ", (words, "yellow"))


def _footer(view: View) -> Iterator[Text]:
    progress = view.progress
    loop = next((item for key, item in progress.loops.items() if "[" not in key), None)
    scores = [done.score for done in loop.iterations][-SPARKS_MAX:] if loop else []
    lines: list[Text] = []
    if loop is not None and any(item is not None for item in scores):
        curve = f"{figures.sparkline(scores):<{BAR_WIDTH}}"
        text = Text.assemble("score   ", (curve, "cyan"), "  ")
        node = loop_node(view.workflow, loop.path)
        target = target_of(node.until) if node is not None else None
        if loop.best is not None:
            number, best = loop.best
            text.append("best ").append(score(best, target), "bold").append(f" @{number}")
        text.append(f"   target {score(target, *scores)}" if target is not None else "")
        lines.append(text)
    if progress.budget_usd:
        share = min(1.0, progress.cost_usd / progress.budget_usd)
        full = round(share * BAR_WIDTH)
        bar = ("━" * full, "red" if share >= 0.8 else "magenta")
        text = Text.assemble("budget  ", bar, ("━" * (BAR_WIDTH - full), "bright_black"), "  ")
        text.append(f"{dollars(progress.cost_usd)} / {allowed(progress.budget_usd)}")
        text.append(_iterations_left(progress.budget_usd - progress.cost_usd, loop))
        lines.append(text)
    elif progress.calls:
        calls, cost = figures.plural(progress.calls, "call"), progress.cost_usd
        words = f"{figures.count(progress.tokens)} tok", dollars(cost) if cost else ""
        lines.append(Text(f"used    {joined(calls, *words)}"))
    if lines:
        yield Text("")
    yield from lines


def _iterations_left(left_usd: float, loop: LoopProgress | None) -> str:
    costs = [done.cost_usd for done in loop.iterations if done.cost_usd] if loop else []
    if loop is None or not costs or loop.exit_reason:
        return ""
    left = int(left_usd / (sum(costs) / len(costs)))
    if loop.limit:
        left = min(left, loop.limit - len(loop.iterations))
    return f"   ~{max(0, left):,} iterations left"


def states_of(progress: Progress, block: Block, address: str) -> dict[str, str]:
    """The state of each node by its name: running, succeeded, failed; empty: it has not begun."""
    signs = {node.name: _sign(progress, join(address, node.name)) for node in block.nodes}
    left = {after.node for node in block.nodes if signs[node.name] for after in node.after}
    states: dict[str, str] = {}
    for node in block.nodes:
        sign = signs[node.name]
        is_due = all(states.get(after.node) in _WELL for after in node.after)
        if sign in ("", "running") and (node.name in left or progress.status == "succeeded"):
            sign = "succeeded"
        elif isinstance(node, Group) and sign == "running":
            inner = states_of(progress, node.body, join(address, node.name))
            is_done = all(state in _WELL for state in inner.values())
            sign = "succeeded" if is_done else sign
        elif not sign and is_due and progress.status == "running":
            sign = "succeeded" if isinstance(node, UNSEEN) else "running"
        states[node.name] = sign
    return states


def newest_loop(progress: Progress, address: str) -> LoopProgress | None:
    """The loop at an address; one that was run again has a number behind its name."""
    keys = [key for key in progress.loops if key == address or key.startswith(f"{address}#")]
    return progress.loops[keys[-1]] if keys else None


def steps_below(progress: Progress, address: str) -> list[Step]:
    return [step for key, step in progress.steps.items() if is_below(key, address)]


def is_below(address: str, above: str) -> bool:
    return address.startswith((f"{above}/", f"{above}["))


def _sign(progress: Progress, address: str) -> str:
    """What the journal tells about a node, by itself or by what is inside of it."""
    loop = newest_loop(progress, address)
    if loop is not None:
        ended = "failed" if loop.is_failed else "succeeded"
        return ended if loop.exit_reason else "running"
    step = progress.steps.get(address)
    if step is not None and not step.branch:
        return "running" if step.state in _UNDER_WAY else step.state
    states = {inner.state for inner in steps_below(progress, address)}
    if states & _UNDER_WAY or not states:
        return "running" if states or (step is not None and progress.status == "running") else ""
    if progress.status not in ("failed", "cancelled"):
        return "running"
    worst = states - _WELL
    return "failed" if "failed" in worst else "cancelled" if worst else "succeeded"
