"""Findings about files as people read them: each with its line of the file, and what to do."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from whorl.errors import Diagnostic, Span, columns, plural, safe, visible
from whorl.interfaces.cli.terminal import paint
from whorl.lazily import regex

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

WIDTH_MAX = 100
_LINE_END = regex(r"\r\n|\n|\r")
_COLORS = {"error": "red", "warning": "yellow"}


def render(
    diagnostic: Diagnostic, text: str | None, secrets: Mapping[tuple[str, int], int] | None = None
) -> str:
    """Show a diagnostic with its line of `text`, the whole text of its file.

    A line of `secrets` ends at the column that it has there.
    """
    frame = partial(paint, color="blue", bold=True)
    severity, span = diagnostic.severity, diagnostic.span
    title = paint(f"{severity}[{safe(diagnostic.code)}]", _COLORS[severity], bold=True)
    shown = [f"{title}{paint(f': {safe(diagnostic.message)}', bold=True)}"]
    number = str(span.line) if span else " "
    margin = " " * len(number)
    if span is not None:
        shown.append(f"{margin}{frame('-->')} {safe(str(span))}")
        lines = [] if text is None else _LINE_END.split(text, maxsplit=span.line)
        if span.line <= len(lines):
            room = WIDTH_MAX - len(number) - 3
            line = lines[span.line - 1]
            if secret := (secrets or {}).get((span.file, span.line)):
                line = f"{line[: secret - 1]}***"
            source, indent, carets = _window(line, span, room)
            blank = f"{margin} {frame('|')}"
            label = f" {safe(diagnostic.label)}" if diagnostic.label else ""
            marks = paint(f"{'^' * carets}{label}", _COLORS[severity], bold=True)
            shown += [blank, f"{frame(f'{number} |')} {source}".rstrip()]
            shown.append(f"{blank} {' ' * indent}{marks}")
    shown.append(f"{margin} {frame('=')} help: {_advice(diagnostic)}")
    return "\n".join(shown)


def render_all(diagnostics: Iterable[Diagnostic], texts: Mapping[str, str]) -> str:
    """Show all diagnostics by position, and how many there are; `texts` is by file."""

    def position(diagnostic: Diagnostic) -> tuple[bool, str, int, int]:
        span = diagnostic.span
        return (True, "", 0, 0) if span is None else (False, span.file, span.line, span.column)

    ordered = sorted(dict.fromkeys(diagnostics), key=position)
    # Of each line, the column of the first secret.
    spans = [one.span for one in ordered if one.is_secret and one.span is not None]
    spans.sort(key=lambda span: span.column, reverse=True)
    secrets = {(span.file, span.line): span.column for span in spans}
    shown = ((d, texts.get(d.span.file) if d.span else None) for d in ordered)
    blocks = [render(d, text, secrets) for d, text in shown]
    severities = [diagnostic.severity for diagnostic in ordered]
    counts = [(severities.count(severity), severity) for severity in ("error", "warning")]
    words = [plural(n, severity) for n, severity in counts if n]
    return "\n\n".join([*blocks, ", ".join(words)] if blocks else [])


def _advice(diagnostic: Diagnostic) -> str:
    explain = f"un `whorl help {safe(diagnostic.code)}`"
    advice = safe(diagnostic.help)
    if not advice:
        return "r" + explain
    if "whorl help" in advice:
        return advice
    return f"{advice}{' ' if advice[-1] in '?!.' else '. '}R{explain}"


def _window(line: str, span: Span, width_max: int) -> tuple[str, int, int]:
    """Cut a line to the columns around the span: its text, the caret's column, their number."""

    def width(part: str) -> int:
        return columns(visible(part))

    caret = min(span.column - 1, len(line))
    start = 0
    # A line may have megabytes, so its width is measured near the caret only.
    if width(line[: 2 * width_max]) > width_max or len(line) > 2 * width_max:
        start = max(0, caret - width_max // 2)
        while start < caret and width(line[start : caret + 1]) > width_max // 2:
            start += 1
    prefix = "…" if start else ""
    room = width_max - len(prefix)
    end = start
    while end < len(line) and room >= width(line[end]) + (end + 1 < len(line)):
        room -= width(line[end])
        end += 1
    suffix = "…" if end < len(line) else ""
    marked = line[caret : min(caret + span.length, max(end, caret))]
    indent = len(prefix) + width(line[start:caret])
    return prefix + visible(line[start:end]) + suffix, indent, max(1, width(marked))
