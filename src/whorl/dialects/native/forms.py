"""What a field can hold: each form checks and reads a value, writes it, and tells editors of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from whorl import ir
from whorl.dialects.native.context import Location, shown
from whorl.dialects.native.values import (
    CannotWriteError,
    as_source,
    is_marked,
    is_same,
    is_template,
    read_expression,
    read_text,
    read_value,
    write_marked,
    write_value,
)
from whorl.errors import Span, did_you_mean
from whorl.ir.durations import parse_count, parse_duration
from whorl.language import Expression
from whorl.source import Mapping, Scalar, plain

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whorl.dialects.native.context import Context
    from whorl.language import Json
    from whorl.source import Value

# What a form makes of a scalar that it does not take.
WRONG: Any = object()
MARKED: dict[str, Json] = {"$ref": "#/$defs/marked"}
_TEMPLATE: dict[str, Json] = {"type": "string", "pattern": r"\{[{%#]"}
_UNITS = (("h", 3_600), ("m", 60), ("s", 1))


class Form:
    """What a field can hold; this one is for scalars, and lists and objects are in `objects`.

    In exact files a `marked` form takes marked values as well. Messages do not mention a `rare`
    one. What a form with `gives_value` reads is a value of the IR.
    """

    rare = False
    gives_value = False
    # What kind of value it takes, and where editors find it or what they are told.
    shape: type = Scalar
    ref = ""
    json: ClassVar[dict[str, Json]] = {}

    @property
    def marked(self) -> bool:
        """Whether marked values may stand in its place."""
        return False

    @property
    def words(self) -> str:
        """What is expected, for people."""
        return ""

    def takes(self, value: Value) -> bool:
        """Whether a value has the shape that the form is for."""
        return isinstance(value, self.shape)

    def options(self) -> Iterable[Form]:
        """The form, or those that it is one of."""
        return (self,)

    def read(self, context: Context, value: Value, at: Location) -> Any:
        """Reads a value; None where it is wrong, which is reported."""
        if self.marked and is_marked(context, value):
            return read_value(context, value)
        found = self.parse(context, value) if isinstance(value, Scalar) else WRONG
        if found is WRONG:
            report_wrong(context, value, self, at)
            return None
        return found

    def parse(self, context: Context, scalar: Scalar) -> Any:
        """What a scalar stands for, or WRONG."""
        return WRONG

    def write(self, context: Context, value: Any) -> Any:
        """What is read as this part of the IR; raises CannotWriteError."""
        written = self.print(context, value)
        if written is not WRONG:
            scalar = as_source(written)
            if isinstance(scalar, Scalar) and is_same(self.parse(context, scalar), value):
                return written
        if not self.marked:
            raise CannotWriteError(value)
        return write_marked(context, value)

    def print(self, context: Context, value: Any) -> Any:
        """The scalar that may stand for a part of the IR, or WRONG."""
        return value if isinstance(value, str | int | float) else WRONG

    def schema(self) -> dict[str, Json]:
        """The JSON Schema of what it takes."""
        if self.ref:
            return {"$ref": f"#/$defs/{self.ref}"}
        return {"anyOf": [self.own_schema(), MARKED]} if self.marked else self.own_schema()

    def own_schema(self) -> dict[str, Json]:
        """The JSON Schema of what it takes in plain files."""
        return dict(self.json)


@dataclass(eq=False, repr=False)
class Text(Form):
    """A text; where it is `needed`, one that holds more than spaces."""

    words: str = "a text"
    needed: bool = False

    def parse(self, context: Context, scalar: Scalar) -> Any:
        text = scalar.value
        return text if isinstance(text, str) and (not self.needed or text.strip()) else WRONG

    def own_schema(self) -> dict[str, Json]:
        return {"type": "string", "pattern": r"\S"} if self.needed else {"type": "string"}


class Template(Text):
    """A text that may hold {{ }}: a value of the IR."""

    marked = True
    gives_value = True

    def parse(self, context: Context, scalar: Scalar) -> Any:
        return read_text(context, scalar) if isinstance(scalar.value, str) else WRONG

    def print(self, context: Context, value: Any) -> Any:
        return value.source if isinstance(value, Expression) else getattr(value, "value", WRONG)


@dataclass(eq=False, repr=False)
class Condition(Form):
    """A Jinja expression, with or without {{ }} around it: a text, or true or false."""

    words: str = "an expression such as review.approved"
    marked = True

    json: ClassVar[dict[str, Json]] = {"type": ["string", "boolean"]}

    def parse(self, context: Context, scalar: Scalar) -> Any:
        value = scalar.value
        fits = isinstance(value, bool) or (isinstance(value, str) and value.strip())
        return read_expression(context, scalar) if fits else WRONG

    def print(self, context: Context, value: Any) -> Any:
        if not isinstance(value, Expression):
            return WRONG
        return {"true": True, "false": False}.get(value.source, value.source)


@dataclass(eq=False, repr=False)
class Computed(Form):
    """What must be computed to be of use: a bare text is an expression here, too."""

    words: str = ""
    needed: bool = False
    marked = True
    gives_value = True

    def parse(self, context: Context, scalar: Scalar) -> Any:
        value = scalar.value
        if isinstance(value, str):
            if self.needed and not value.strip():
                return WRONG
            is_bare = not is_template(value)
            return (read_expression if is_bare else read_text)(context, scalar)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return ir.Constant(value) if is_number and not self.needed else WRONG

    def print(self, context: Context, value: Any) -> Any:
        return value.source if isinstance(value, Expression) else getattr(value, "value", WRONG)

    def own_schema(self) -> dict[str, Json]:
        if self.needed:
            return {"type": "string", "pattern": r"\S"}
        return {"type": ["string", "number"]}


@dataclass(eq=False, repr=False)
class Number(Form):
    """A number within bounds; with `template` a text with {{ }} may stand in its place.

    `is_limit` says that a number out of bounds is reported as a limit out of range.
    """

    low: float | None = None
    high: float | None = None
    whole: bool = False
    template: bool = False
    is_limit: bool = False

    @property
    def marked(self) -> bool:
        return self.template

    @property
    def words(self) -> str:
        kind = "a whole number" if self.whole else "a number"
        if self.low is None:
            return kind
        if self.high is None:
            return f"{kind} of at least {self.low:,}"
        return f"{kind} from {self.low:,} to {self.high:,}"

    def parse(self, context: Context, scalar: Scalar) -> Any:
        value = scalar.value
        if self.template and isinstance(value, str) and is_template(value):
            return read_text(context, scalar)
        if isinstance(value, bool) or not isinstance(value, int | float):
            return WRONG
        if self.whole and value != int(value):
            return WRONG
        is_low = self.low is not None and value < self.low
        is_high = self.high is not None and value > self.high
        if (is_low or is_high) and not context.exact:
            return WRONG
        if context.exact:
            return value
        return int(value) if self.whole else float(value)

    def print(self, context: Context, value: Any) -> Any:
        if isinstance(value, Expression):
            return value.source
        is_round = isinstance(value, float) and abs(value) < 1e15 and value == int(value)
        if is_round and not context.exact:
            return int(value)
        return value if isinstance(value, int | float) else WRONG

    def own_schema(self) -> dict[str, Json]:
        schema: dict[str, Json] = {"type": "integer" if self.whole else "number"}
        if self.low is not None:
            schema["minimum"] = self.low
        if self.high is not None:
            schema["maximum"] = self.high
        return {"anyOf": [schema, _TEMPLATE]} if self.template else schema


@dataclass(eq=False, repr=False)
class Truth(Form):
    """True or false, or with `is_flag` nothing, which means true."""

    words: str = "true or false"
    is_flag: bool = False

    def parse(self, context: Context, scalar: Scalar) -> Any:
        if self.is_flag and scalar.value is None:
            return True
        return scalar.value if isinstance(scalar.value, bool) else WRONG

    def own_schema(self) -> dict[str, Json]:
        return {"type": ["boolean", "null"] if self.is_flag else "boolean"}


@dataclass(eq=False, repr=False)
class Duration(Form):
    """A duration such as 5s, in seconds; `template` allows a text with {{ }} in its place."""

    words: str = "a duration such as 250ms, 5s, 10m, 1h30m or PT5S"
    template: bool = False

    @property
    def marked(self) -> bool:
        return self.template

    json: ClassVar[dict[str, Json]] = {"type": ["string", "number"]}

    def parse(self, context: Context, scalar: Scalar) -> Any:
        value = scalar.value
        if self.template and isinstance(value, str) and is_template(value):
            return read_text(context, scalar)
        return seconds_of(context, scalar)

    def print(self, context: Context, value: Any) -> Any:
        if isinstance(value, Expression):
            return value.source
        return duration_text(value) if isinstance(value, int | float) else WRONG


@dataclass(eq=False, repr=False)
class Delay(Duration):
    """A duration as a value of the IR; none is no delay at all."""

    template: bool = True

    def parse(self, context: Context, scalar: Scalar) -> Any:
        found = super().parse(context, scalar)
        if found is WRONG or isinstance(found, Expression):
            return found
        return ir.Constant(found) if found else None

    def print(self, context: Context, value: Any) -> Any:
        return super().print(context, value.value if isinstance(value, ir.Constant) else value)


@dataclass(eq=False, repr=False)
class Count(Form):
    """A positive whole number, also as 100k."""

    words: str = "a whole number such as 5000 or 100k"

    json: ClassVar[dict[str, Json]] = {"type": ["integer", "string"], "minimum": 1}

    def parse(self, context: Context, scalar: Scalar) -> Any:
        try:
            count = parse_count(scalar.value)  # type: ignore[arg-type]
        except (ValueError, TypeError):
            return WRONG
        return count if count > 0 or context.exact else WRONG


@dataclass(eq=False, repr=False)
class Choice(Form):
    """One of a few words; converted files may have others, too."""

    choices: tuple[str, ...]
    others: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        return "one of " + ", ".join(self.choices) if len(self.choices) > 1 else self.choices[0]

    def parse(self, context: Context, scalar: Scalar) -> Any:
        known = (*self.choices, *self.others) if context.exact else self.choices
        return scalar.text if scalar.text in known else WRONG

    def own_schema(self) -> dict[str, Json]:
        return {"enum": [*self.choices, *self.others]}


@dataclass(eq=False, repr=False)
class Anything(Form):
    """Any JSON value, with templates in its texts."""

    words: str = "any value; its texts may hold {{ }}"
    marked = True
    gives_value = True
    shape = object

    def read(self, context: Context, value: Value, at: Location) -> Any:
        return read_value(context, value)

    def parse(self, context: Context, scalar: Scalar) -> Any:
        return read_text(context, scalar)

    def write(self, context: Context, value: Any) -> Any:
        return write_value(context, value)

    def schema(self) -> dict[str, Json]:
        return {}


class Raw(Anything):
    """Any JSON value as it is, which need not be a value of the IR."""

    marked = False
    gives_value = False

    def read(self, context: Context, value: Value, at: Location) -> Any:
        return plain(value)

    def write(self, context: Context, value: Any) -> Any:
        return value


@dataclass(eq=False, repr=False)
class OneOf(Form):
    """Any of several forms, which are told apart by the kind of value; short ones come first."""

    forms: tuple[Form, ...]

    @property
    def words(self) -> str:
        return ", or ".join(form.words for form in self.forms if not form.rare)

    def __post_init__(self) -> None:
        self._options = tuple(one for form in self.forms for one in form.options())

    def options(self) -> Iterable[Form]:
        """All forms, also those inside of others."""
        return self._options

    def takes(self, value: Value) -> bool:
        return any(form.takes(value) for form in self._options)

    def read(self, context: Context, value: Value, at: Location) -> Any:
        if is_marked(context, value):
            fitting = [form for form in self._options if form.marked]
        else:
            fitting = [form for form in self._options if form.takes(value)]
        if fitting and not isinstance(value, Scalar):
            return fitting[0].read(context, value, at)
        found = self.parse(context, value) if isinstance(value, Scalar) else WRONG
        if found is not WRONG:
            return found
        is_limit = len(fitting) == 1 and _is_out_of_bounds(value, fitting[0])
        report_wrong(context, value, fitting[0] if is_limit else self, at)
        return None

    def parse(self, context: Context, scalar: Scalar) -> Any:
        found = (form.parse(context, scalar) for form in self._options if form.takes(scalar))
        return next((one for one in found if one is not WRONG), WRONG)

    def write(self, context: Context, value: Any) -> Any:
        for form in self.forms:
            try:
                return form.write(context, value)
            except CannotWriteError:
                continue
        raise CannotWriteError(value)

    def schema(self) -> dict[str, Json]:
        found: list[dict[str, Json]] = []
        for form in self.forms:
            if isinstance(form, OneOf) or (form.marked and not isinstance(form, Anything)):
                found += [one for one in form.schema()["anyOf"] if one not in found]  # type: ignore
            else:
                found.append(form.schema())
        return {"anyOf": sorted(found, key=lambda one: one == MARKED)}


def report_wrong(context: Context, value: Value, form: Form, at: Location) -> None:
    """Reports a value that a form does not take."""
    meant = ""
    if isinstance(value, Scalar):
        words = [w for one in form.options() if isinstance(one, Choice) for w in one.choices]
        meant = did_you_mean(value.text, words)
    context.report(
        "W015" if _is_out_of_bounds(value, form) else "W007",
        f"{at.words} must be {form.words}, not {shown(value)}",
        value.span,
        label=f"expected {form.words}",
        help=meant or f"write {form.words}",
    )


def _is_out_of_bounds(value: Value, form: Form) -> bool:
    """Whether a limit is a number, but too small or too large."""
    if not isinstance(form, Number) or not form.is_limit or not isinstance(value, Scalar):
        return False
    return isinstance(value.value, int | float) and not isinstance(value.value, bool)


def reads_as(context: Context, form: Form, written: Any, value: object) -> bool:
    """Whether what was written is read as a part of the IR."""
    found = form.read(context, as_source(written), Location("", "", Span("", 1, 1)))
    is_right = not context.diagnostics and is_same(found, value)
    context.diagnostics.clear()
    return is_right


def seconds_of(context: Context, scalar: Scalar) -> Any:
    """The seconds that a scalar stands for, or WRONG."""
    value = scalar.value
    if context.exact and isinstance(value, float | int) and not isinstance(value, bool):
        return value
    try:
        return parse_duration(value)  # type: ignore[arg-type]
    except (ValueError, TypeError, AttributeError):
        return WRONG


def duration_text(seconds: float) -> str | float:
    """Seconds as 90s, 1h30m or 250ms; the number itself where no such text is exact."""
    if isinstance(seconds, int) or not 0 <= seconds <= 1e12:
        return seconds
    if seconds == int(seconds):
        parts, rest = [], int(seconds)
        for unit, size in _UNITS:
            count, rest = divmod(rest, size)
            parts += [f"{count}{unit}"] if count else []
        text = "".join(parts) or "0s"
    else:
        text = f"{round(seconds * 1000)}ms"
    try:
        return text if parse_duration(text) == seconds else seconds
    except ValueError:
        return seconds


def texts_of(value: Value | None) -> tuple[str, ...]:
    """The texts of a field that holds one or a list of them."""
    if isinstance(value, Scalar):
        return () if value.value is None else (value.text,)
    items = () if value is None or isinstance(value, Mapping) else value.items
    return tuple(item.text for item in items if isinstance(item, Scalar))
