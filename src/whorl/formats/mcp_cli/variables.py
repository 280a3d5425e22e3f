"""Variables: texts with {{variables}} as expressions; the names are flat.

A variable is input, env.X, loop.iteration or a step's name. In prompts one that is not set stays as
it is written, unless it can only be misspelt; in `with`, `until` and `items` it is an error.
"""

from __future__ import annotations

import json
import re
from dataclasses import field, replace
from itertools import chain, islice
from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.reading import ReadContext
from whorl.dialects.reading.fields import scalar_of, scalars, texts_of
from whorl.dialects.reading.texts import COMPARED_MAX, placeholders, quoted, read_tree, split_text
from whorl.errors import did_you_mean
from whorl.lazily import dataclass
from whorl.source import Mapping, Scalar, Sequence, plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.dialects.reading.texts import Placeholder
    from whorl.errors import Span
    from whorl.source import Value


LIBRARY = "mcp-cli"
MAIN = "input"
RESERVED = frozenset({MAIN, "env", "loop", "step"})
# Kinds of steps that a task of the operator does, under the same name.
PROVIDED = ("rag", "embeddings")
# The facts of a loop for its own texts, and for the items after it.
REFINE = ("iteration", "output", "last.output", "history")
ITERATE = ("iteration", "index", "count", "current", "item")
_SAME = {name: name for name in ("iterations", "output", "succeeded", "failed")}
AFTERWARDS = {"iteration": "iterations", "last.output": "output", "history": "accumulator", **_SAME}
# The other facts of a loop in the public system.
_ELSEWHERE = ("stats.succeeded", "stats.failed", "total")
LOOP = frozenset((*REFINE, *ITERATE, *AFTERWARDS, *_ELSEWHERE))

PLACE = re.compile(r"\{\{([^{}]+)\}\}")
_TOKEN = re.compile(r"'[^']*'|\"[^\"]*\"|[^\W\d][\w-]*(?:\.[\w-]+)*")
_MARKS = re.compile(r"\$?\{\{|\}\}")
_COMPARES = re.compile(r"[=!<>]=|[<>]")
_FLAT = "variables are flat: {{input}}, {{env.NAME}}, {{loop.iteration}}, the name of a step"
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_INPUT = re.compile(r"[^\W\d][\w-]*")
_DOTTED = re.compile(r"[^\W\d][\w-]*(?:\.[\w-]+)+")
# The reserved words of an expression.
_CONSTANTS = ("true", "false", "none", "null", "True", "False", "None")
_KEYWORDS = ("and", "or", "not", "in", "is", "if", "else", "elif", "recursive")
WORDS = frozenset((*_CONSTANTS, *_KEYWORDS))


@dataclass(slots=True)
class FileContext(ReadContext):
    """A file of mcp-cli while it is read; `mentions` are the names that its caller gives."""

    mentions: dict[str, Span] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.sources[self.file] = self.document.text
        # JSON readers let a repeated key pass with a warning; here it is a mistake.
        self.adopt(replace(warning, severity="error") for warning in self.document.warnings)

    def warn_unused(self, fields: Mapping, name: str, owner: str, why: str, advice: str) -> None:
        """Warns of a field that has a value but no effect."""
        entry = fields.entry(name)
        if entry is not None and texts_of(entry.value):
            message = f"{name!r} of {owner} has no effect{why}"
            self.warn("W023", message, entry.key.span, label="not used", help=advice)


@dataclass(frozen=True, slots=True, eq=False)
class Item:
    """A step or a loop of the file, in its place in the document.

    `loop` holds the fields of a loop in any notation; `fields` those of the step around it.
    """

    name: str
    key: Scalar
    fields: Mapping
    loop: Mapping | None = None

    @property
    def words(self) -> str:
        """Returns the words for the item in a message."""
        return f"{'loop' if self.loop is self.fields else 'step'} {self.name[:60]!r}"

    @property
    def is_iterate(self) -> bool:
        """Returns whether the loop is over items, without a condition."""
        mode = self.loop.get("mode") if self.loop is not None else None
        return isinstance(mode, Scalar) and mode.value == "iterate"

    @property
    def provided(self) -> str:
        """Returns the kind of step that a task of the operator runs; it may give an object."""
        return next((name for name in PROVIDED if self.fields.get(name) is not None), "")

    @property
    def accumulators(self) -> tuple[str, ...]:
        """Returns the names under which all outputs of a loop are known."""
        if self.loop is None:
            return ()
        named = scalar_of(self.loop.get("accumulate"))
        return (*((named.text,) if named else ()), f"{self.name}_accumulator")

    def get(self, name: str) -> Value | None:
        return self.fields.get(name)


