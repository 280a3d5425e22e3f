"""Texts with {{variables}} as expressions of the engine.

In prompts a variable that is not set stays as it is written, unless it can only be misspelt; in
`with`, `until` and `items` it is an error.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.mcp_cli.functions import quoted
from whorl.dialects.mcp_cli.variables import LIBRARY, WORDS, Mention, Variables, spelled
from whorl.errors import did_you_mean
from whorl.source import Mapping, Scalar, Sequence, plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.dialects.mcp_cli.draft import Draft
    from whorl.dialects.mcp_cli.variables import View
    from whorl.source import Value


PLACE = re.compile(r"\{\{([^{}]+)\}\}")
_TOKEN = re.compile(r"'[^']*'|\"[^\"]*\"|[^\W\d][\w-]*(?:\.[\w-]+)*")
_MARKS = re.compile(r"\$?\{\{|\}\}")
_COMPARES = re.compile(r"[=!<>]=|[<>]")
_OPERATORS = frozenset(("and", "or", "not", "in"))
COMPARED_MAX = 200
_SPECIAL = ("{{", "{%", "{#")


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a text: literal, or the expression of a variable."""

    text: str
    is_code: bool = False


@dataclass(slots=True)
class Texts:
    """Reads the texts of one file."""

    draft: Draft
    variables: Variables
    _warned: set[str] = field(default_factory=set)
    _meant: dict[str, str] = field(default_factory=dict)

    def prompt(self, value: Value | None, view: View) -> ir.Value:
        """A text in which an unset variable stays as it is written."""
        return self._read(value, view, strict=False)

    def strict(self, value: Value | None, view: View) -> ir.Value:
        """A text in which every variable must be set."""
        return self._read(value, view, strict=True)

    def values(self, value: Value, view: View, *, strict: bool) -> ir.Value:
        """What `with` gives: texts, and lists and objects of them."""
        if isinstance(value, Scalar):
            return self._read(value, view, strict=strict)
        if isinstance(value, Sequence):
            return ir.Items(tuple(self.values(item, view, strict=strict) for item in value))
        entries = [(e.name, self.values(e.value, view, strict=strict)) for e in value]
        return ir.Fields(tuple(entries))

    def lines(self, given: Mapping, view: View, *, strict: bool) -> ir.Value:
        """All of `with` as one text: a line `key: value` for each."""
        parts: list[str] = []
        for number, entry in enumerate(given):
            parts.append(_literal(f"{chr(10) if number else ''}{entry.name}: "))
            scalar = entry.value
            if not isinstance(scalar, Scalar):
                written = json.dumps(plain(entry.value), ensure_ascii=False)
                scalar = Scalar(written, entry.value.span)
            parts.extend(map(_piece, self._parts(scalar, view, strict=strict)))
        return ir.Expression("template", "".join(parts), LIBRARY)

    def source(self, value: Value, view: View) -> str:
        """The source of an expression for a value; a text that is one variable keeps its type."""
        if isinstance(value, Scalar):
            parts = list(self._parts(value, view, strict=True)) or [Part(value.text)]
            if len(parts) == 1:
                return parts[0].text if parts[0].is_code else quoted(parts[0].text)
            return " ~ ".join(f"({p.text})" if p.is_code else quoted(p.text) for p in parts)
        if isinstance(value, Sequence):
            return f"[{', '.join(self.source(item, view) for item in value)}]"
        pairs = (f"{quoted(entry.name)}: {self.source(entry.value, view)}" for entry in value)
        return f"{{{', '.join(pairs)}}}"

    def condition(self, value: Value | None, view: View) -> ir.Expression | None:
        """An `if`: a comparison of variables, or a text that is not empty, `false` or `0`."""
        if not isinstance(value, Scalar) or value.value is None:
            return None
        if _is_comparison(value.text):
            bare = _MARKS.sub(" ", value.text)
            source = _TOKEN.sub(lambda found: self._operand(found[0], value, view), bare)
        else:
            texts = [self._operand(name, value, view) for _, name in places(value)]
            is_literal = not texts or PLACE.sub("", value.text).strip(" \n$")
            source = f"is_true({quoted(value.text) if is_literal else ' ~ '.join(texts)})"
        expression = ir.Expression("jinja", source, LIBRARY)
        self.draft.places.remember_part(expression, value.span)
        return expression

    def _operand(self, token: str, scalar: Scalar, view: View) -> str:
        if token[0] in "'\"" or token in WORDS:
            return token
        found = self.variables.find(token, view)
        if found is not None:
            return found.expression
        offset = max(0, scalar.text.find(token))
        mention = Mention("", scalar.locate(offset, len(token)), required=True)
        if not self.variables.take(token, mention):
            self._report_unknown(token, scalar, offset)
        return spelled(token)

    def _read(self, value: Value | None, view: View, *, strict: bool) -> ir.Value:
        if not isinstance(value, Scalar) or value.value is None:
            return ir.Constant("")
        if not PLACE.search(value.text):
            return ir.Constant(value.text)
        parts = list(self._parts(value, view, strict=strict))
        source = "".join(map(_piece, parts))
        if len(parts) == 1 and parts[0].is_code:
            # A template that is one expression would keep the type of its value; this is a text.
            source = f"{{{{ ({parts[0].text}) | string }}}}"
        expression = ir.Expression("template", source, LIBRARY)
        self.draft.places.remember_part(expression, value.span)
        return expression

    def _parts(self, scalar: Scalar, view: View, *, strict: bool) -> Iterator[Part]:
        literal, end = "", 0
        for found in PLACE.finditer(scalar.text):
            literal += scalar.text[end : found.start()]
            end = found.end()
            code = self._place(scalar, found, view, strict=strict)
            if code is None:
                literal += found[0]
                continue
            if literal:
                yield Part(literal)
            literal = ""
            yield Part(code, is_code=True)
        literal += scalar.text[end:]
        if literal:
            yield Part(literal)

    def _place(
        self, scalar: Scalar, found: re.Match[str], view: View, *, strict: bool
    ) -> str | None:
        """The expression of one placeholder; None where it stays as it is written."""
        name = found[1].strip()
        known = self.variables.find(name, view)
        if known is None:
            return self._unknown(scalar, found, strict=strict)
        if known.certain:
            return known.expression
        if strict:
            return f"required({known.expression}, {quoted(name)})"
        return f"{known.expression} | default({quoted(found[0])})"

    def _unknown(self, scalar: Scalar, found: re.Match[str], *, strict: bool) -> str | None:
        name = found[1].strip()
        span = scalar.locate(found.start(), len(found[0]))
        if self.variables.take(name, Mention(found[0], span, required=strict)):
            self._hint(name, scalar, found.start())
            return spelled(name)
        if strict or self.variables.is_misspelt(name, self._nearest(name)):
            self._report_unknown(name, scalar, found.start())
        elif name not in self._warned:
            self._warned.add(name)
            self.draft.warn(
                "W023",
                f"{found[0][:60]!r} names no variable, so it stays in the text as it is",
                span,
                label="stays as it is",
                help=self._advice(name),
            )
        return None

    def _hint(self, name: str, scalar: Scalar, offset: int) -> None:
        """An unknown name is an input; one that is nearly another's is probably a slip."""
        meant = self._nearest(name)
        if meant and name not in self._warned:
            self._warned.add(name)
            self.draft.warn(
                "W023",
                f"{name!r} is no step or loop here, so it must be given from outside",
                scalar.locate(offset, len(name) + 4),
                label="an input",
                help=meant,
            )

    def _report_unknown(self, name: str, scalar: Scalar, offset: int) -> None:
        self.draft.report(
            "W005",
            f"there is no variable {name[:60]!r}",
            scalar.locate(offset, len(name)),
            label="unknown variable",
            help=self._advice(name),
        )

    def _advice(self, name: str) -> str:
        if self.variables.owner(name) is not None:
            return "it is not there yet; write {{loop.last.output}} or {{loop.history}} in a loop"
        return self._nearest(name) or _FLAT

    def _nearest(self, name: str) -> str:
        """The question that names the nearest variable; comparing costs time, so not for all."""
        if name not in self._meant and len(self._meant) < COMPARED_MAX:
            known = islice(self.variables.known(name), COMPARED_MAX)
            self._meant[name] = did_you_mean(name, known)
        return self._meant.get(name, "")


