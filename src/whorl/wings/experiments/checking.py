"""What can be wrong in an experiment file beside its shape, found before anything is paid for."""

from __future__ import annotations

from contextlib import suppress
from functools import reduce
from typing import TYPE_CHECKING, Any

from whorl.errors import Diagnostic, did_you_mean
from whorl.ir import Call, ForEach, Loop
from whorl.ir.checks.expressions import RESULTS, joined_path, member_advice
from whorl.ir.checks.scopes import PLAIN, Shape, Shapes, lacks, part_of
from whorl.ir.nodes import ITERATIONS_MAX
from whorl.ir.walk import blocks_of
from whorl.language import Expression, LanguageError, free_names
from whorl.source import Mapping, Scalar, Sequence, plain

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator
    from collections.abc import Mapping as Members

    from whorl.errors import Span
    from whorl.ir import Block, Workflow
    from whorl.language.names import Path
    from whorl.source import Value

CODE = "X100"
# The variant that is always there: the file as it is.
BASE = "base"
# What graders see of a run, and of a trial.
RUN_FACTS = ("iterations", "exit_reason", "stopped_by", "cost_usd", "seconds", "status")
NAMES = ("case", "inputs", "outputs", RESULTS, "run")
# Graders whose words may be a template; all else in them is for others to read.
_TEMPLATES = ("equals", "of", "judge", "ask", "with", "run", "person", "show")
_LEAST_ONE = ("repeat", "at_once")
GATE = {"margin": "number", "cost": "number", "failures": "string"}
VOTES_MAX = 99
# What a comparison of texts may ignore.
IGNORED = ("case", "space")


def check_fields(root: Mapping, graders: Value | None) -> Iterator[Diagnostic]:
    """The mistakes in the values of an experiment file; `graders` are the words of `grade`."""
    version = root.get("experiment")
    if version is not None and plain(version) != 1:
        yield _wrong("this version of the format is not known", version.span, "experiment: 1")
    for name in _LEAST_ONE:
        value = root.get(name)
        if value is not None and plain(value) == 0:
            yield _wrong(f"{name!r} of the experiment must be at least 1", value.span)
    variants = root.get("variants")
    for entry in variants if isinstance(variants, Mapping) else ():
        if not entry.name.strip():
            yield _wrong("a variant has no name", entry.key.span, "variants: {large: ...}")
        if entry.name == BASE and plain(entry.value):
            words = f"variant {BASE!r} is the file as it is, and cannot be another one"
            advice = "give it another name; `baseline: NAME` compares the others with it"
            yield _wrong(words, entry.key.span, advice)
    yield from _check_margin(root.get("margin"), "the experiment")
    yield from _check_explore(root.get("explore"))
    yield from _check_gate(root.get("gate"))
    names = ["grade"]
    if isinstance(graders, Mapping) and not _is_one(graders):
        names = [entry.name for entry in graders]
        for entry in graders:
            yield from _check_grader(entry.name, entry.value)
    elif graders is not None:
        yield from _check_grader("grade", graders)
    if isinstance(solved := root.get("solved"), Scalar):
        yield from _check_text(solved, names, "`solved` sees the grades")
    yield from _check_templates(root.get("inputs"), ["case"], "`inputs` see the case")


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
        syntax = "template" if "{{" in value.text else "jinja"
        with suppress(LanguageError):
            uses = free_names(Expression(syntax, value.text))
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


def expressions_of(graders: Value | None) -> Iterator[Scalar]:
    """The graders that are expressions, and the templates in all others."""
    if isinstance(graders, Mapping) and not _is_one(graders):
        for entry in graders:
            yield from expressions_of(entry.value)
    else:
        yield from [graders] if isinstance(graders, Scalar) else templates_in(graders)


def _is_one(graders: Mapping) -> bool:
    kinds = {"equals", "judge", "ask", "use", "run", "person"}
    return bool(kinds & {entry.name for entry in graders})


def _check_explore(value: Value | None) -> Iterator[Diagnostic]:
    for entry in value if isinstance(value, Mapping) else ():
        most: Any = plain(entry.value)
        is_count = isinstance(most, int) and not isinstance(most, bool)
        if not is_count or not 1 <= most <= ITERATIONS_MAX:
            words = f"loop {entry.name!r} is explored up to a number of iterations"
            yield _wrong(words, entry.value.span, f"explore: {{{entry.name}: 8}}")


def _check_margin(value: Value | None, owner: str) -> Iterator[Diagnostic]:
    margin: Any = None if value is None else plain(value)
    is_number = isinstance(margin, int | float) and not isinstance(margin, bool)
    if value is not None and is_number and not 0 <= margin < 1:
        words = f"'margin' of {owner} must be at least 0 and below 1: grades are from 0 to 1"
        yield _wrong(words, value.span)


def _check_gate(value: Value | None) -> Iterator[Diagnostic]:
    for entry in value if isinstance(value, Mapping) else ():
        if entry.name not in GATE:
            advice = did_you_mean(entry.name, list(GATE)) or f"known: {', '.join(GATE)}"
            yield _wrong(f"the gate has no field {entry.name!r}", entry.key.span, advice)
            continue
        given: Any = plain(entry.value)
        if entry.name == "failures":
            is_right = given == "none"
        else:
            is_right = isinstance(given, int | float) and not isinstance(given, bool)
        if entry.name == "margin" and is_right:
            yield from _check_margin(entry.value, "the gate")
        elif not is_right or (entry.name == "cost" and given <= 0):
            wanted = {"failures": "none", "cost": "a number above 0"}.get(entry.name, "a number")
            yield _wrong(f"{entry.name!r} of the gate must be {wanted}", entry.value.span)


def _check_grader(name: str, value: Value) -> Iterator[Diagnostic]:
    words = f"grader {name!r} sees {', '.join(NAMES)}"
    if isinstance(value, Scalar):
        yield from _check_text(value, NAMES, words)
    for entry in value if isinstance(value, Mapping) else ():
        if entry.name in _TEMPLATES:
            yield from _check_templates(entry.value, NAMES, words)
        if entry.name == "ignore":
            yield from _check_ignored(name, entry.value)
        if entry.name == "votes":
            votes: Any = plain(entry.value)
            if not isinstance(votes, int) or not 1 <= votes <= VOTES_MAX:
                yield _wrong(f"'votes' of grader {name!r} must be 1 to 99", entry.value.span)


def _check_ignored(name: str, value: Value) -> Iterator[Diagnostic]:
    given: Any = plain(value)
    for word in given if isinstance(given, list) else [given]:
        if word not in IGNORED:
            advice = did_you_mean(str(word), IGNORED) or f"known: {', '.join(IGNORED)}"
            yield _wrong(f"grader {name!r} cannot ignore {word!r}", value.span, advice)


def _check_templates(value: Value | None, names: Any, words: str) -> Iterator[Diagnostic]:
    for text in templates_in(value):
        yield from _check_text(text, names, words)


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
    """An expression, or a text with placeholders, and the names that it reads."""
    syntax = "template" if "{{" in value.text else "jinja"
    try:
        uses = free_names(Expression(syntax, value.text))
    except LanguageError as fault:
        yield Diagnostic("W008", str(fault), value.span, help=fault.help or "")
        return
    for name in dict.fromkeys(use.name for use in uses if use.name not in names):
        yield _wrong(f"there is no {name!r}", value.span, did_you_mean(name, list(names)) or words)


def _wrong(message: str, span: Span | None, advice: str = "") -> Diagnostic:
    return Diagnostic(CODE, message, span, help=advice)
