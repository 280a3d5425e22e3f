"""The live view as a picture: a run's tree and its progress in, lines out; no clock, no terminal.

It is as high as it may be, whatever the run has: each level of the tree gets its share of the rows,
and shows that part of itself that is looked at. What a row says is in `rows` and `tables`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from rich.text import Text

from whorl.errors import plural
from whorl.interfaces.cli.live import tables, tree_rows
from whorl.interfaces.cli.live.outline import UNSEEN, Level
from whorl.interfaces.cli.terminal import badge
from whorl.interfaces.formatting import line, seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from whorl.interfaces.cli.live.outline import Place
    from whorl.interfaces.cli.live.tree_rows import View
    from whorl.interfaces.progress import LoopProgress

# The rows of a level for so many lines, and after which of them the next level follows.
Part: TypeAlias = tuple[list[Text], int]
_GATES_MAX = 2
_BRANCHES = ("├── ", "│   ", "└── ", "    ")


def draw(view: View) -> list[Text]:
    progress = view.progress
    words, color = badge(progress.status, progress.mark)
    took = seconds(view.now - progress.started_at) if progress.started_at else ""
    title, rest = (line(progress.workflow, 60), "bold"), f"  run {progress.run}  {took}"
    head = [Text.assemble((words, f"bold {color}"), " ", title, rest)]
    levels = view.outline.levels(view.path)
    foot = [*_gates(view), *_footer(view, levels)]
    room = max(1, view.height - len(head) - len(foot))
    tree = _tree(view, levels, room) if levels else _remains(view)
    if len(tree) > room and not view.is_last:
        tree = [*tree[: room - 1], Text("…", "dim")]
    return [*head, *tree, *foot]


def _gates(view: View) -> Iterator[Text]:
    """What is asked; a run that only waits asks with its last words, below the view."""
    waiting = view.progress.waiting if view.progress.status == "running" else {}
    for number, (address, gate) in enumerate(waiting.items()):
        if number == _GATES_MAX:
            yield Text(f"⏸ and {plural(len(waiting) - number, 'more question')}", "yellow")
            return
        words = line(str(gate.get("message", "")), view.width - 20)
        place = line(address.partition("/:")[0], 40)
        yield Text.assemble(("⏸ ", "yellow"), place, "  ", (words, "yellow"))


def _footer(view: View, levels: list[Level]) -> Iterator[Text]:
    loops = [level.key for level in levels if level.kind == "loop"]
    loop = tree_rows.loop_at(view, loops[-1]) if loops else None
    lines = [*(tables.scores(view, loops[-1]) if loops else ()), *tables.budgets(view, loop)]
    yield from [Text(""), *lines] if lines else []


class _Section:
    """A level of the tree: the fewest rows that it can do with, and how many it would fill."""

    least = 1

    def __init__(self, view: View, level: Level, *, is_inner: bool) -> None:
        self.view, self.level, self.is_inner = view, level, is_inner
        self.outline = view.outline
        self.wanted = self.count()

    def count(self) -> int:
        raise NotImplementedError

    def draw(self, size: int, indent: str) -> Part:
        raise NotImplementedError

    def below(self, indent: str) -> str:
        """The indent of the next level."""
        return indent + "   "


class _Block(_Section):
    """The nodes of a block, a row for each."""

    def __init__(self, view: View, level: Level, *, is_inner: bool) -> None:
        self.places = view.outline.places(level.key)
        names = [place.name for place in self.places]
        self.at = names.index(level.chosen) if level.chosen in names else -1
        self.ends = False
        super().__init__(view, level, is_inner=is_inner)
        self.least = min(1, self.wanted)

    def count(self) -> int:
        # The row of an item says already what its only node does.
        is_repeated = self.is_inner and len(self.places) == 1 and self.at == 0
        return 0 if is_repeated else len(self.places)

    def draw(self, size: int, indent: str) -> Part:
        if not self.wanted:
            return [], 0
        first, last, more = window(len(self.places), self._middle(), size)
        lines: list[Text] = []
        follows = 0
        for at in range(first, last):
            place, is_end = self.places[at], at == last - 1 and (size == 1 or not more)
            lines.append(self._row(place, indent, is_end))
            if at == self.at:
                follows, self.ends = len(lines), is_end
            elif self.view.is_last and place.key:
                lines += self._kept(place, indent + _BRANCHES[3 if is_end else 1])
        if more and size > 1:
            lines.append(Text(f"{indent}└── … {plural(more, 'more step')}", "dim"))
        return lines, follows

    def _middle(self) -> int:
        """What must be seen: what is open, or else what is under way or has ended last."""
        begun = [at for at, place in enumerate(self.places) if place.state]
        running = [at for at in begun if self.places[at].is_running]
        return self.at if self.at >= 0 else [*running[:1], *begun[-1:], 0][0]

    def _kept(self, place: Place, indent: str) -> list[Text]:
        """What stays of a list or a loop that nobody looks at."""
        if place.kind == "foreach":
            items = _List(self.view, Level("list", place.key), is_inner=False)
            return items.draw(items.wanted, indent)[0]
        if place.kind != "loop":
            return []
        loop, most = tree_rows.loop_at(self.view, place.key), self.view.rows_max
        scored = self.outline.measures(place.key)
        lines = table(loop, most + 1, f"{indent}   ", most=most, scored=scored)
        return lines if loop.iterations else []

    def _row(self, place: Place, indent: str, is_last: bool) -> Text:
        branch = _BRANCHES[2 if is_last else 0]
        is_open = place.name == self.level.chosen
        return Text.assemble(
            (indent + branch, "dim"), tree_rows.place(self.view, place, is_open=is_open)
        )

    def below(self, indent: str) -> str:
        if not self.wanted:
            return indent
        return indent + _BRANCHES[3 if self.ends else 1]


class _List(_Section):
    """The items of a list, a row for each."""

    def count(self) -> int:
        self.total = self.outline.counts(self.level.key).total
        return min(self.total, self.view.rows_max + 2) if self.view.is_last else self.total

    def draw(self, size: int, indent: str) -> Part:
        chosen, total = self.level.chosen, self.total
        at = chosen if isinstance(chosen, int) else 0
        if size >= total:
            shown = list(range(total))
        elif self.view.is_moved:
            first, last, _ = window(total, at, size)
            shown = list(range(first, last))
        else:
            shown = self._of_interest(max(1, size - 1))
        lines = tree_rows.items(self.view, self.level, shown, indent)
        if len(shown) < total and size > 1:
            words = f"{indent}  … {plural(total - len(shown), 'more item')}"
            lines.append(Text(words, "dim"))
        return lines, shown.index(at) + 1 if at in shown else 0

    def _of_interest(self, most: int) -> list[int]:
        """What is looked at and what is under way; then what failed last, and what comes next."""
        key, counts, chosen = self.level.key, self.outline.counts(self.level.key), self.level.chosen
        found = dict.fromkeys([chosen] if isinstance(chosen, int) else [])
        found |= dict.fromkeys(self.outline.running_items(key, most))
        found |= dict.fromkeys(self.outline.failed_items(key, most))
        first = counts.total - counts.waiting
        found |= dict.fromkeys(range(first, min(counts.total, first + most)))
        found |= dict.fromkeys(range(counts.total - 1, max(-1, counts.total - 1 - most), -1))
        return sorted(list(found)[:most])


class _Loop(_Section):
    """The iterations of a loop; what its current one does is the next level."""

    def count(self) -> int:
        self.loop = tree_rows.loop_at(self.view, self.level.key)
        finished = min(len(self.loop.iterations), self.view.rows_max)
        self.has_current = tree_rows.is_under_way(self.loop)
        self.scored = self.outline.measures(self.level.key)
        return finished + self.has_current + (finished > 0 or self.has_current)

    def draw(self, size: int, indent: str) -> Part:
        size -= self.has_current
        most, scored = self.view.rows_max, self.scored
        lines = table(self.loop, max(0, size), indent, most=most, scored=scored)
        if self.has_current:
            row = tables.current(self.view, self.level.key, self.loop, scored=scored)
            lines.append(Text.assemble((indent, "dim"), row))
        return lines, len(lines)


_SECTIONS: dict[str, Callable[..., _Section]] = {"block": _Block, "list": _List, "loop": _Loop}


def table(loop: LoopProgress, size: int, indent: str, *, most: int, scored: bool) -> list[Text]:
    """The newest finished iterations, under a head where there is room for it."""
    has_head = size > 1 or not loop.iterations
    head = [Text(f"{indent}{tables.head(scored=scored)}", "dim")] if has_head else []
    shown = list(loop.iterations)[-most:]
    shown = shown[max(0, len(shown) - size + len(head)) :]
    best = loop.best[0] if loop.best is not None else None
    cells = (tables.iteration(done, is_best=done.number == best, scored=scored) for done in shown)
    return [*head, *(Text.assemble((indent, "dim"), row) for row in cells)][: max(size, 0)]


def _tree(view: View, levels: list[Level], room: int) -> list[Text]:
    sections: list[_Section] = []
    for at, level in enumerate(levels):
        is_inner = at > 0 and levels[at - 1].kind == "list"
        sections.append(_SECTIONS[level.kind](view, level, is_inner=is_inner))
    if view.is_last:
        room = sum(section.wanted for section in sections)
    return _compose(sections, _shares(sections, room), "")


def _compose(sections: Sequence[_Section], sizes: Sequence[int], indent: str) -> list[Text]:
    if not sections:
        return []
    lines, at = sections[0].draw(sizes[0], indent)
    inner = _compose(sections[1:], sizes[1:], sections[0].below(indent))
    return [*lines[:at], *inner, *lines[at:]]


def _shares(sections: Sequence[_Section], room: int) -> list[int]:
    """How many rows each level gets: one after the other is given one more until none are left."""
    sizes = [section.least for section in sections]
    left = room - sum(sizes)
    while left > 0:
        before = left
        for at in reversed(range(len(sections))):
            if left and sizes[at] < sections[at].wanted:
                sizes[at] += 1
                left -= 1
        if left == before:
            break
    return sizes


def window(total: int, at: int, size: int) -> tuple[int, int, int]:
    """The first and the last of some rows around one of them, and how many are left out.

    One of the lines is for saying how many, where there are several.
    """
    if size >= total:
        return 0, total, 0
    size = max(1, size - 1)
    first = max(0, min(at - size // 2, total - size))
    return first, first + size, total - size


def _remains(view: View) -> list[Text]:
    """A run whose frames are gone: it was cut off, so only its entries tell of it."""
    lines: list[Text] = []
    progress, nodes = view.progress, view.workflow.body.nodes
    seen = [node for node in nodes if not isinstance(node, UNSEEN)]
    for node in seen:
        branch, below = _BRANCHES[2:] if node is seen[-1] else _BRANCHES[:2]
        lines.append(Text.assemble((branch, "dim"), tree_rows.remains(view, node.name)))
        loop = progress.loops.get(node.name)
        if loop is not None:
            scored, most = tables.has_scores(loop), view.rows_max
            lines += table(loop, most + 1, f"{below}  ", most=most, scored=scored)
    return lines
