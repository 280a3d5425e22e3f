"""What a field can hold: each form checks and reads a value, writes it, and tells editors of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whorl import ir
from whorl.dialects.native.context import (
    NOWHERE,
    CannotWriteError,
    Context,
    Location,
    as_source,
    is_same,
    is_template,
    shown,
)
from whorl.dialects.reading.fields import number_of
from whorl.errors import did_you_mean
from whorl.lazily import dataclass
from whorl.source import Scalar, Value, plain

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whorl.language import Json

# What a form makes of a scalar that it does not take.
WRONG: Any = object()
MARKED: dict[str, Json] = {"$ref": "#/$defs/marked"}


class Form:
    """What a field can hold; this one is for scalars, and lists and objects are in `objects`.

    `words` say what is expected. In exact files a `marked` form takes marked values as well.
    Messages do not mention a `rare` one. What a form with `gives_value` reads is a value of the IR.
    `is_limit` says that a number out of bounds is reported as a limit out of range.
    `shape` is the kind of value that it takes, `json` its schema in plain files, `ref` where
    editors find that.
    """

    words = ""
    marked = False
    rare = False
    gives_value = False
    is_limit = False
    shape: type = Scalar
    ref = ""
    json: dict[str, Json] = {}  # noqa: RUF012

    def options(self) -> Iterable[Form]:
        """The form, or those that it is one of."""
        return (self,)

    def read(self, context: Context, value: Value, at: Location) -> Any:
        """Reads a value; None where it is wrong, which is reported."""
        if self.marked and context.is_marked(value):
            return context.read_value(value)
        parsed = self.parse(context, value) if isinstance(value, Scalar) else WRONG
        if parsed is WRONG:
            report_wrong(context, value, self, at)
            return None
        return parsed

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
        return context.write_marked(value)

    def print(self, context: Context, value: Any) -> Any:
        """The scalar that may stand for a part of the IR, or WRONG."""
        written = getattr(value, "source", getattr(value, "value", value))
        return written if isinstance(written, str | int | float) else WRONG

    def schema(self) -> dict[str, Json]:
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

    def __post_init__(self) -> None:
        self.json = {"type": "string", **({"pattern": r"\S"} if self.needed else {})}

    def parse(self, context: Context, scalar: Scalar) -> Any:
        text = scalar.value
        return text if isinstance(text, str) and (not self.needed or text.strip()) else WRONG


class Template(Text):
    """A text that may hold {{ }}: a value of the IR."""

    marked = True
    gives_value = True

    def parse(self, context: Context, scalar: Scalar) -> Any:
        return context.read_text(scalar) if isinstance(scalar.value, str) else WRONG


class Condition(Form):
    """A Jinja expression, with or without {{ }} around it: a text, or true or false."""

    words = "an expression such as review.approved"
    marked = True
    json: dict[str, Json] = {"type": ["string", "boolean"]}  # noqa: RUF012

    def parse(self, context: Context, scalar: Scalar) -> Any:
        value = scalar.value
        fits = isinstance(value, bool) or (isinstance(value, str) and value.strip())
        return context.read_expression(scalar) if fits else WRONG

    def print(self, context: Context, value: Any) -> Any:
        written = super().print(context, value)
        return {"true": True, "false": False}.get(written, written)


@dataclass(eq=False, repr=False)
class Computed(Text):
    """What must be computed to be of use: a bare text is an expression here, too."""

    marked = True
    gives_value = True

    def __post_init__(self) -> None:
        super().__post_init__()
        self.json = self.json if self.needed else {"type": ["string", "number"]}

    def parse(self, context: Context, scalar: Scalar) -> Any:
        if not isinstance(scalar.value, str):
            number = None if self.needed else number_of(scalar)
            return WRONG if number is None else ir.Constant(number)
        if self.needed and not scalar.value.strip():
            return WRONG
        return (context.read_text if is_template(scalar.value) else context.read_expression)(scalar)


@dataclass(eq=False, repr=False)
class Boolean(Form):
    """True or false, or with `is_flag` nothing, which means true."""

    words: str = "true or false"
    is_flag: bool = False

    def __post_init__(self) -> None:
        self.json = {"type": ["boolean", "null"] if self.is_flag else "boolean"}

    def parse(self, context: Context, scalar: Scalar) -> Any:
        if self.is_flag and scalar.value is None:
            return True
        return scalar.value if isinstance(scalar.value, bool) else WRONG


@dataclass(eq=False, repr=False)
class Choice(Form):
    """One of a few words; converted files may have others, too."""

    choices: tuple[str, ...]
    others: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self.words = ("one of " if len(self.choices) > 1 else "") + ", ".join(self.choices)
        self.json = {"enum": [*self.choices, *self.others]}

    def parse(self, context: Context, scalar: Scalar) -> Any:
        choices = (*self.choices, *self.others) if context.exact else self.choices
        return scalar.text if scalar.text in choices else WRONG


class Anything(Form):
    """Any JSON value, with templates in its texts."""

    words = "any value; its texts may hold {{ }}"
    marked = True
    gives_value = True
    shape = object

    def read(self, context: Context, value: Value, at: Location) -> Any:
        return context.read_value(value)

    def parse(self, context: Context, scalar: Scalar) -> Any:
        return context.read_text(scalar)

    def write(self, context: Context, value: Any) -> Any:
        return context.write_value(value)

    def schema(self) -> dict[str, Json]:
        return {}


class Raw(Anything):
    """Any JSON value as it is, which need not be a value of the IR."""

    words = "any value"
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

    def __post_init__(self) -> None:
        self.words = ", or ".join(form.words for form in self.forms if not form.rare)
        self._options = tuple(option for form in self.forms for option in form.options())

    def options(self) -> Iterable[Form]:
        """All forms, also those inside of others."""
        return self._options

    def read(self, context: Context, value: Value, at: Location) -> Any:
        fitting = [form for form in self._options if isinstance(value, form.shape)]
        if context.is_marked(value):
            fitting = [form for form in self._options if form.marked]
        if fitting and not isinstance(value, Scalar):
            return fitting[0].read(context, value, at)
        parsed = self.parse(context, value) if isinstance(value, Scalar) else WRONG
        if parsed is not WRONG:
            return parsed
        is_limit = len(fitting) == 1 and _is_out_of_bounds(value, fitting[0])
        report_wrong(context, value, fitting[0] if is_limit else self, at)
        return None

    def parse(self, context: Context, scalar: Scalar) -> Any:
        fitting = (form for form in self._options if isinstance(scalar, form.shape))
        parsed = (form.parse(context, scalar) for form in fitting)
        return next((part for part in parsed if part is not WRONG), WRONG)

    def write(self, context: Context, value: Any) -> Any:
        for form in self.forms:
            try:
                return form.write(context, value)
            except CannotWriteError:
                continue
        raise CannotWriteError(value)

    def schema(self) -> dict[str, Json]:
        schemas: list[dict[str, Json]] = []
        for form in self.forms:
            schema = form.schema()
            parts: Any = schema.get("anyOf", [schema]) if form.shape is not object else [schema]
            schemas += [part for part in parts if part not in schemas]
        return {"anyOf": sorted(schemas, key=lambda part: part == MARKED)}


def report_wrong(context: Context, value: Value, form: Form, at: Location) -> None:
    meant = ""
    if isinstance(value, Scalar):
        choices = [form.choices for form in form.options() if isinstance(form, Choice)]
        meant = did_you_mean(value.text, [word for words in choices for word in words])
    code = "W015" if _is_out_of_bounds(value, form) else "W007"
    message, advice = f"{at.words} must be {form.words}, not {shown(value)}", f"write {form.words}"
    context.report(code, message, value.span, label=f"expected {form.words}", help=meant or advice)


def _is_out_of_bounds(value: Value, form: Form) -> bool:
    """Whether a limit is a number, but too small or too large."""
    return form.is_limit and number_of(value) is not None


def reads_as(context: Context, form: Form, written: Any, value: object) -> bool:
    """Whether what was written is read as a part of the IR."""
    return is_read(context, form.read(context, as_source(written), NOWHERE), value)


def is_read(context: Context, result: object, value: object) -> bool:
    """Whether a part of the IR was read without any complaint, which is forgotten."""
    is_right = not context.diagnostics and is_same(result, value)
    context.diagnostics.clear()
    return is_right