@dataclass(frozen=True, slots=True)
class View:
    """The place of a text: its item, the loop around it, and the loop before it."""

    item: Item | None = None
    inside: Item | None = None
    before: Item | None = None
    judged: bool = False


@dataclass(frozen=True, slots=True)
class Mention:
    """The first mention of an unknown name: an input, which a run may need."""

    written: str
    span: Span
    required: bool


@dataclass(slots=True)
class Variables:
    """The names that the texts of one file can mention; unknown names are workflow inputs.

    `reads_input` says whether the file reads its main input, or passes it on.
    """

    items: dict[str, Item] = field(default_factory=dict)
    accumulators: dict[str, Item] = field(default_factory=dict)
    env: frozenset[str] = frozenset()
    inputs: dict[str, Mention] = field(default_factory=dict)
    reads_input: bool = False

    def owner(self, name: str) -> Item | None:
        """Returns the step or loop whose result a variable is."""
        bare = name.removeprefix("step.") if name not in self.items else name
        return self.items.get(bare) or self.accumulators.get(bare) or self.holder(name)

    def holder(self, name: str) -> Item | None:
        """Returns the step whose result has the variable as a field: `step.NAME.FIELD`."""
        first, _, rest = name.partition(".")
        owner = self.items.get(rest.partition(".")[0]) if first == "step" and "." in rest else None
        return owner if owner is not None and owner.provided else None

    def find(self, name: str, view: View) -> tuple[str, bool] | None:
        """Returns the source by which a place reads a variable, and whether it surely exists.

        None if the name is unknown. In `until`, `output` is the judged output.
        """
        if view.judged and name in ("output", "loop.output"):
            return "output", True
        if name == MAIN:
            self.reads_input = True
            return MAIN, True
        if (holder := self.holder(name)) is not None and holder is not view.item:
            path = "".join(f"[{quoted(part)}]" for part in name.split(".")[2:])
            return f"{spelled(holder.name)}{path}", False
        owner = self.owner(name)
        if owner is not None and owner is not view.item:
            is_name = owner.name in (name, name.removeprefix("step."))
            part = "" if owner.loop is None else ".output" if is_name else ".accumulator"
            return spelled(owner.name) + part, owner.get("if") is None
        first, _, rest = name.partition(".")
        if first == "env" and rest:
            return f"env[{quoted(rest)}]", rest in self.env
        return _of_loop(rest, view) if first == "loop" else None

    def take(self, name: str, mention: Mention) -> bool:
        """Makes an unknown name an input of the workflow; False if that is impossible."""
        if not _INPUT.fullmatch(name) or name in RESERVED or self.owner(name) is not None:
            return False
        first = self.inputs.setdefault(name, mention)
        if mention.required:
            self.inputs[name] = replace(first, required=True)
        return True

    def is_misspelt(self, name: str, nearest: str) -> bool:
        """Returns whether a name is a typo: no step or loop has it, or another name is near."""
        if not _DOTTED.fullmatch(name):
            return False
        first, _, rest = name.partition(".")
        if first == "step":
            return self.owner(name) is None and self.owner(rest.partition(".")[0]) is None
        return rest not in LOOP if first == "loop" else bool(nearest)

    def names(self, wanted: str) -> Iterator[str]:
        """Yields all names that a text may mention; those of the wanted form come first."""
        flat = ("input", *self.items, *self.accumulators)
        prefixed = (("loop", (*REFINE, *ITERATE)), ("env", self.env), ("step", flat[1:]))
        dotted = (f"{prefix}.{name}" for prefix, names in prefixed for name in names)
        return chain(dotted, flat) if "." in wanted else chain(flat, dotted)


def spelled(name: str) -> str:
    """Returns a name in the notation of an expression."""
    is_plain = _PLAIN.fullmatch(name) and name not in WORDS
    return name if is_plain else f"variable({quoted(name)})"


