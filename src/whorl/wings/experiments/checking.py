"""What can be wrong in an experiment file beside its shape, found before anything is paid for."""

from __future__ import annotations

from contextlib import suppress
from functools import reduce
from typing import TYPE_CHECKING, Any

from whorl.errors import Diagnostic, did_you_mean
from whorl.ir import Call, ForEach, Loop
from whorl.ir.checks.expressions import RESULTS, joined_path, member_advice
from whorl.ir.checks.scopes import PLAIN, Shape, Shapes, lacks, part_of
from whorl.ir.walk import blocks_of
from whorl.language import Expression, LanguageError, free_names
from whorl.source import Mapping, Scalar, Sequence

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator
    from collections.abc import Mapping as Members

    from whorl.errors import Span
    from whorl.ir import Block, Workflow
    from whorl.language.tree import Path
    from whorl.source import Value

CODE = "X100"
# The variant that is always there: the file as it is.
BASE = "base"
# What graders see of a run, and of a trial.
RUN_FACTS = ("iterations", "exit_reason", "stopped_by", "cost_usd", "seconds", "status")
NAMES = ("case", "inputs", "outputs", RESULTS, "run")
# The forms of graders by the field that tells them apart, with the fields beside it.
GRADERS: dict[str, tuple[str, ...]] = {
    "equals": ("of", "ignore"),
    "judge": ("of", "votes", "model"),
    "ask": ("returns", "model"),
    "use": ("with",),
    "run": (),
    "person": ("show",),
}
# Fields of graders whose words may be a template; all else in them is for others to read.
_TEMPLATES = ("equals", "of", "judge", "ask", "with", "run", "person", "show")


def graders_in(value: Value | None) -> dict[str, Value]:
    """The graders that `grade` names; one that is alone is called like the field."""
    if isinstance(value, Mapping) and not any(kind in value for kind in GRADERS):
        return {entry.name: entry.value for entry in value}
    return {} if value is None else {"grade": value}


def check_names(root: Mapping) -> Iterator[Diagnostic]:
    """What the expressions and templates of an experiment file read that is not there."""
    graders = graders_in(root.get("grade"))
    for name, value in graders.items():
        words = f"grader {name!r} sees {', '.join(NAMES)}"
        for text in _texts_of(value):
            yield from _check_text(text, NAMES, words)
    if isinstance(solved := root.get("solved"), Scalar):
        yield from _check_text(solved, [*graders] or ["grade"], "`solved` sees the grades")
    for text in templates_in(root.get("inputs")):
        yield from _check_text(text, ["case"], "`inputs` see the case")


def _texts_of(grader: Value) -> Iterator[Scalar]:
    """What a grader reads names by: itself, or templates in some of its fields."""
    if isinstance(grader, Scalar):
        yield grader
    for entry in grader if isinstance(grader, Mapping) else ():
        if entry.name in _TEMPLATES:
            yield from templates_in(entry.value)


def expressions_of(graders: Value | None) -> Iterator[Scalar]:
    """What all graders read names by."""
    return (text for grader in graders_in(graders).values() for text in _texts_of(grader))


def check_columns(root: Mapping, columns: Collection[str]) -> Iterator[Diagnostic]:
    """The columns that a file names and no case has."""
    for name in ("case_id", "group"):
        value = root.get(name)
        if isinstance(value, Scalar) and value.text not in columns:
            advice = did_you_mean(value.text, columns) or f"known: {', '.join(columns)}"
            yield _wrong(f"there is no column {value.text!r}", value.span, advice)
    yield from check_members(templates_in(root.get("inputs")), {"case": _named(columns)})


def check_members(
    texts: Iterable[Scalar], members: Members[str, Shape | None], loops: Collection[str] = ()
) -> Iterator[Diagnostic]:
    """What expressions and templates read of a case, of outputs or results that is not there.

    `loops` are those whose steps the results are of.
    """
    for value in texts:
        with suppress(LanguageError):
            uses = free_names(expression_of(value.text))
            found = (_missing(use.name, use.path, members) for use in uses)
            missing = {(one[0], one[1][0]): one for one in found if one is not None}
            for holder, rest, shape in missing.values():
                name = str(rest[0])
                is_step = holder == RESULTS
                advice = _step_advice(shape, rest, loops) if is_step else ""
                advice = advice or member_advice(shape, holder, name)
                words = f"{holder!r} has no {name!r}"
                yield Diagnostic("W005", words, value.span, "unknown name", advice)


