"""Which steps, branches and exits of loops the runs of tests have reached, and where they stand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from whorl import ir
from whorl.ir.walk import index_nodes
from whorl.lazily import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from whorl.ir import Condition, Node, Workflow
    from whorl.wings.testing.running import Outcome

_LIMIT = "max_iterations"
_NONE = "no case"
_REPETITIONS = ("iteration", "item")
# What a loop is said to be stopped by, where it is one of these.
_STOPPING: dict[type, str] = {
    ir.When: "expression",
    ir.Score: "score",
    ir.Judge: "judge",
    ir.BranchTaken: "branch",
    ir.Stable: "stable",
    ir.Plateau: "plateau",
}


@dataclass(frozen=True, slots=True)
class Goal:
    """Something that a test can reach: a step, a case of a branch, an exit of a loop.

    `words` are what records and loops tell of it: any of them will do.
    """

    kind: Literal["step", "branch", "exit"]
    path: str
    line: int | None
    words: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        path = self.path.rpartition(":")[2].replace("@case.", "/").replace("@default", "/else")
        if self.kind == "step":
            return path
        return f"{path}: {'case' if self.kind == 'branch' else 'exit by'} {' or '.join(self.words)}"


@dataclass(frozen=True, slots=True)
class Coverage:
    """What of a workflow was reached, in the order of its file, and what was not."""

    file: str
    reached: list[Goal]
    missed: list[Goal]

    @property
    def total(self) -> int:
        return len(self.reached) + len(self.missed)


def coverage_of(file: str, workflow: Workflow, outcomes: Iterable[Outcome]) -> Coverage:
    """What the runs of a workflow have reached of it and of the workflows that it calls."""
    seen = {fact for outcome in outcomes for fact in _seen(outcome)}
    reached: list[Goal] = []
    missed: list[Goal] = []
    for goal in goals_of(workflow):
        facts = [(goal.path, word) for word in goal.words or ("",)]
        (reached if seen.intersection(facts) else missed).append(goal)
    return Coverage(file, reached, missed)


def goals_of(workflow: Workflow) -> Iterator[Goal]:
    nodes = index_nodes(workflow)
    # What has no place in a file, where others have one, its reader has added.
    has_places = any(node.place for node in nodes.values())
    for path, node in nodes.items():
        if node.place or not has_places:
            line = int(node.place.partition(":")[0]) if node.place else None
            yield Goal("step", path, line)
            yield from (Goal("branch", path, line, (name,)) for name in _cases(node))
            yield from (Goal("exit", path, line, words) for words in _exits(node))


def _cases(node: Node) -> Iterator[str]:
    if isinstance(node, ir.Branch):
        yield from (case.name for case in node.cases)
        yield node.default.name if node.default is not None else _NONE


def _exits(node: Node) -> Iterator[tuple[str, ...]]:
    if isinstance(node, ir.Loop):
        conditions = dict.fromkeys(filter(None, map(_stopping, _any_of(node.until))))
        yield from conditions
        yield (_LIMIT,)


def _any_of(condition: Condition | None) -> Iterator[Condition]:
    """The conditions each of which ends a loop."""
    if isinstance(condition, ir.AnyOf):
        for part in condition.conditions:
            yield from _any_of(part)
    elif condition is not None:
        yield condition


def _stopping(condition: Condition) -> tuple[str, ...]:
    """By what a condition is said to have stopped a loop; a score may only measure."""
    if isinstance(condition, ir.AllOf):
        words = (word for part in condition.conditions for word in _stopping(part))
        return tuple(dict.fromkeys(words))
    if isinstance(condition, ir.Score) and condition.at_least is None:
        return ()
    word = _STOPPING.get(type(condition))
    return () if word is None else (word,)


def _seen(outcome: Outcome) -> Iterator[tuple[str, str]]:
    """Pairs of a path and a word; the word is empty for the step itself."""
    paths: dict[str, str] = {}
    for record in outcome.records():
        if record["kind"] in _REPETITIONS or record["status"] == "skipped":
            continue
        path = paths[record["address"]] = record["path"]
        yield path, ""
        if record["kind"] == "branch":
            yield path, record.get("branch") or _NONE
    for loop in outcome.journal.loops(outcome.run):
        path = paths.get(loop.address, "")
        yield path, loop.stopped_by if loop.exit_reason == "condition_met" else loop.exit_reason
