"""What can be wrong in an experiment file beside its shape, found before anything is paid for."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from whorl.errors import Diagnostic, did_you_mean
from whorl.language import Expression, LanguageError, free_names
from whorl.source import Mapping, Scalar, Sequence

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator
    from collections.abc import Mapping as Members
    from collections.abc import Sequence as Several

    from whorl.errors import Span
    from whorl.ir import Workflow
    from whorl.source import Value

CODE = "X100"
# The variant that is always there: the file as it is.
BASE = "base"
# What graders see of a run, and of a trial.
RUN_FACTS = ("iterations", "exit_reason", "stopped_by", "cost_usd", "seconds", "status")
NAMES = ("case", "inputs", "outputs", "results", "run")
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
    yield from check_members(templates_in(root.get("inputs")), {"case": columns})


def check_members(
    texts: Iterable[Scalar], members: Members[str, Collection[str] | None]
) -> Iterator[Diagnostic]:
    """What expressions and templates read of a name that has no such member."""
    for value in texts:
        with suppress(LanguageError):
            uses = [use for use in free_names(expression_of(value.text)) if use.path]
            for holder, name in dict.fromkeys((use.name, use.path[0]) for use in uses):
                known = members.get(holder)
                if known is not None and isinstance(name, str) and name not in known:
                    advice = did_you_mean(name, known) or f"there is {', '.join(known)}"
                    words = f"{holder!r} has no {name!r}"
                    yield Diagnostic("W005", words, value.span, "unknown name", advice)


def members_of(
    columns: Collection[str], workflows: Several[Workflow]
) -> dict[str, Collection[str] | None]:
    """What graders find in each of their names; None: nobody knows before it runs.

    `workflows` are those of all variants; none: not all of them can be read.
    """
    members: dict[str, Collection[str] | None] = {"case": columns, "run": RUN_FACTS}
    if workflows:
        if not any(one.open_inputs for one in workflows):
            members["inputs"] = [port.name for one in workflows for port in one.inputs]
        members["outputs"] = [name for one in workflows for name, _ in one.outputs] or None
    return members


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
