"""What the messages of the YAML parser mean, in plain words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from whorl.errors import Diagnostic
from whorl.lazily import regex
from whorl.source.report import SYNTAX

if TYPE_CHECKING:
    import yaml

    from whorl.source import Lines

_BARE_TEMPLATE = regex(r"(?:^|[:\-,\[])\s*\{[{%]")


def explain_syntax(error: yaml.MarkedYAMLError, lines: Lines) -> Diagnostic:
    mark = error.problem_mark or error.context_mark
    index = mark.index if mark else 0
    problem = (error.problem or "the parser gave up").strip()
    if "cannot start any token" in problem:
        character = lines.text[index : index + 1]
        message = f"a text that begins with {character!r} needs quotes"
        advice = f'write "{character}..."'
        if character == "\t":
            message, advice = "a tab is used for indentation", "indent with spaces"
        return Diagnostic(SYNTAX, message, lines.span(index), "cannot stand here", advice)
    for part, opening, message, advice in _ADVICE:
        if part in problem:
            is_over = opening == "at_end" and not lines.text[index:].strip()
            if error.context_mark and (is_over or opening == "always"):
                index = error.context_mark.index
            if _BARE_TEMPLATE.search(lines.line_text(index)[:1000]):
                advice = "quote a text that begins with '{{' or '{%'"
            return Diagnostic(SYNTAX, message, lines.span(index), problem, advice)
    return Diagnostic(SYNTAX, f"the file is not valid YAML: {problem}", lines.span(index), problem)


# Part of the parser's problem; when it shows better where the broken part begins; what to say.
_ADVICE: tuple[tuple[str, Literal["never", "at_end", "always"], str, str], ...] = (
    (
        "mapping values are not allowed",
        "never",
        "a ':' is not expected here",
        "indent all lines of a mapping equally, and quote a text that contains ': '",
    ),
    ("unexpected end of stream", "always", "a quoted text is not closed", "close the quote"),
    (
        "unexpected document indicator",
        "always",
        "a quoted text is not closed before '---' or '...'",
        "close the quote",
    ),
    (
        "',' or ']'",
        "at_end",
        "a list in brackets is not correct here",
        "separate its items by ',' and close it with ']'",
    ),
    (
        "',' or '}'",
        "at_end",
        "a mapping in braces is not correct here",
        "separate its entries by ',' and close it with '}'",
    ),
    (
        "expected '-' indicator",
        "never",
        "a list item is expected here",
        "begin each item with '- ', and indent all items equally",
    ),
    (
        "expected key",
        "never",
        "a key is expected here",
        "write 'key: value', indent all lines of a mapping equally, and quote special texts",
    ),
    (
        "could not find expected ':'",
        "always",
        "a key has no ':'",
        "write 'key: value', and indent the other lines of a long text",
    ),
    (
        "unknown escape character",
        "never",
        "a text in double quotes holds an unknown escape",
        "write '\\\\' for a backslash, or use single quotes",
    ),
    (
        "block sequence entries are not allowed",
        "never",
        "a list item '-' is not expected here",
        "begin the list on the next line",
    ),
    (
        "unknown directive",
        "always",
        "a line begins with '%', which YAML reads as a directive",
        "quote the text or remove the line",
    ),
)
