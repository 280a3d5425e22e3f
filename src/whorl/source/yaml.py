"""Reads YAML from the parser's events: bounded, without tags, merge keys and surprises.

No constructor of the YAML library is used. Its messages are replaced by plain words.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, NamedTuple, NoReturn

from whorl import source
from whorl.errors import Diagnostic, Span
from whorl.lazily import later_patterns, regex
from whorl.source.report import SYNTAX, Report, number, open_report, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.source import Lines, Style

# It compiles patterns as it is imported, which takes longer than all else of it: one is for a
# reader that is not used where there is libyaml.
with later_patterns():
    import yaml

_CONTROL = regex(r"[^\t\n\r\x20-\x7e]")
_UNPRINTABLE = regex("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_TAG_DIRECTIVE = regex(r"(?:\A|[\n\r\x85\u2028\u2029])(%TAG)[ \t]")
_BRACKET_RUN = regex(r"[\[{](?:\s*+[\[{]){0,100}")
_PROPERTY = regex(r"[&!]\S*+\s*+(?:#[^\n\r]*+\s*+)*")
_WORDS: dict[str, bool | None] = dict.fromkeys(("", "~", "null", "Null", "NULL"))
_WORDS |= dict.fromkeys(("true", "True", "TRUE"), True)
_WORDS |= dict.fromkeys(("false", "False", "FALSE"), False)
_DECIMAL = regex(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_RADIX = {"0o": (re.compile(r"0o[0-7]+"), 8), "0x": (re.compile(r"0x[0-9a-fA-F]+"), 16)}
_NOT_FINITE = regex(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_LAST_BREAK = regex(r"(?:\r\n|[\n\r\x85\u2028\u2029])?\Z")
_HEADER = regex(r"[|>][-+0-9]*+")
_STYLES: dict[str | None, Style] = {"'": "single", '"': "double", "|": "literal", ">": "folded"}


def read_yaml(
    text: str,
    file: str,
    *,
    repeated: Literal["error", "keep"] = "error",
    joined: frozenset[str] = frozenset(),
    limits: source.Limits = source.LIMITS,
) -> source.Document:
    """Read one YAML document; `joined` names keys whose repeated lists become one list."""
    report = open_report(text, file, limits)
    _check_characters(report)
    loader: type[yaml.SafeLoader | yaml.CSafeLoader] = yaml.SafeLoader
    if yaml.__with_libyaml__:
        loader = yaml.CSafeLoader
    else:
        # This parser looks far ahead over brackets, at a cost that grows with their square.
        for run in _BRACKET_RUN.finditer(report.lines.text):
            report.check_depth(sum(map(run.group().count, "[{")), run.start())
    try:
        events = yaml.parse(report.lines.text, Loader=loader)
        root = _Builder(report, events, repeated=repeated, joined=joined).read()
    except yaml.MarkedYAMLError as error:
        report.stop(_explained(error, report.lines))
    except yaml.YAMLError as error:
        report.fail(f"the file is not valid YAML: {error}", report.lines.span(0))
    if root is None:
        report.fail("the file is empty", report.lines.span(0), "", "write a workflow in it")
    return source.Document(root, report.finish(), report.lines.text, file)


def _check_characters(report: Report) -> None:
    text, span = report.lines.text, report.lines.span
    # The pattern for all characters takes long to compile.
    if control := (_CONTROL if text.isascii() else _UNPRINTABLE).search(text):
        message = f"the file holds the control character U+{ord(control.group()):04X}"
        advice = "remove it, or write it as an escape in double quotes"
        report.fail(message, span(control.start()), "not allowed in YAML", advice)
    if "%TAG" in text and (directive := _TAG_DIRECTIVE.search(text)):
        where = span(directive.start(1), directive.end(1))
        report.fail("tags are not supported", where, "a tag directive", "remove it")


class _Node(NamedTuple):
    """A finished value, with what it costs to repeat it by an alias."""

    value: source.Value
    total: int
    height: int
    extent: tuple[int, int]


class _Builder:
    """Builds the tree from events; the limit of depth bounds its recursion."""

    def __init__(
        self,
        report: Report,
        events: Iterator[yaml.Event],
        *,
        repeated: Literal["error", "keep"],
        joined: frozenset[str],
    ) -> None:
        self._report = report
        self._lines = report.lines
        self._events = events
        self._repeated = repeated
        self._joined = joined
        self._anchors: dict[str, _Node | None] = {}
        self._alias_count = 0

    def read(self) -> source.Value | None:
        """Return the value of the one document, if there is one."""
        root = None
        for event in self._events:
            if isinstance(event, yaml.DocumentStartEvent) and root is not None:
                span = self._lines.span(*_extent(event))
                advice = "write each workflow in a file of its own"
                message = "the file holds several YAML documents"
                self._report.fail(message, span, "the second one begins here", advice)
            if isinstance(event, yaml.NodeEvent):
                root = self._node(event, 0).value
        return root

    def _node(self, event: yaml.Event, depth: int, *, is_key: bool = False) -> _Node:
        """Return the value that begins with an event; `depth` containers are around it."""
        # Most are of this kind; the library derives no other from it.
        if type(event) is yaml.ScalarEvent:
            start, end = _extent(event)
            if event.anchor is not None or event.tag is not None:
                start = self._content_start(event)
                self._check_tag(event)
            scalar = self._scalar(event, start, end, is_key=is_key)
            node = _Node(scalar, 1, 0, scalar.extent)
        elif isinstance(event, yaml.AliasEvent):
            return self._repeated_node(event, depth, is_key=is_key)
        else:
            assert isinstance(event, yaml.CollectionStartEvent)
            start = self._content_start(event)
            self._report.count_value(start)
            self._report.check_depth(depth + 1, start)
            self._check_tag(event)
            if is_key:
                self._refuse_key(start)
            if event.anchor is not None:
                self._anchors[event.anchor] = None
            is_mapping = isinstance(event, yaml.MappingStartEvent)
            node = (self._mapping if is_mapping else self._sequence)(event, start, depth + 1)
        if event.anchor is not None:
            self._anchors[event.anchor] = node
        return node

    def _scalar(
        self, event: yaml.ScalarEvent, start: int, end: int, *, is_key: bool
    ) -> source.Scalar:
        if not is_key:
            self._report.count_value(start)
        span = self._lines.span(start, end)
        text = source.without_surrogates(event.value)
        if "\0" in text:
            self._report.fail("a text holds a NUL character", span, "", "remove the escape")
        quoted = bool(event.style)
        if event.style in ("|", ">"):
            end = self._block_end(start, end)
        value = text if quoted or is_key else self._resolve(text, span)
        style = _STYLES.get(event.style, "plain")
        if is_key and text == "<<" and not quoted:
            message = "merge keys ('<<') are not supported"
            self._report.fail(message, span, "a merge key", "repeat the fields")
        return source.Scalar(value, span, quoted, text, style, self._lines, (start, end))

    def _resolve(self, text: str, span: Span) -> str | int | float | bool | None:
        """Return the value of a plain scalar by the core schema of YAML 1.2."""
        if text in _WORDS:
            return _WORDS[text]
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

    def _sequence(self, event: yaml.CollectionStartEvent, start: int, depth: int) -> _Node:
        items: list[source.Value] = []
        places: list[source.Place] = []
        count, height, parts = 1, 1, 0
        at, column = start, start - self._lines.line_start(start)
        while not isinstance(inner := next(self._events), yaml.SequenceEndEvent):
            node = self._node(inner, depth)
            if event.flow_style:
                at = _extent(inner)[0]
            elif items:
                at = self._dash(places[-1].end, column)
            items.append(node.value)
            places.append(source.Place(at, *node.extent, isinstance(inner, yaml.AliasEvent)))
            count += node.total
            if node.height:
                height = max(height, node.height + 1)
                parts = self._report.with_part(parts, _extent(inner)[0])
        span = self._lines.span(start, _extent(inner)[1] if event.flow_style else None)
        layout = _layout(event, inner, start, places)
        return _Node(source.Sequence(tuple(items), span, layout), count, height, layout.extent)

    def _mapping(self, event: yaml.CollectionStartEvent, start: int, depth: int) -> _Node:
        indexes: dict[str, int] = {}
        entries: list[source.Entry] = []
        places: list[source.Place] = []
        count, height, parts = 1, 1, 0
        while not isinstance(inner := next(self._events), yaml.MappingEndEvent):
            key = self._node(inner, depth, is_key=True)
            node = self._node(written := next(self._events), depth)
            at, (begin, end) = _extent(inner)[0], node.extent
            place = source.Place(at, begin, end, isinstance(written, yaml.AliasEvent))
            count += key.total + node.total
            if node.height:
                height = max(height, node.height + 1)
                parts = self._report.with_part(parts, at)
            assert isinstance(key.value, source.Scalar)
            entry, name = source.Entry(key.value, node.value), key.value.text
            index = indexes.setdefault(name, len(entries))
            first = entries[index] if index < len(entries) else None
            if first is not None and name in self._joined:
                lists = first.value, entry.value
                if isinstance(lists[0], source.Sequence) and isinstance(lists[1], source.Sequence):
                    both = source.Sequence(lists[0].items + lists[1].items, lists[0].span)
                    entries[index] = source.Entry(first.key, both)
                    continue
            if first is not None:
                self._report.repeat(first, entry, self._repeated)
            entries.append(entry)
            places.append(place)
        span = self._lines.span(start, _extent(inner)[1] if event.flow_style else None)
        if entries and not event.flow_style and entries[0].key.span.line == span.line:
            span = entries[0].key.span
        layout = _layout(event, inner, start, places)
        return _Node(source.Mapping(tuple(entries), span, layout), count, height, layout.extent)

    def _repeated_node(self, event: yaml.AliasEvent, depth: int, *, is_key: bool) -> _Node:
        start = _extent(event)[0]
        name = str(event.anchor)
        node = self._anchors.get(name)
        if node is None:
            problem = "refers to itself" if name in self._anchors else "has no anchor before it"
            span = self._lines.span(*_extent(event))
            self._report.fail(f"alias {shown('*' + name)} {problem}", span, "this alias")
        self._alias_count += node.total
        most = self._report.limits.alias_nodes_max
        if self._alias_count > most:
            advice = "write the values out, or use fewer aliases"
            self._report.refuse(f"aliases repeat more than {most:,} values", start, advice)
        self._report.check_depth(depth + node.height, start)
        if is_key and not isinstance(node.value, source.Scalar):
            self._refuse_key(start)
        return node._replace(extent=_extent(event))

    def _dash(self, index: int, column: int) -> int:
        """Return the start of the next item of a block sequence, after the end of the last one."""
        pattern = re.compile(rf"[\n\r\x85\u2028\u2029] {{{column}}}-(?!\S)")
        dash = pattern.search(self._lines.text, index)
        return index if dash is None else dash.end() - 1

    def _block_end(self, start: int, end: int) -> int:
        """Return the end of a block scalar: its last line, or the empty lines that it keeps."""
        text = self._lines.text
        header = _HEADER.match(text, start)
        if header is not None and "+" in header.group():
            end = start + len(text[start:end].rstrip(" \t"))
            return end - len(_LAST_BREAK.search(text, start, end).group())  # type: ignore[union-attr]
        last = max(start + 1, start + len(text[start:end].rstrip(" \t\r\n\x85\u2028\u2029")))
        # Blanks at the end of the last line are a part of the text.
        return last + len(text[last:end]) - len(text[last:end].lstrip(" \t"))

    def _content_start(self, event: yaml.ScalarEvent | yaml.CollectionStartEvent) -> int:
        """Return where the value itself begins, after its anchor and tag."""
        start, end = _extent(event)
        limit = end if isinstance(event, yaml.ScalarEvent) else len(self._lines.text)
        for name in (event.anchor, event.tag):
            match = None if name is None else _PROPERTY.match(self._lines.text, start, limit)
            start = match.end() if match else start
        return start

    def _check_tag(self, event: yaml.ScalarEvent | yaml.CollectionStartEvent) -> None:
        if event.tag is None:
            return
        index = _extent(event)[0]
        span = self._lines.span(index, max(index + 1, self._content_start(event)))
        advice = "quote the text if it begins with '!'; otherwise remove the tag"
        message = f"tags such as {shown(event.tag)} are not supported"
        self._report.fail(message, span, "a tag", advice)

    def _refuse_key(self, index: int) -> NoReturn:
        if self._lines.text.startswith("{{", max(0, index - 1)):
            message, advice = "a text that begins with '{{' needs quotes", 'write "{{ ... }}"'
            span = self._lines.span(index - 1, index + 1)
            self._report.fail(message, span, "YAML reads this as a mapping", advice)
        message = "a key is a list or a mapping; keys are texts"
        self._report.fail(message, self._lines.span(index), "this key", "use a text as the key")


def _layout(
    event: yaml.CollectionStartEvent, closing: yaml.Event, start: int, places: list[source.Place]
) -> source.Layout:
    """Return the layout of a collection; a block ends with its last entry."""
    end = _extent(closing)[1] if event.flow_style else places[-1].end if places else start
    is_flow, is_anchored = bool(event.flow_style), event.anchor is not None
    return source.Layout((start, end), tuple(places), is_flow, is_anchored)


def _extent(event: yaml.Event) -> tuple[int, int]:
    assert event.start_mark is not None
    assert event.end_mark is not None
    return event.start_mark.index, event.end_mark.index


_BARE_TEMPLATE = regex(r"(?:^|[:\-,\[])\s*\{[{%]")
# Part of what the parser says, what we say, and what to do.
_ADVICE = (
    (
        "mapping values are not allowed",
        "a ':' is not expected here",
        "indent it right, or quote the text",
    ),
    ("unexpected end of stream", "a quoted text is not closed", "close the quote"),
    ("unexpected document indicator", "a quoted text is not closed", "close the quote"),
    ("',' or ']'", "a list in brackets is not correct here", "put ',' between its items"),
    ("',' or '}'", "a mapping in braces is not correct here", "put ',' between its entries"),
    ("expected '-' indicator", "a list item is expected here", "begin each item with '- '"),
    ("expected key", "a key is expected here", "indent all lines of a mapping equally"),
    ("could not find expected ':'", "a key has no ':'", "write 'key: value'"),
    ("unknown escape character", "the text has an unknown escape", 'write "\\\\" or single quotes'),
)


def _explained(error: yaml.MarkedYAMLError, lines: Lines) -> Diagnostic:
    """Return a message of the parser in plain words."""
    mark = error.problem_mark or error.context_mark
    index = mark.index if mark else 0
    problem = (error.problem or "the parser gave up").strip()
    if "cannot start any token" in problem:
        character = lines.text[index : index + 1]
        message = f"a text that begins with {character!r} needs quotes"
        advice = f'write "{character}..."'
        if character == "\t":
            message, advice = "a tab is used for indentation", "indent with spaces"
        return Diagnostic(SYNTAX, message, lines.span(index), "not allowed here", advice)
    is_scanned = (error.context or "").startswith("while scanning")
    if error.context_mark and (is_scanned or not lines.text[index:].strip()):
        # The broken part begins there.
        index = error.context_mark.index
    others = (problem, f"the file is not valid YAML: {problem}", "")
    _, message, advice = next((row for row in _ADVICE if row[0] in problem), others)
    if _BARE_TEMPLATE.search(lines.line_text(index)[:1000]):
        advice = "quote a text that begins with '{{' or '{%'"
    return Diagnostic(SYNTAX, message, lines.span(index), problem, advice)
