"""Says what the YAML parser's messages mean and what to do about them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from whorl.errors import Diagnostic
from whorl.source.reading import SYNTAX

if TYPE_CHECKING:
    import yaml

    from whorl.source.lines import Lines

_BARE_TEMPLATE = re.compile(r"(?:^|[:\-,\[])\s*\{[{%]")


@dataclass(frozen=True, slots=True)
class _Advice:
    """What to say for a problem, and whether it shows better where the broken part begins."""

    problem: str
    message: str
    help: str
    opening: Literal["never", "at_end", "always"] = "never"


_ADVICE = (
    _Advice(
        "mapping values are not allowed",
        "a ':' stands where no key can be",
        "indent the lines of one mapping alike, and quote a text that holds ': '",
    ),
    _Advice(
        "unexpected end of stream",
        "a quoted text is not closed",
        "close the quote",
        opening="always",
    ),
    _Advice(
        "unexpected document indicator",
        "a quoted text is not closed before '---' or '...'",
        "close the quote",
        opening="always",
    ),
    _Advice(
        "',' or ']'",
        "a list in brackets goes wrong here",
        "separate its items by ',' and close it with ']'",
        opening="at_end",
    ),
    _Advice(
        "',' or '}'",
        "a mapping in braces goes wrong here",
        "separate its entries by ',' and close it with '}'",
        opening="at_end",
    ),
    _Advice(
        "expected '-' indicator",
        "a list ends here, but its indentation does not",
        "begin each item with '- ', all indented alike",
    ),
    _Advice(
        "expected key",
        "no key is found here",
        "write 'key: value', indent the lines of one mapping alike, and quote special texts",
    ),
    _Advice(
        "could not find expected ':'",
        "a key has no ':'",
        "write 'key: value', and indent the further lines of a long text",
        opening="always",
    ),
    _Advice(
        "unknown escape character",
        "a text in double quotes holds an unknown escape",
        "write '\\\\' for a backslash, or use single quotes",
    ),
    _Advice(
        "block sequence entries are not allowed",
        "a list item '-' stands where no list can be",
        "begin the list on the next line",
    ),
    _Advice(
        "unknown directive",
        "a line begins with '%', which YAML takes for a directive",
        "quote the text or remove the line",
        opening="always",
    ),
)


def explain_syntax(error: yaml.MarkedYAMLError, lines: Lines) -> Diagnostic:
    """Turn the parser's error into a diagnostic."""
    mark = error.problem_mark or error.context_mark
    index = mark.index if mark else 0
    problem = (error.problem or "the parser gave up").strip()
    if "cannot start any token" in problem:
        return _explain_character(lines, index)
    advice = next((known for known in _ADVICE if known.problem in problem), None)
    if advice is None:
        message = f"the file is not valid YAML: {problem}"
        return Diagnostic(SYNTAX, message, lines.span(index), problem)
    at_end = advice.opening == "at_end" and not lines.text[index:].strip()
    if error.context_mark and (at_end or advice.opening == "always"):
        index = error.context_mark.index
    help_text = _help(advice, lines, index)
    return Diagnostic(SYNTAX, advice.message, lines.span(index), problem, help_text)


def _help(advice: _Advice, lines: Lines, index: int) -> str:
    if _BARE_TEMPLATE.search(lines.line_text(index)[:1000]):
        return "quote a text that begins with '{{' or '{%'"
    return advice.help


def _explain_character(lines: Lines, index: int) -> Diagnostic:
    character = lines.text[index : index + 1]
    if character == "\t":
        message, advice = "a tab is used for indentation", "indent with spaces"
    else:
        message = f"a text that begins with {character!r} needs quotes"
        advice = f'write "{character}..."'
    return Diagnostic(SYNTAX, message, lines.span(index), "cannot stand here", advice)
