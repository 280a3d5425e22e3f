"""Reads YAML from the parser's events: bounded, without tags, merge keys and surprises.

Nothing here recurses, and no constructor of the YAML library is used.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NoReturn

import yaml

from whorl.errors import Diagnostic, Span
from whorl.source.reading import SYNTAX, Report, number, open_report, shown
from whorl.source.tree import (
    LIMITS,
    Document,
    Entry,
    Limits,
    Mapping,
    Scalar,
    Sequence,
    Value,
    without_surrogates,
)
from whorl.source.yaml_errors import explain_syntax

if TYPE_CHECKING:
    from whorl.source.lines import Style

_UNPRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_TAG_DIRECTIVE = re.compile(r"(?:\A|[\n\r\x85\u2028\u2029])(%TAG)[ \t]")
_BRACKET_RUN = re.compile(r"[\[{](?:\s*+[\[{])*+")
_PROPERTY = re.compile(r"[&!]\S*+\s*+(?:#[^\n\r]*+\s*+)*+")
_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_TRUTH = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_DECIMAL = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_RADIX = {"0o": (re.compile(r"0o[0-7]+"), 8), "0x": (re.compile(r"0x[0-9a-fA-F]+"), 16)}
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_STYLES: dict[str | None, Style] = {
    "'": "single",
    '"': "double",
    "|": "literal",
    ">": "folded",
}


def read_yaml(
    text: str,
    file: str,
    *,
    repeated: Literal["error", "keep"] = "error",
    joined: frozenset[str] = frozenset(),
    limits: Limits = LIMITS,
) -> Document:
    """Read one YAML document; `joined` names keys whose repeated lists become one list."""
    report = open_report(text, file, limits)
    _check_characters(report)
    builder = _Builder(report, repeated=repeated, joined=joined)
    try:
        for event in yaml.parse(report.lines.text, Loader=_loader(report)):
            builder.take(event)
    except yaml.MarkedYAMLError as error:
        report.stop(explain_syntax(error, report.lines))
    except yaml.YAMLError as error:
        report.fail(f"the file is not valid YAML: {error}", report.lines.span(0))
    if builder.root is None:
        report.fail("the file is empty", report.lines.span(0), help_text="write a workflow in it")
    return Document(builder.root, report.finish(), report.lines.text, file)


def _loader(report: Report) -> type[yaml.SafeLoader] | type[yaml.CSafeLoader]:
    if yaml.__with_libyaml__:
        return yaml.CSafeLoader
    # The parser in Python looks far ahead over brackets, at a cost that grows with their square.
    for run in _BRACKET_RUN.finditer(report.lines.text):
        report.check_depth(sum(map(run.group().count, "[{")), run.start())
    return yaml.SafeLoader


def _check_characters(report: Report) -> None:
    lines = report.lines
    found = _UNPRINTABLE.search(lines.text)
    if found:
        report.fail(
            f"the file holds the control character U+{ord(found.group()):04X}",
            lines.span(found.start()),
            label="not allowed in YAML",
            help_text="remove it, or write it as an escape in double quotes",
        )
    directive = _TAG_DIRECTIVE.search(lines.text)
    if directive:
        span = lines.span(directive.start(1), directive.end(1))
        report.fail("tags are not supported", span, label="a tag directive", help_text="remove it")


@dataclass(frozen=True, slots=True)
class _Anchored:
    """A finished value that aliases can repeat, with what repeating it costs."""

    value: Value
    node_count: int
    height: int


@dataclass(slots=True)
class _Frame:
    """A sequence or mapping that is being read."""

    start: int
    flow: bool
    is_mapping: bool
    anchor: str | None
    items: list[Value] = field(default_factory=list)
    entries: dict[str, int] = field(default_factory=dict)
    ordered: list[Entry] = field(default_factory=list)
    key: Scalar | None = None
    node_count: int = 1
    height: int = 1


class _Builder:
    """Builds the tree from events, with a stack of its own."""

    def __init__(
        self, report: Report, *, repeated: Literal["error", "keep"], joined: frozenset[str]
    ) -> None:
        self.root: Value | None = None
        self._report = report
        self._lines = report.lines
        self._repeated = repeated
        self._joined = joined
        self._stack: list[_Frame] = []
        self._anchors: dict[str, _Anchored | None] = {}
        self._alias_node_count = 0

    def take(self, event: yaml.Event) -> None:
        """Advance by one event of the parser."""
        match event:
            case yaml.ScalarEvent():
                self._take_scalar(event)
            case yaml.MappingStartEvent() | yaml.SequenceStartEvent():
                self._open(event)
            case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                self._close(_extent(event)[1])
            case yaml.AliasEvent():
                self._take_alias(event)
            case yaml.DocumentStartEvent() if self.root is not None:
                self._report.fail(
                    "the file holds several YAML documents",
                    self._lines.span(*_extent(event)),
                    label="the second one begins here",
                    help_text="write each workflow in a file of its own",
                )

    def _take_scalar(self, event: yaml.ScalarEvent) -> None:
        start, end = self._content_start(event), _extent(event)[1]
        is_key = self._awaits_key()
        if not is_key:
            self._report.count_value(start)
        self._check_tag(event)
        span = self._lines.span(start, end)
        text = without_surrogates(event.value)
        if "\0" in text:
            self._report.fail("a text holds a NUL character", span, help_text="remove the escape")
        quoted = bool(event.style)
        scalar = Scalar(
            value=text if quoted or is_key else self._resolve(text, span),
            span=span,
            quoted=quoted,
            raw=text,
            style=_STYLES.get(event.style, "plain"),
            lines=self._lines,
            extent=(start, end),
        )
        if is_key and text == "<<" and not quoted:
            self._report.fail(
                "merge keys ('<<') are not supported",
                span,
                label="a merge key",
                help_text="repeat the fields",
            )
        self._remember(event.anchor, _Anchored(scalar, 1, 0))
        self._place(scalar, 1, 0)

    def _resolve(self, text: str, span: Span) -> str | int | float | bool | None:
        """Return the value of a plain scalar by the core schema of YAML 1.2."""
        if text in _NULL:
            return None
        truth = _TRUTH.get(text)
        if truth is not None:
            return truth
        if text[0] not in "0123456789+-.":
            return text
        if _DECIMAL.fullmatch(text):
            return number(self._report, text, span)
        pattern, radix = _RADIX.get(text[:2], (None, 10))
        if pattern is not None and pattern.fullmatch(text):
            return number(self._report, text, span, radix)
        if _NOT_FINITE.fullmatch(text):
            message = f"{shown(text)} is not a number that can be used"
            self._report.add(Diagnostic(SYNTAX, message, span, "not finite", "quote a text"))
        return text

    def _open(self, event: yaml.MappingStartEvent | yaml.SequenceStartEvent) -> None:
        start = self._content_start(event)
        self._report.count_value(start)
        self._report.check_depth(len(self._stack) + 1, start)
        self._check_tag(event)
        if self._awaits_key():
            self._refuse_key(start)
        is_mapping = isinstance(event, yaml.MappingStartEvent)
        if event.anchor is not None:
            self._anchors[event.anchor] = None
        self._stack.append(_Frame(start, bool(event.flow_style), is_mapping, event.anchor))

    def _close(self, end: int) -> None:
        frame = self._stack.pop()
        value: Value
        if frame.is_mapping:
            value = Mapping(tuple(frame.ordered), self._container_span(frame, end))
        else:
            value = Sequence(tuple(frame.items), self._container_span(frame, end))
        self._remember(frame.anchor, _Anchored(value, frame.node_count, frame.height))
        self._place(value, frame.node_count, frame.height)

    def _container_span(self, frame: _Frame, end: int) -> Span:
        if frame.flow:
            return self._lines.span(frame.start, end)
        first = frame.ordered[0].key.span if frame.ordered else None
        here = self._lines.span(frame.start)
        return first if first is not None and first.line == here.line else here

    def _take_alias(self, event: yaml.AliasEvent) -> None:
        start = _extent(event)[0]
        span = self._lines.span(*_extent(event))
        name = str(event.anchor)
        found = self._anchors.get(name)
        if found is None:
            problem = "refers to itself" if name in self._anchors else "has no anchor before it"
            self._report.fail(f"alias {shown('*' + name)} {problem}", span, label="this alias")
        self._alias_node_count += found.node_count
        if self._alias_node_count > self._report.limits.alias_nodes_max:
            self._report.refuse(
                f"aliases repeat more than {self._report.limits.alias_nodes_max:,} values",
                start,
                help_text="write the values out, or use fewer aliases",
            )
        self._report.check_depth(len(self._stack) + found.height, start)
        if self._awaits_key() and not isinstance(found.value, Scalar):
            self._refuse_key(start)
        self._place(found.value, found.node_count, found.height)

    def _remember(self, anchor: str | None, anchored: _Anchored) -> None:
        if anchor is not None:
            self._anchors[anchor] = anchored

    def _awaits_key(self) -> bool:
        return bool(self._stack) and self._stack[-1].is_mapping and self._stack[-1].key is None

    def _place(self, value: Value, node_count: int, height: int) -> None:
        """Put a finished value where the innermost open container expects it."""
        if not self._stack:
            self.root = value
            return
        frame = self._stack[-1]
        frame.node_count += node_count
        frame.height = max(frame.height, height + 1)
        if not frame.is_mapping:
            frame.items.append(value)
        elif frame.key is None:
            assert isinstance(value, Scalar)
            frame.key = value
        else:
            self._add_entry(frame, Entry(frame.key, value))
            frame.key = None

    def _add_entry(self, frame: _Frame, entry: Entry) -> None:
        place = frame.entries.get(entry.name)
        if place is None:
            frame.entries[entry.name] = len(frame.ordered)
        else:
            first = frame.ordered[place]
            lists = isinstance(first.value, Sequence) and isinstance(entry.value, Sequence)
            if entry.name in self._joined and lists:
                frame.ordered[place] = _join(first, entry)
                return
            self._report.repeat(first, entry, self._repeated)
        frame.ordered.append(entry)

    def _content_start(self, event: yaml.ScalarEvent | yaml.CollectionStartEvent) -> int:
        """Return where the value itself begins, after its anchor and tag."""
        start, end = _extent(event)
        limit = end if isinstance(event, yaml.ScalarEvent) else len(self._lines.text)
        for name in (event.anchor, event.tag):
            found = None if name is None else _PROPERTY.match(self._lines.text, start, limit)
            start = found.end() if found else start
        return start

    def _check_tag(self, event: yaml.ScalarEvent | yaml.CollectionStartEvent) -> None:
        if event.tag is None:
            return
        index = _extent(event)[0]
        self._report.fail(
            f"tags such as {shown(event.tag)} are not supported",
            self._lines.span(index, max(index + 1, self._content_start(event))),
            label="a tag",
            help_text="quote the text if it begins with '!'; otherwise remove the tag",
        )

    def _refuse_key(self, index: int) -> NoReturn:
        is_template = self._lines.text.startswith("{{", max(0, index - 1))
        if is_template:
            self._report.fail(
                "a text that begins with '{{' needs quotes",
                self._lines.span(index - 1, index + 1),
                label="YAML reads this as a mapping",
                help_text='write "{{ ... }}"',
            )
        self._report.fail(
            "a key is a list or a mapping; keys are texts",
            self._lines.span(index),
            label="this key",
            help_text="use a text as the key",
        )


def _extent(event: yaml.Event) -> tuple[int, int]:
    assert event.start_mark is not None
    assert event.end_mark is not None
    return event.start_mark.index, event.end_mark.index


def _join(first: Entry, again: Entry) -> Entry:
    assert isinstance(first.value, Sequence)
    assert isinstance(again.value, Sequence)
    items = first.value.items + again.value.items
    return Entry(first.key, Sequence(items, first.value.span))