def _missing(
    name: str, path: Path, members: Members[str, Shape | None]
) -> tuple[str, Path, Shape] | None:
    """Where a path leads to what is certainly not there: up to where, the rest, what is there."""
    shape, holder = members.get(name), name
    for at, key in enumerate(path):
        if shape is None:
            return None
        if lacks(shape, key):
            return holder, path[at:], shape
        shape, holder = part_of(shape, key), joined_path(holder, key)
    return None


def _step_advice(shape: Shape, path: Path, loops: Collection[str]) -> str:
    """What to write instead of a step that no loop has; some write the loop before it."""
    steps, name = list(shape.fields), str(path[0])
    if not loops:
        return "there is no loop, whose steps `results` has: grade `outputs`"
    where = f"the results are those of the steps in loop {' or '.join(map(repr, loops))}"
    if len(path) > 1 and path[1] in steps and (name in loops or did_you_mean(name, loops)):
        return f"write {reduce(joined_path, path[1:], RESULTS)}: {where}"
    return did_you_mean(name, steps) or f"{where}: {', '.join(steps)}"


def members_of(
    columns: Iterable[str], workflows: Collection[Workflow]
) -> tuple[dict[str, Shape | None], list[str]]:
    """What graders find in each of their names, and the loops whose steps the results are of.

    Of names without a shape nobody knows. `workflows` are those of all variants; none: not all of
    them can be read.
    """
    members: dict[str, Shape | None] = {"case": _named(columns), "run": _named(RUN_FACTS)}
    if not workflows:
        return members, []
    shapes = [Shapes(dict(one.workflows)) for one in workflows]
    each = list(zip(shapes, workflows, strict=True))
    members["outputs"] = _any_of(known.of_outputs(one) for known, one in each)
    loops = [
        (known, loop) for known, one in each for loop in _outermost(one.body, dict(one.workflows))
    ]
    if not any(one.open_inputs for one in workflows):
        members["inputs"] = _named(port.name for one in workflows for port in one.inputs)
        found = _any_of(known.of_block(loop.body) for known, loop in loops)
        members[RESULTS] = found if loops else _named(())
    return members, list(dict.fromkeys(loop.name for _, loop in loops))


def _named(names: Iterable[str]) -> Shape:
    return Shape("object", dict.fromkeys(names))


def _outermost(block: Block, called: Members[str, Workflow]) -> Iterator[Loop]:
    """The loops that are there once in a run, also those of workflows that it calls."""
    for node in block.nodes:
        if isinstance(node, Loop):
            yield node
        elif isinstance(node, Call):
            others = {name: one for name, one in called.items() if name != node.workflow}
            if node.workflow in called:
                yield from _outermost(called[node.workflow].body, others)
        elif not isinstance(node, ForEach):
            for _, inner in blocks_of(node):
                yield from _outermost(inner, called)


def _any_of(shapes: Iterable[Shape | None]) -> Shape | None:
    """What is known of a value that has one of these shapes."""
    known = list(shapes)
    return reduce(_either, known) if known else None


def _either(one: Shape | None, other: Shape | None) -> Shape | None:
    if one is None or other is None:
        return None
    if one.kind != other.kind:
        return PLAIN if {one.kind, other.kind} == {"text", "plain"} else None
    shared = {
        n: _either(part, other.fields[n]) for n, part in one.fields.items() if n in other.fields
    }
    fields = {**one.fields, **other.fields, **shared}
    return Shape(one.kind, fields, _either(one.items, other.items), one.open or other.open)


def expression_of(text: str) -> Expression:
    """An expression, or a text with placeholders."""
    return Expression("template" if "{{" in text else "jinja", text)


def templates_in(value: Value | None) -> Iterator[Scalar]:
    """The texts in a value that have placeholders."""
    if isinstance(value, Mapping):
        for entry in value:
            yield from templates_in(entry.value)
    elif isinstance(value, Sequence):
        for item in value:
            yield from templates_in(item)
    elif isinstance(value, Scalar) and "{{" in value.text:
        yield value


def _check_text(value: Scalar, names: Any, words: str) -> Iterator[Diagnostic]:
    try:
        uses = free_names(expression_of(value.text))
    except LanguageError as fault:
        yield Diagnostic("W008", str(fault), value.span, help=fault.help or "")
        return
    for name in dict.fromkeys(use.name for use in uses if use.name not in names):
        yield _wrong(f"there is no {name!r}", value.span, did_you_mean(name, list(names)) or words)


def _wrong(message: str, span: Span | None, advice: str = "") -> Diagnostic:
    return Diagnostic(CODE, message, span, help=advice)
