"""Filters with regular expressions, on RE2."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whorl.language.entry import FunctionEntry
from whorl.language.faults import EvaluationError, LanguageError
from whorl.language.functions.arguments import text
from whorl.language.patterns import Match, Pattern, pattern

if TYPE_CHECKING:
    from whorl.language.run import Run
    from whorl.language.values import Value

_REFERENCE = re.compile(r"\\(?:([0-9])|g<(\w+)>|(.))", re.DOTALL)


def compiled(run: Run, source: Value, operation: str, *, ignore_case: bool = False) -> Pattern:
    """Compile a pattern, or take it from the cache; the price is the same, so that runs are."""
    written = text(source, operation, "pattern")
    try:
        program = pattern(written, ignore_case=ignore_case)
    except LanguageError as error:
        error.offset = None
        raise
    run.spend(4 + (len(written) >> 4) + (program.cost >> 2))
    return program


def pay_search(run: Run, program: Pattern, length: int) -> None:
    """Pay for one search: RE2 looks at each character, at worst once per state.

    Where groups are wanted it may have to look in a second way, which keeps all ways apart.
    """
    run.spend(1 + (length * (program.cost + 64) >> (11 if program.groups else 12)))


def regex_search(run: Run, value: Value, source: Value, group: Value, ignorecase: Value) -> Value:
    program = compiled(run, source, "regex_search", ignore_case=bool(ignorecase))
    subject = run.text(value)
    pay_search(run, program, len(subject))
    if not isinstance(group, int | str):
        raise EvaluationError("regex_search needs the number or the name of a group")
    found = program.search(subject)
    return None if found is None else found.group(group)


def regex_findall(run: Run, value: Value, source: Value, ignorecase: Value) -> list[Value]:
    program = compiled(run, source, "regex_findall", ignore_case=bool(ignorecase))
    result: list[Value] = []
    for found in _all(run, program, run.text(value)):
        if program.groups == 0:
            result.append(found.group(0))
        elif program.groups == 1:
            result.append(found.groups[0] or "")
        else:
            result.append([part or "" for part in found.groups])
        run.spend(program.groups)
    run.check_items(len(result), "regex_findall")
    return result


def _all(run: Run, program: Pattern, subject: str) -> list[Match]:
    """All matches; each is paid for, as every one may read on to the end of the text."""
    result: list[Match] = []
    pay_search(run, program, len(subject))
    for found in program.search_all(subject):
        pay_search(run, program, len(subject) - found.span[1] >> 4)
        result.append(found)
    return result


def regex_replace(
    run: Run, value: Value, source: Value, replacement: Value, ignorecase: Value
) -> str:
    program = compiled(run, source, "regex_replace", ignore_case=bool(ignorecase))
    subject, template = run.text(value), text(replacement, "regex_replace", "replacement")
    pieces: list[str] = []
    size = end = 0
    for found in _all(run, program, subject):
        start = found.span[0]
        filled = _expand(run, found, template)
        pieces += (subject[end:start], filled)
        size += start - end + len(filled)
        run.limit_text(size, "regex_replace")
        end = found.span[1]
    run.check_text(size + len(subject) - end, "regex_replace")
    pieces.append(subject[end:])
    return "".join(pieces)


def _expand(run: Run, found: Match, template: str) -> str:
    if "\\" not in template:
        return template
    pieces: list[str] = []
    size = end = 0
    for reference in _REFERENCE.finditer(template):
        number, name, other = reference.groups()
        if other is not None:
            filled = "\\" if other == "\\" else reference[0]
        elif number is not None:
            filled = found.group(int(number)) or ""
        else:
            filled = found.group(int(name) if name.isdecimal() else name) or ""
        pieces += (template[end : reference.start()], filled)
        size += len(filled)
        run.limit_text(size, "regex_replace")
        end = reference.end()
    run.spend(size >> 6)
    return "".join(pieces) + template[end:]


REGEX: tuple[FunctionEntry, ...] = (
    FunctionEntry(
        "filter",
        "regex",
        "regex_search",
        regex_search,
        "the first match, or one of its groups; none if there is none",
        ("pattern",),
        (("group", 0), ("ignorecase", False)),
    ),
    FunctionEntry(
        "filter",
        "regex",
        "regex_findall",
        regex_findall,
        "all matches; of a pattern with groups, the groups",
        ("pattern",),
        (("ignorecase", False),),
    ),
    FunctionEntry(
        "filter",
        "regex",
        "regex_replace",
        regex_replace,
        "all matches replaced; \\1 and \\g<name> stand for groups",
        ("pattern", "replacement"),
        (("ignorecase", False),),
    ),
)