def collect_variables(items: list[Item], env: Mapping | None) -> Variables:
    """Collects the variables of a file, before its texts are read."""
    by_name = {item.name: item for item in items}
    named = ((name, item) for item in reversed(items) for name in item.accumulators)
    accumulators = {name: item for name, item in named if name not in by_name}
    return Variables(by_name, accumulators, frozenset(entry.name for entry in env or ()))


def _of_loop(rest: str, view: View) -> tuple[str, bool] | None:
    """Returns the source of a fact of a loop: inside of it, after it, or in a called workflow."""
    if view.inside is not None:
        names = ITERATE if view.inside.is_iterate else REFINE
        return (f"loop.{rest}", True) if rest in names else None
    if view.before is not None:
        part = AFTERWARDS.get(rest)
        return (f"{spelled(view.before.name)}.{part}", False) if part else None
    return (f"loop.{rest}", False) if rest in {*REFINE, *ITERATE} else None


@dataclass(slots=True)
class Texts:
    context: FileContext
    variables: Variables
    _warned: set[str] = field(default_factory=set)
    _questions: dict[str, str] = field(default_factory=dict)

    def read(self, value: Value | None, view: View, *, strict: bool = False) -> ir.Value:
        """Reads a text; unset variables stay as they are written, or are errors (`strict`)."""
        if not isinstance(value, Scalar) or value.value is None:
            return ir.Constant("")
        if not PLACE.search(value.text):
            return ir.Constant(value.text)
        parts = list(self._parts(value, view, strict=strict))
        source = "".join(map(_template_part, parts))
        if len(parts) == 1 and parts[0][1]:
            # A template that is one expression would keep the type of its value; this is a text.
            source = f"{{{{ ({parts[0][0]}) | string }}}}"
        expression = ir.Expression("template", source, LIBRARY)
        self.context.places.remember_part(expression, value.span)
        return expression

    def values(self, value: Value, view: View, *, strict: bool) -> ir.Value:
        """Returns the values of `with`: texts, and lists and objects of them."""

        def read(scalar: Scalar) -> ir.Value:
            is_text = scalar is value or PLACE.search(scalar.text)
            return self.read(scalar, view, strict=strict) if is_text else ir.Constant(scalar.value)

        return read_tree(value, read)

    def left_over(self, view: View, value: Value | None) -> ir.Value | None:
        """Returns the warning of a step about unset variables in its texts, which stay."""
        pairs: dict[str, str] = {}
        for place in places_in(value):
            reference = self.variables.find(place.name, view)
            if reference is None:
                # The value of an input that is not given is its own text.
                given = f"{spelled(place.name)} != {quoted(place.written)}"
                pairs[place.written] = given if place.name in self.variables.inputs else "false"
            elif not reference[1]:
                pairs[place.written] = f"{reference[0]} is defined"
        listed = ", ".join(f"{quoted(written)}: {test}" for written, test in pairs.items())
        return ir.Expression("jinja", f"left_over({{{listed}}})", LIBRARY) if pairs else None

    def lines(self, arguments: Mapping, view: View, *, strict: bool) -> ir.Value:
        """Returns all of `with` as one text: a line `key: value` for each."""
        parts: list[str] = []
        for number, entry in enumerate(arguments):
            parts.append(_template_part((f"{chr(10) if number else ''}{entry.name}: ", False)))
            scalar = entry.value
            if not isinstance(scalar, Scalar):
                written = json.dumps(plain(entry.value), ensure_ascii=False)
                scalar = Scalar(written, entry.value.span)
            parts.extend(map(_template_part, self._parts(scalar, view, strict=strict)))
        return ir.Expression("template", "".join(parts), LIBRARY)

    def source(self, value: Value, view: View) -> str:
        """Returns the expression source of a value; a text that is one variable keeps its type."""
        if isinstance(value, Scalar):
            parts = list(self._parts(value, view, strict=True)) or [(value.text, False)]
            form = "({})" if parts[1:] else "{}"
            return " ~ ".join(form.format(text) if is_it else quoted(text) for text, is_it in parts)
        if isinstance(value, Sequence):
            return f"[{', '.join(self.source(item, view) for item in value)}]"
        pairs = (f"{quoted(entry.name)}: {self.source(entry.value, view)}" for entry in value)
        return f"{{{', '.join(pairs)}}}"

    def condition(self, value: Value | None, view: View) -> ir.Expression | None:
        """Reads an `if`: a comparison, or a text that must not be empty, `false` or `0`."""
        if not isinstance(value, Scalar) or value.value is None:
            return None
        if _is_comparison(value.text):
            bare = _MARKS.sub(" ", value.text)
            source = _TOKEN.sub(lambda token: self._operand(token[0], value, view), bare)
        else:
            texts = [self._operand(place.name, value, view) for place in placeholders(value, PLACE)]
            is_literal = not texts or PLACE.sub("", value.text).strip(" \n$")
            source = f"is_true({quoted(value.text) if is_literal else ' ~ '.join(texts)})"
        expression = ir.Expression("jinja", source, LIBRARY)
        self.context.places.remember_part(expression, value.span)
        return expression

    def _operand(self, token: str, scalar: Scalar, view: View) -> str:
        if token[0] in "'\"" or token in WORDS:
            return token
        reference = self.variables.find(token, view)
        if reference is not None:
            return reference[0]
        span = scalar.locate(max(0, scalar.text.find(token)), len(token))
        if not self.variables.take(token, Mention("", span, required=True)):
            self._report_unknown(token, span)
        return spelled(token)

    def _parts(self, scalar: Scalar, view: View, *, strict: bool) -> Iterator[tuple[str, bool]]:
        """Yields the parts of a text: literals, and sources (true) of variables."""

        def source_of(place: Placeholder) -> str | None:
            reference = self.variables.find(place.name, view)
            if reference is None:
                return self._unknown(place, strict=strict)
            source, is_certain = reference
            if is_certain:
                return source
            if strict:
                return f"required({source}, {quoted(place.name)})"
            return f"{source} | default({quoted(place.written)})"

        return split_text(scalar, PLACE, source_of)

    def _unknown(self, place: Placeholder, *, strict: bool) -> str | None:
        name, start = place.name, place.offset - 2
        span = place.scalar.locate(start, len(place.written))
        is_input = self.variables.take(name, Mention(place.written, span, required=strict))
        advice = self._question(name)
        if not is_input and (strict or self.variables.is_misspelt(name, advice)):
            self._report_unknown(name, place.scalar.locate(start, len(name)))
        elif name not in self._warned and (advice or not is_input):
            # A near miss of another name is probably a typo.
            message = f"{place.written[:60]!r} is not a variable, so it stays in the text as it is"
            if is_input:
                message = f"{name!r} is not a step or loop here, so it must be given as an input"
            self.context.warn("W023", message, span, label="unknown name", help=advice or _FLAT)
            self._warned.add(name)
        return spelled(name) if is_input else None

    def _report_unknown(self, name: str, span: Span) -> None:
        message, advice = f"there is no variable {name[:60]!r}", self._question(name) or _FLAT
        self.context.report("W005", message, span, label="unknown variable", help=advice)

    def _question(self, name: str) -> str:
        """Returns a question with the nearest name; after a limited number of names, ""."""
        if name not in self._questions and len(self._questions) < COMPARED_MAX:
            names = islice(self.variables.names(name), COMPARED_MAX)
            self._questions[name] = did_you_mean(name, names)
        return self._questions.get(name, "")


