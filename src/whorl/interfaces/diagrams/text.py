"""Pictures of a workflow: a tree of text, and a Mermaid flowchart."""

from __future__ import annotations

from collections import Counter
from itertools import count
from typing import TYPE_CHECKING

from whorl import ir
from whorl.errors import plural, safe
from whorl.interfaces.formatting import allowed, line, seconds
from whorl.interfaces.status_words import condition_words
from whorl.ir.walk import blocks_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from whorl.ir import Block, Node, RunLimits, Workflow

_MARKS: dict[type[Node], str] = {ir.Loop: "↻ ", ir.ForEach: "⇉ ", ir.Branch: "? "}
_ESCAPES = {"#": "#35;", '"': "#quot;", "<": "#lt;", ">": "#gt;", "&": "#amp;", "`": "#96;"}


def text_tree(workflow: Workflow) -> str:
    lines = [f"{line(workflow.name, 80)}  ({workflow.dialect})"]
    if workflow.inputs:
        lines.append(f"  inputs: {', '.join(line(port.name, 40) for port in workflow.inputs)}")
    lines += _tree(workflow.body, "")
    if workflow.outputs:
        lines.append(f"  outputs: {', '.join(line(name, 40) for name, _ in workflow.outputs)}")
    for key, called in workflow.workflows:
        lines += ["", f"{line(key, 80)}  ({called.dialect}, called)", *_tree(called.body, "")]
    return "\n".join(lines)


def _tree(block: Block, indent: str) -> Iterator[str]:
    before = ""
    waited = Counter(frozenset(after.node for after in node.after) for node in block.nodes)
    for at, node in enumerate(block.nodes):
        is_last = at + 1 == len(block.nodes)
        names = [after.node for after in node.after]
        order = _order(names, before, is_alone=waited[frozenset(names)] == 1)
        yield f"{indent}{'└─' if is_last else '├─'} {_words(node)}{order}"
        before = node.name
        below = indent + ("   " if is_last else "│  ")
        slots = blocks_of(node)
        for number, (slot, inner) in enumerate(slots):
            if slot == "body":
                yield from _tree(inner, below)
                continue
            is_final = number + 1 == len(slots)
            yield f"{below}{'└─' if is_final else '├─'} {line(slot.removeprefix('case.'), 40)}:"
            yield from _tree(inner, below + ("   " if is_final else "│  "))


def _order(names: list[str], before: str, *, is_alone: bool) -> str:
    """What a node waits for, unless it is alone and that is simply the node before it."""
    if is_alone and names == ([before] if before else []):
        return ""
    after = ", ".join(line(name, 40) for name in names)
    if not after:
        return "  (at once)"
    return f"  (after {after})" if is_alone else f"  (at once, after {after})"


def _words(node: Node) -> str:
    when = f"  if {line(node.when.source, 60)}" if node.when is not None else ""
    return f"{_MARKS.get(type(node), '')}{line(node.name, 60)}  {detail_words(node)}{when}".rstrip()


def detail_words(node: Node) -> str:
    match node:
        case ir.Task():
            return node.kind
        case ir.Loop():
            until = condition_words(node.until)
            return f"{f'until {until}, ' if until else ''}at most {limit_words(node.limits)}"
        case ir.ForEach():
            return f"for each {line(node.item_name, 30)}, {node.concurrency} at once"
        case ir.Branch():
            return "choose"
        case ir.Call():
            return f"calls {line(node.workflow, 60)}"
        case ir.Compute():
            return "value"
        case ir.Assign():
            return f"set {', '.join(line(name, 30) for name, _ in node.sets)}"
        case ir.Wait():
            return "wait"
        case ir.Gate():
            limit_s = node.timeout_s
            return f"asks a person{f', for {seconds(limit_s)}' if limit_s is not None else ''}"
        case ir.Stop():
            return f"stop ({node.status})"
        case ir.Break() | ir.Continue():
            return f"{type(node).__name__.lower()} {line(node.loop, 40)}"
        case ir.Group():
            return "together"
        case ir.Program():
            return f"code {line(node.function, 60)}".rstrip()


def after_words(statuses: Sequence[str]) -> str:
    """Returns the statuses of its predecessor after which a node runs, or "" for success."""
    return "" if tuple(statuses) in (("passed",), ("succeeded",)) else ", ".join(statuses)


def limit_words(limits: ir.LoopLimits | RunLimits) -> str:
    """What bounds a loop or a run: its iterations, its time, its money."""
    words = []
    if isinstance(limits, ir.LoopLimits):
        number = limits.iterations
        words.append(plural(number, "iteration") if isinstance(number, int) else "computed")
    if limits.time_s is not None:
        is_known = isinstance(limits.time_s, int | float)
        words.append(seconds(limits.time_s) if is_known else "a computed time")  # type: ignore[arg-type]
    words += [allowed(limits.cost_usd)] if limits.cost_usd is not None else []
    words += [plural(limits.tokens, "token")] if limits.tokens is not None else []
    words += [plural(limits.calls, "call")] if limits.calls is not None else []
    return ", ".join(words)


class _Chart:
    """A Mermaid flowchart in the making; every node gets a number, so no name can break it."""

    def __init__(self) -> None:
        self.lines = ["flowchart TD"]
        self._numbers = count(1)

    def block(self, block: Block, indent: str) -> list[str]:
        """Draws the nodes of a block; returns their ids."""
        if not block.nodes:
            empty = self._next()
            self.lines.append(f'{indent}{empty}[" "]')
            return [empty]
        ids = {node.name: self._node(node, indent) for node in block.nodes}
        for node in block.nodes:
            for after in node.after:
                words = after_words(after.statuses)
                label = f"|{_label(words)}|" if words else ""
                if after.node in ids:
                    self.lines.append(f"{indent}{ids[after.node]} -->{label} {ids[node.name]}")
        return [*ids.values()]

    def _node(self, node: Node, indent: str) -> str:
        key = self._next()
        slots = blocks_of(node)
        if not slots:
            start, end = ('(["', '"])') if isinstance(node, ir.Gate) else ('["', '"]')
            words = f"{_label(node.name)}<br/><small>{_label(detail_words(node))}</small>"
            self.lines.append(f"{indent}{key}{start}{words}{end}")
            return key
        self.lines.append(f'{indent}subgraph {key} ["{_label(_words(node))}"]')
        below = indent + "  "
        if isinstance(node, ir.Branch):
            choice = self._next()
            self.lines.append(f'{below}{choice}{{"{_label(node.name)}"}}')
            for slot, inner in slots:
                case, name = self._next(), _label(slot.removeprefix("case."))
                self.lines.append(f'{below}subgraph {case} ["{name}"]')
                self.block(inner, below + "  ")
                self.lines += [f"{below}end", f"{below}{choice} --> {case}"]
        else:
            ids = self.block(slots[0][1], below)
            if isinstance(node, ir.Loop):
                self.lines.append(f"{below}{ids[-1]} -. not yet .-> {ids[0]}")
        self.lines.append(f"{indent}end")
        return key

    def _next(self) -> str:
        return f"n{next(self._numbers)}"


def mermaid(workflow: Workflow) -> str:
    """The workflow as a Mermaid flowchart; loops are boxes around their bodies."""
    chart = _Chart()
    chart.block(workflow.body, "  ")
    return "\n".join(chart.lines)


def _label(text: str) -> str:
    """A text that stays a text inside a Mermaid label."""
    return "".join(_ESCAPES.get(letter, letter) for letter in safe(text.replace("\n", " "))[:120])
