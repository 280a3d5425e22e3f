"""Authors' regular expressions, on RE2: linear time, bounded memory, no look-around."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from whorl.language.calls import Family, FunctionEntry, Run, text
from whorl.language.faults import EvaluationError, LanguageError, LimitExceeded
from whorl.language.values import LIMITS
from whorl.lazily import regex

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.language.values import Value

PATTERN_MAX = 4_096
PROGRAM_MAX = 4_000
MEMORY_MAX = 8_000_000
TEXT_MAX = 1_000_000
FEW_STATES = 12

_UNSUPPORTED = {
    "look-ahead": ("(?=", "(?!"),
    "look-behind": ("(?<=", "(?<!"),
    "an atomic group": ("(?>",),
    "a conditional group": ("(?(",),
    "a back-reference": ("(?P=", "\\1", "\\2", "\\3"),
}


class Match:
    __slots__ = ("_match",)

    def __init__(self, match: Any) -> None:
        self._match = match

    def group(self, index: int | str = 0) -> str | None:
        """Return the text of a group, 0 for all of it; None if the group took no part."""
        try:
            text = self._match.group(index)
        except (IndexError, KeyError):
            raise LanguageError(f"the regular expression has no group {index!r}") from None
        assert text is None or isinstance(text, str)
        return text

    @property
    def groups(self) -> tuple[str | None, ...]:
        """Return the texts of all groups, from the first."""
        return tuple(self._match.groups())

    @property
    def span(self) -> tuple[int, int]:
        """Return the start and the end of the match."""
        start, end = self._match.span()
        return start, end


class Pattern:
    """A compiled regular expression; made by `pattern`."""

    __slots__ = ("_program", "cost", "groups", "source")

    def __init__(self, source: str, program: Any) -> None:
        self.source = source
        self._program = program
        self.groups: int = program.groups
        self.cost: int = program.programsize

    def search(self, text: str) -> Match | None:
        match = self._program.search(_checked(text))
        return None if match is None else Match(match)

    def match(self, text: str) -> Match | None:
        match = self._program.match(_checked(text))
        return None if match is None else Match(match)

    def search_all(self, text: str) -> Iterator[Match]:
        """Find all matches that do not overlap."""
        return map(Match, self._program.finditer(_checked(text)))

    def price(self, length: int) -> int:
        """Return the fuel of one search: at worst RE2 visits each state for each character."""
        return 1 + (length * self.cost >> 7)

    def check_price(self, length: int) -> None:
        """Refuse a search that costs more fuel than an evaluation has."""
        if self.price(length) > LIMITS.fuel:
            most = (LIMITS.fuel << 7) // self.cost
            raise LimitExceeded(
                f"a regular expression of {self.cost} states searches at most {most} characters, "
                f"not {length}",
                help="search a part of the text, or use smaller repeat counts",
            )


def _checked(text: str) -> str:
    if len(text) > TEXT_MAX:
        raise LimitExceeded(
            f"a regular expression searches at most {TEXT_MAX} characters, not {len(text)}"
        )
    # A lone surrogate cannot be encoded; it is replaced one for one, so that positions hold.
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


@lru_cache(maxsize=512)
def pattern(
    source: str, *, ignore_case: bool = False, dot_matches_newline: bool = False
) -> Pattern:
    """Compile a regular expression; raises LanguageError for what RE2 does not support."""
    if len(source) > PATTERN_MAX:
        raise LimitExceeded(f"regular expression is longer than {PATTERN_MAX} characters")
    import re2

    options = re2.Options()
    options.log_errors = False
    options.max_mem = MEMORY_MAX
    options.case_sensitive = not ignore_case
    options.dot_nl = dot_matches_newline
    try:
        program = re2.compile(_checked(source), options)
    except re2.error as error:
        raise _explained(source, error) from None
    if program.programsize > PROGRAM_MAX:
        raise _too_large(source)
    return Pattern(source, program)


def _too_large(source: str) -> LimitExceeded:
    message = f"regular expression {source!r} is too large"
    return LimitExceeded(message, help="use smaller repeat counts")


def _explained(source: str, error: Exception) -> LanguageError:
    for meaning, marks in _UNSUPPORTED.items():
        for mark in filter(source.__contains__, marks):
            message = f"regular expression {source!r} uses {meaning}, which is not supported"
            advice = "regular expressions follow the RE2 syntax: no look-around, no back-references"
            return LanguageError(message, source.index(mark), advice)
    reason = error.args[0] if error.args else "invalid"
    if isinstance(reason, bytes):
        reason = reason.decode("utf-8", "replace")
    if "too large" in str(reason):
        return _too_large(source)
    return LanguageError(f"regular expression {source!r} is not valid: {reason}", 0)


_REFERENCE = regex(r"\\(?:([0-9])|g<(\w+)>|(.))", re.DOTALL)


def compiled(run: Run, source: Value, operation: str, *, ignore_case: bool = False) -> Pattern:
    """Compile a pattern or take it from the cache; the price is the same, so runs are the same."""
    written = text(source, operation, "pattern")
    try:
        program = pattern(written, ignore_case=ignore_case)
    except LanguageError as error:
        error.offset = None
        raise
    run.spend(4 + (len(written) >> 4) + (program.cost >> 2))
    return program


def pay_search(run: Run, program: Pattern, length: int) -> None:
    run.spend(program.price(length))


def regex_search(run: Run, value: Value, source: Value, group: Value, ignorecase: Value) -> Value:
    """The first match, or one of its groups; none without a match."""
    program = compiled(run, source, "regex_search", ignore_case=bool(ignorecase))
    subject = run.text(value)
    pay_search(run, program, len(subject))
    if not isinstance(group, int | str):
        raise EvaluationError("regex_search needs the number or the name of a group")
    match = program.search(subject)
    return None if match is None else match.group(group)


def regex_findall(run: Run, value: Value, source: Value, ignorecase: Value) -> list[Value]:
    """All matches; of a pattern with groups, the groups."""
    program = compiled(run, source, "regex_findall", ignore_case=bool(ignorecase))
    result: list[Value] = []
    for match in _all(run, program, run.text(value)):
        parts = [part or "" for part in match.groups] or [match.group() or ""]
        result.append(parts[0] if len(parts) == 1 else parts)
        run.spend(program.groups)
    run.check_items(len(result), "regex_findall")
    return result


def _all(run: Run, program: Pattern, subject: str) -> list[Match]:
    """Return all matches; each is paid for, since each may read to the end of the text.

    A pattern of few states does so by one look at each character, a larger one perhaps by more.
    """
    result: list[Match] = []
    pay_search(run, program, len(subject))
    states = max(0, program.cost - FEW_STATES)
    for match in program.search_all(subject):
        left = len(subject) - match.span[1]
        run.spend(5 + (left >> 9) + (left * states >> 9))
        result.append(match)
    return result


def regex_replace(
    run: Run, value: Value, source: Value, replacement: Value, ignorecase: Value
) -> str:
    program = compiled(run, source, "regex_replace", ignore_case=bool(ignorecase))
    subject, template = run.text(value), text(replacement, "regex_replace", "replacement")
    matches = _all(run, program, subject)
    places = ((*match.span, _expand(run, match, template)) for match in matches)
    return run.fill(subject, places, "regex_replace")


def _expand(run: Run, match: Match, template: str) -> str:
    size = 0

    def filled(reference: re.Match[str]) -> str:
        nonlocal size
        number, name, other = reference.groups()
        if other is None:
            key = number or name
            text = match.group(int(key) if key.isdecimal() else key) or ""
        else:
            text = "\\" if other == "\\" else reference[0]
        size += len(text)
        run.limit_text(size, "regex_replace")
        return text

    expanded = _REFERENCE.sub(filled, template)
    run.spend(size >> 6)
    return expanded


_regex = Family("filter", "regex")

REGEX: tuple[FunctionEntry, ...] = (
    _regex("regex_search(pattern, group=0, ignorecase=false)", regex_search),
    _regex("regex_findall(pattern, ignorecase=false)", regex_findall),
    _regex(
        "regex_replace(pattern, replacement, ignorecase=false)",
        regex_replace,
        "all matches replaced; \\1 and \\g<name> stand for groups",
    ),
)