def names_in(value: Value | None) -> Iterator[str]:
    return (place.name for place in places_in(value))


def places_in(value: Value | None) -> Iterator[Placeholder]:
    for _, scalar in scalars(value):
        yield from placeholders(scalar, PLACE)


def operands_in(value: Value | None) -> list[str]:
    """Returns every name that a condition may mention."""
    if not isinstance(value, Scalar) or not _is_comparison(value.text):
        return list(names_in(value))
    return _TOKEN.findall(_MARKS.sub(" ", value.text))


def _is_comparison(text: str) -> bool:
    """Returns whether a condition compares variables; any other is a text that may be empty."""
    if not PLACE.search(text):
        return False
    bare = _MARKS.sub(" ", text)
    if _COMPARES.search(_TOKEN.sub("", bare)):
        return True
    words = {"and", "or", "not", "in"} & set(_TOKEN.findall(bare))
    return text.strip().startswith("${{") and bool(words)


def _template_part(part: tuple[str, bool]) -> str:
    """Returns a source or a literal for a template; special characters are quoted."""
    text, is_source = part
    is_special = any(mark in text for mark in ("{{", "{%", "{#", "\r")) or text.endswith("{")
    source = text if is_source else quoted(text)
    return f"{{{{ {source} }}}}" if is_source or is_special else text
