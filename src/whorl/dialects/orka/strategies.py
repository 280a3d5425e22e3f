"""The strategies of `score_extraction_config`: where each looks for the score."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.dialects.orka.agents import report_unknown
from whorl.dialects.orka.fields import check_fields
from whorl.dialects.orka.functions.patterns import parse_path, search_pattern
from whorl.dialects.orka.values import number_of, scalars_of, text_of
from whorl.errors import did_you_mean
from whorl.language import LanguageError
from whorl.source import Mapping, Scalar, Sequence

if TYPE_CHECKING:
    from whorl.dialects.orka.agents import Section
    from whorl.dialects.orka.draft import Draft
    from whorl.language import Json
    from whorl.source import Value

_KINDS = {
    "pattern": "pattern",
    "patterns": "pattern",
    "regex": "pattern",
    "regex_pattern": "pattern",
    "direct_key": "direct_key",
    "key": "direct_key",
    "json_key": "json",
    "json": "json",
    "agent_key": "agent_key",
    "nested_path": "nested_path",
    "path": "nested_path",
}
_EVERY = frozenset({"type", "agents", "agent", "transform", "priority"})
_PLACES = ("json_path", "path", "key")
_FIELDS = {"pattern": _EVERY | {"patterns", "pattern"}} | dict.fromkeys(
    ("direct_key", "json", "agent_key", "nested_path"), _EVERY | {*_PLACES}
)
# Numbers that no author means when they are read alone.
_BARE_NUMBERS = ("7", "42", "3.5")


def read_strategies(draft: Draft, written: Value | None, inner: Section | None) -> list[Json]:
    """The strategies in the order in which they are tried: by `priority`, then as written."""
    if written is not None and not isinstance(written, Sequence):
        advice = "write strategies: [{type: pattern, patterns: [...]}]"
        draft.report("W007", "'strategies' must be a list", written.span, help=advice)
        return []
    found: list[tuple[float, Json]] = []
    for item in written or ():
        told = _read_strategy(draft, item, inner)
        if told is not None and isinstance(item, Mapping):
            priority = number_of(item.get("priority"))
            found.append((float("inf") if priority is None else priority, told))
    return [told for _, told in sorted(found, key=lambda one: one[0])]


def _read_strategy(draft: Draft, item: Value, inner: Section | None) -> Json:
    if not isinstance(item, Mapping):
        advice = "write {type: pattern, patterns: [...]}"
        draft.report("W007", "a score strategy must be an object", item.span, help=advice)
        return None
    word = text_of(item.get("type"))
    kind = _KINDS.get(word)
    if kind is None:
        advice = did_you_mean(word, _KINDS) or f"strategies: {', '.join(_FIELDS)}"
        message = f"there is no score strategy {word[:60]!r}"
        draft.report("W007", message, item.span, label="unknown strategy", help=advice)
        return None
    check_fields(draft, item, _FIELDS[kind], f"a score strategy {word!r}")
    told: dict[str, Json] = {"type": kind}
    if kind == "pattern":
        told["patterns"] = _read_patterns(draft, item)
    else:
        _read_place(draft, item, told)
    agents = [*scalars_of(item.get("agents")), *scalars_of(item.get("agent"))]
    for scalar in agents:
        if inner is not None and inner.find(scalar.text) is None:
            report_unknown(draft, scalar, inner)
    if agents:
        told["agents"] = [scalar.text for scalar in agents]
    elif kind == "agent_key":
        advice = "add agents: [AGENT]"
        draft.report("W006", "'agent_key' does not say which agents", item.span, help=advice)
    return told


def _read_patterns(draft: Draft, item: Mapping) -> list[Json]:
    written = [*scalars_of(item.get("patterns")), *scalars_of(item.get("pattern"))]
    if not written:
        advice = r"add patterns: ['SCORE:\s*([0-9.]+)']"
        draft.report("W006", "a score strategy has no 'patterns'", item.span, help=advice)
    for scalar in written:
        check_pattern(draft, scalar, is_score=True)
    return [scalar.text for scalar in written]


def _read_place(draft: Draft, item: Mapping, told: dict[str, Json]) -> None:
    """Where in a result the score stands: the one place that a strategy names."""
    places = [name for name in _PLACES if item.get(name) is not None]
    for name in places[1:]:
        entry = item.entry(name)
        assert entry is not None
        message = f"a score strategy has both {places[0]!r} and {name!r}"
        draft.report("W007", message, entry.key.span, help="a score stands in one place: take one")
    written = item.get(places[0]) if places else None
    if written is None:
        return
    told["path"] = read_path(draft, written)


def read_path(draft: Draft, written: Value) -> list[Json]:
    """The steps to a score; a path that is none is reported where it goes wrong."""
    if not isinstance(written, Scalar) or not isinstance(written.value, str):
        message = "where a score stands must be a text"
        draft.report("W007", message, written.span, help="write a path such as $.eval.score")
        return []
    try:
        return [*parse_path(written.text)]
    except LanguageError as fault:
        at = written.locate(min(fault.offset or 0, max(0, len(written.text) - 1)))
        draft.report("W007", fault.message, at, label="here", help=fault.help)
        return []


def check_pattern(draft: Draft, written: Scalar, *, is_score: bool) -> None:
    """Reports a pattern that does not compile, and warns of one that finds too much."""
    try:
        compiled = search_pattern(written.text, lessons=not is_score)
    except LanguageError as fault:
        span = written.span if fault.offset is None else written.locate(fault.offset)
        draft.report("W014", fault.message, span, label="here", help=fault.help)
        return
    if not is_score:
        return
    if compiled.groups == 0:
        draft.warn(
            "W014",
            f"pattern {written.text[:60]!r} captures nothing: the first number in what it finds "
            "is the score",
            written.span,
            label="no group",
            help=r"put the number in parentheses, as in 'SCORE:\s*([0-9.]+)'",
        )
    if all(compiled.search(number) is not None for number in _BARE_NUMBERS):
        draft.warn(
            "W023",
            f"pattern {written.text[:60]!r} matches any number, so any number can be the score",
            written.span,
            label="matches any number",
            help=r"name what stands before it, as in 'QUALITY_SCORE:\s*([0-9.]+)'",
        )