_FLAT = "variables are flat: {{input}}, {{env.NAME}}, {{loop.iteration}}, the name of a step"


def places(scalar: Scalar) -> Iterator[tuple[int, str]]:
    """The placeholders of a text: where each begins, and the name in it."""
    for found in PLACE.finditer(scalar.text):
        yield found.start(), found[1].strip()


def names_in(value: Value) -> Iterator[str]:
    """Every name that the texts of a value mention."""
    if isinstance(value, Scalar):
        yield from (name for _, name in places(value))
    elif isinstance(value, Sequence):
        for item in value:
            yield from names_in(item)
    else:
        for entry in value:
            yield from names_in(entry.value)


def operands_in(value: Value | None) -> list[str]:
    """Every name that a condition may mention."""
    if not isinstance(value, Scalar) or not _is_comparison(value.text):
        return [] if value is None else list(names_in(value))
    return _TOKEN.findall(_MARKS.sub(" ", value.text))


def _is_comparison(text: str) -> bool:
    """Whether a condition compares variables; another one is a text that is empty or not."""
    if not PLACE.search(text):
        return False
    bare = _MARKS.sub(" ", text)
    if _COMPARES.search(_TOKEN.sub("", bare)):
        return True
    return text.strip().startswith("${{") and not _OPERATORS.isdisjoint(_TOKEN.findall(bare))


def _literal(text: str) -> str:
    """Literal text in a template; what would mean something there is quoted."""
    if any(mark in text for mark in _SPECIAL) or text.endswith("{") or "\r" in text:
        return f"{{{{ {quoted(text)} }}}}"
    return text


def _piece(part: Part) -> str:
    return f"{{{{ {part.text} }}}}" if part.is_code else _literal(part.text)
