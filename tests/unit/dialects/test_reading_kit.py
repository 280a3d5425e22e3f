"""The reader kit: contexts, scalars, fields, tables and texts that all readers share."""

from __future__ import annotations

from whorl.dialects.reader import parse
from whorl.dialects.reading import REPORTED_MAX, ReadContext
from whorl.dialects.reading.fields import unknown_fields


def context_of(text: str) -> ReadContext:
    return ReadContext(parse(text, "folder/file.test.yaml"), None)  # type: ignore[arg-type]


def test_context_keeps_each_diagnostic_once_and_not_too_many() -> None:
    context = context_of("a: 1")
    for number in range(REPORTED_MAX + 5):
        context.report("W007", f"wrong {number}", None)
        context.report("W007", f"wrong {number}", None)
    context.warn("W023", "odd", None)

    assert len(context.diagnostics) == REPORTED_MAX
    assert [d.severity for d in context.warnings] == ["warning"]
    assert context.is_full


def test_of_many_unknown_fields_the_first_are_compared() -> None:
    root = context_of("".join(f"promp{n:04}: 1\n" for n in range(1_200)) + "promt: 1\n").root
    questions = [question for _, question in unknown_fields(root, ["promp0000x", "prompt"])]

    assert len(questions) == 1_201
    assert any(questions[:1_000])
    assert not any(questions[1_000:])
