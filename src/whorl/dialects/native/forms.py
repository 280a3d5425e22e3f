"""The forms of fields: each form checks and reads a value, writes it, and describes it to editors.

There are forms of numbers, of texts, of lists and objects; the fields of an object know their place
in the IR.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import MISSING, fields, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from whorl import ir
from whorl.dialects.native import context as native
from whorl.dialects.native.context import CannotWriteError, Context, Location
from whorl.dialects.reading.fields import number_of, shown
from whorl.errors import did_you_mean, nearest
from whorl.ir.checks.scopes import suggest
from whorl.ir.values import parse_count, parse_duration
from whorl.lazily import dataclass
from whorl.source import Entry, Mapping, Scalar, Sequence, Value, plain

if TYPE_CHECKING:
    from collections import abc
    from collections.abc import Callable

    from whorl.language import Json

# What a form makes of a scalar that it does not take.
WRONG: Any = object()
MARKED: dict[str, Json] = {"$ref": "#/$defs/marked"}


class Form:
    """The form of a field; this one is for scalars.

    `words` describe the expected value. In exact files a `marked` form takes marked values as well.
    Messages do not mention a `rare` one. A form with `gives_value` reads a value of the IR. With
    `is_limit`, a number out of bounds is reported as a limit out of range. `shape` is the kind of
    value that it takes, `options` its alternatives with those inside of others, `json` its schema
    in plain files, `ref` the place of that schema for editors.
    """

    words = ""
    marked = False
    rare = False
    gives_value = False
    is_limit = False
    shape: type = Scalar
    options: tuple[Form, ...] = ()
    ref = ""
    json: dict[str, Json] = {}  # noqa: RUF012

    def read(self, context: Context, value: Value, at: Location) -> Any:
        """Reads a value; returns None if it is wrong, which is reported."""
        if self.marked and context.is_marked(value):
            return context.read_value(value)
        taken = self.take(context, value, at) if isinstance(value, self.shape) else WRONG
        if taken is WRONG:
            report_wrong(context, value, self, at)
            return None
        return taken

    def take(self, context: Context, value: Any, at: Location) -> Any:
        """Returns the meaning of a value of the shape, or WRONG; None if an error was reported."""
        return self.parse(context, value)

    def meant(self, text: str) -> str:
        """Returns advice on a wrong text, if it probably stands for another one."""
        return ""

    def parse(self, context: Context, scalar: Scalar) -> Any:
        """Returns the meaning of a scalar, or WRONG."""
        return WRONG

    def write(self, context: Context, value: Any) -> Any:
        """Returns the value to write for a part of the IR; raises CannotWriteError."""
        written = self.print(context, value)
        if written is not WRONG:
            scalar = native.as_source(written)
            if isinstance(scalar, Scalar) and native.is_same(self.parse(context, scalar), value):
                return written
        if not self.marked:
            raise CannotWriteError(value)
        return context.write_marked(value)

    def print(self, context: Context, value: Any) -> Any:
        """Returns the scalar that may be written for a part of the IR, or WRONG."""
        written = getattr(value, "source", getattr(value, "value", value))
        return written if isinstance(written, str | int | float) else WRONG

    def schema(self) -> dict[str, Json]:
        if self.ref:
            return {"$ref": f"#/$defs/{self.ref}"}
        return {"anyOf": [self.own_schema(), MARKED]} if self.marked else self.own_schema()

    def own_schema(self) -> dict[str, Json]:
        """Returns the JSON Schema of the values that it takes in plain files."""
        return dict(self.json)


class Text(Form):
    """A text; if it is `needed`, one that holds more than spaces."""

    def __init__(self, words: str = "a text", *, needed: bool = False) -> None:
        self.words, self.needed = words, needed
        self.json = {"type": "string", **({"pattern": r"\S"} if needed else {})}

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


class Computed(Text):
    """A computed value: a bare text is also an expression here."""

    marked = True
    gives_value = True

    def __init__(self, words: str, *, needed: bool = False) -> None:
        super().__init__(words, needed=needed)
        self.json = self.json if needed else {"type": ["string", "number"]}

    def parse(self, context: Context, scalar: Scalar) -> Any:
        number = None if self.needed else number_of(scalar)
        if number is not None:
            return ir.Constant(number)
        text = super().parse(context, scalar)
        if text is WRONG:
            return WRONG
        read = context.read_text if native.is_template(text) else context.read_expression
        return read(scalar)


class Boolean(Form):
    """True or false; with `is_flag` also an empty value, which means true."""

    def __init__(self, *, is_flag: bool = False) -> None:
        self.words = "true or false, or nothing" if is_flag else "true or false"
        self.json = {"type": ["boolean", "null"] if is_flag else "boolean"}
        self._if_nothing = True if is_flag else WRONG

    def parse(self, context: Context, scalar: Scalar) -> Any:
        if scalar.value is None:
            return self._if_nothing
        return scalar.value if isinstance(scalar.value, bool) else WRONG


class Choice(Form):
    """One of a few words; converted files may have others, too."""

    def __init__(self, choices: tuple[str, ...], others: tuple[str, ...] = ()) -> None:
        self.choices, self.others = choices, others
        self.words = ("one of " if len(choices) > 1 else "") + ", ".join(choices)
        self.json = {"enum": [*choices, *others]}

    def meant(self, text: str) -> str:
        return did_you_mean(text, self.choices)

    def parse(self, context: Context, scalar: Scalar) -> Any:
        choices = (*self.choices, *self.others) if context.exact else self.choices
        return scalar.text if scalar.text in choices else WRONG


class Anything(Form):
    """Any JSON value, with templates in its texts."""

    words = "any value; its texts may hold {{ }}"
    marked = True
    gives_value = True
    shape = object

    def take(self, context: Context, value: Value, at: Location) -> Any:
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

    def take(self, context: Context, value: Value, at: Location) -> Any:
        return plain(value)

    def write(self, context: Context, value: Any) -> Any:
        return value


class OneOf(Form):
    """Alternatives, of which the kind of value selects one; short ones come first."""

    def __init__(self, *forms: Form) -> None:
        self.forms = forms
        self.words = ", or ".join(form.words for form in forms if not form.rare)
        self.options = tuple(option for form in forms for option in form.options or (form,))

    def read(self, context: Context, value: Value, at: Location) -> Any:
        fitting = [form for form in self.options if isinstance(value, form.shape)]
        if context.is_marked(value):
            fitting = [form for form in self.options if form.marked]
        if fitting and not isinstance(value, Scalar):
            return fitting[0].read(context, value, at)
        parsed = self.parse(context, value) if isinstance(value, Scalar) else WRONG
        if parsed is WRONG:
            report_wrong(context, value, self, at)
            return None
        return parsed

    def parse(self, context: Context, scalar: Scalar) -> Any:
        fitting = (form for form in self.options if isinstance(scalar, form.shape))
        parsed = (form.parse(context, scalar) for form in fitting)
        return next((part for part in parsed if part is not WRONG), WRONG)

    def write(self, context: Context, value: Any) -> Any:
        for form in self.forms:
            with suppress(CannotWriteError):
                return form.write(context, value)
        raise CannotWriteError(value)

    def schema(self) -> dict[str, Json]:
        schemas: list[dict[str, Json]] = []
        for form in self.forms:
            schema = form.schema()
            parts: Any = schema.get("anyOf", [schema]) if form.shape is not object else [schema]
            schemas += [part for part in parts if part not in schemas]
        return {"anyOf": sorted(schemas, key=lambda part: part == MARKED)}


def report_wrong(context: Context, value: Value, form: Form, at: Location) -> None:
    meant, options = "", form.options or (form,)
    if isinstance(value, Scalar):
        meant = next(filter(None, (option.meant(value.text) for option in options)), "")
    # A limit that is a number is too small, or too large.
    limits = [option for option in options if option.is_limit]
    is_number = number_of(value) is not None
    form = limits[0] if is_number and limits else form
    message, advice = f"{at.words} must be {form.words}, not {shown(value)}", f"write {form.words}"
    label, advice = f"expected {form.words}", meant or advice
    context.report("W007", message, value.span, label=label, help=advice)


def reads_as(context: Context, form: Form, written: Any, value: object) -> bool:
    """Checks whether a written value is read as a part of the IR."""
    return is_read(context, form.read(context, native.as_source(written), native.NOWHERE), value)


def is_read(context: Context, result: object, value: object) -> bool:
    """Checks whether a part of the IR was read without diagnostics, and clears them."""
    is_right = not context.diagnostics and native.is_same(result, value)
    context.diagnostics.clear()
    return is_right


# Forms of fields that hold numbers: within bounds, counts, and times.

_TEMPLATE: dict[str, Json] = {"type": "string", "pattern": r"\{[{%#]"}
_UNITS = (("h", 3_600), ("m", 60), ("s", 1))


class Number(Form):
    """A number within bounds; with `template`, a text with {{ }} is also allowed."""

    def __init__(
        self, low: float | None = None, high: float | None = None, *,
        whole: bool = False, template: bool = False, is_limit: bool = False,
    ) -> None:  # fmt: skip
        self.low, self.high, self.whole, self.is_limit = low, high, whole, is_limit
        self.marked = self.template = template
        self.words = "a whole number" if whole else "a number"
        self.json = {"type": "integer" if whole else "number"}
        if low is not None:
            self.json["minimum"] = low
            self.words += f" of at least {low:,}" if high is None else f" from {low:,} to {high:,}"
        if high is not None:
            self.json["maximum"] = high
            self.words = f"{high:,}" if low == high else self.words
        if template:
            self.json = {"anyOf": [self.json, _TEMPLATE]}

    def meant(self, text: str) -> str:
        amount = re.fullmatch(r"[$€]\s*([0-9.]+)", text.strip())
        return f"write {amount[1]}" if amount else ""

    def parse(self, context: Context, scalar: Scalar) -> Any:
        if self.template and isinstance(scalar.value, str) and native.is_template(scalar.value):
            return context.read_text(scalar)
        number = number_of(scalar)
        if number is None or (self.whole and number != int(number)):
            return WRONG
        if context.exact:
            return number
        is_low = self.low is not None and number < self.low
        if is_low or (self.high is not None and number > self.high):
            return WRONG
        return int(number) if self.whole else float(number)

    def print(self, context: Context, value: Any) -> Any:
        is_round = isinstance(value, float) and abs(value) < 1e15 and value == int(value)
        return int(value) if is_round and not context.exact else super().print(context, value)


class Duration(Form):
    """A duration such as 5s, in seconds; `template` also allows a text with {{ }}.

    With `is_delay` it is a value of the IR, and an empty one means no delay.
    """

    words = "a duration such as 250ms, 5s, 10m, 1h30m or PT5S"
    json: dict[str, Json] = {"type": ["string", "number"]}  # noqa: RUF012

    def __init__(self, *, template: bool = False, is_delay: bool = False) -> None:
        self.marked = self.template = template
        self.is_delay = is_delay

    def parse(self, context: Context, scalar: Scalar) -> Any:
        if self.template and isinstance(scalar.value, str) and native.is_template(scalar.value):
            return context.read_text(scalar)
        seconds = seconds_of(context, scalar)
        if not self.is_delay or seconds is WRONG:
            return seconds
        return ir.Constant(seconds) if seconds else None

    def print(self, context: Context, value: Any) -> Any:
        written = super().print(context, value)
        return duration_text(written) if isinstance(written, int | float) else written


class Count(Form):
    """A positive whole number, also as 100k."""

    words = "a whole number such as 5000 or 100k"
    json: dict[str, Json] = {"type": ["integer", "string"], "minimum": 1}  # noqa: RUF012

    def parse(self, context: Context, scalar: Scalar) -> Any:
        try:
            count = parse_count(scalar.value)  # type: ignore[arg-type]
        except (ValueError, TypeError):
            return WRONG
        return count if count > 0 or context.exact else WRONG


def seconds_of(context: Context, scalar: Scalar) -> Any:
    """Returns the seconds that a scalar means, or WRONG."""
    if context.exact and number_of(scalar) is not None:
        return scalar.value
    try:
        return parse_duration(scalar.value)  # type: ignore[arg-type]
    except (ValueError, TypeError, AttributeError):
        return WRONG


def duration_text(seconds: float) -> str | float:
    """Returns seconds as 90s, 1h30m or 250ms; the number itself if no such text is exact."""
    if isinstance(seconds, int) or not 0 <= seconds <= 1e12:
        return seconds
    text, rest = "", int(seconds)
    for unit, size in _UNITS:
        count, rest = divmod(rest, size)
        text += f"{count}{unit}" if count else ""
    text = (text or "0s") if seconds == int(seconds) else f"{round(seconds * 1000)}ms"
    try:
        return text if parse_duration(text) == seconds else seconds
    except ValueError:
        return seconds


# Forms of lists and objects, and the fields of objects: each with its place in the IR.

# The value of a field that a file leaves out, given the attributes beside it.
Derive: TypeAlias = "Callable[[Context, abc.Mapping[str, Any]], Any]"
# The attribute of a field whose form reads several attributes of the object around it.
ALL = "*"
# What a form writes that has nothing to say.
OMIT: Any = object()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Field:
    """A field: its form, one line about it for people, and its attribute in the IR.

    The attribute `inputs.NAME` is an input of a task. Only converted files need a `rare` field, so
    messages do not mention it. A read-only field is never written: another field means the same.
    """

    form: Form
    doc: str
    attribute: str = ""
    required: bool = False
    rare: bool = False
    is_read_only: bool = False
    derive: Derive | None = None


FieldTable = dict[str, Field]


class Object(Form):
    """An object of known fields; without `make` it reads attributes of the object around it."""

    shape = Mapping

    def __init__(
        self, title: str, table: FieldTable, make: Callable[..., Any] | None = None, *,
        rare: bool = False,
    ) -> None:  # fmt: skip
        self.title, self.fields, self.make, self.rare = title, table, make, rare
        self.words = "an object with " + ", ".join(shown_names(table))

    def take(self, context: Context, value: Mapping, at: Location) -> Any:
        owner = at.words if at.field else f"{self.title} of {at.owner}"
        if self.title == "repeat":
            owner = at.owner.replace("step ", "loop ", 1)
        attributes = read_object(context, value, self.fields, Location(owner, "", value.span))
        return attributes if self.make is None else self.build(context, attributes)

    def build(self, context: Context, attributes: dict[str, Any]) -> Any:
        """Makes the part of the IR that has these attributes; None if it lacks one."""
        assert self.make is not None
        derive(context, self.fields, attributes)
        needed = [name for name, default in defaults(self.make).items() if default is MISSING]
        return self.make(**attributes) if all(name in attributes for name in needed) else None

    def write(self, context: Context, value: Any) -> Any:
        return write_object(context, self.fields, value)

    def own_schema(self) -> dict[str, Json]:
        return schema_of(self.fields)


class Short(OneOf):
    """An object, or the value of its main field alone."""

    def __init__(self, name: str, long: Object, form: Form | None = None) -> None:
        super().__init__(form or long.fields[name].form, long)
        self.name, self.long = name, long

    def read(self, context: Context, value: Value, at: Location) -> Any:
        result = super().read(context, value, at)
        if result is None or (isinstance(value, Mapping) and not context.is_marked(value)):
            return result
        attributes = {self.long.fields[self.name].attribute: result}
        return attributes if self.long.make is None else self.long.build(context, attributes)

    def write(self, context: Context, value: Any) -> Any:
        written = self.long.write(context, value)
        if list(written) != [self.name]:
            return written
        part = written[self.name]
        is_mark = self.forms[0].marked and context.exact
        return written if isinstance(part, dict) and not is_mark else part


class ListOf(Form):
    """A list, or what `make` makes of its items."""

    words = "a list"
    shape = Sequence

    def __init__(
        self, item: Form, least: int = 0, make: Callable[[tuple[Any, ...]], Any] = tuple
    ) -> None:
        self.item, self.least, self.make = item, least, make

    def take(self, context: Context, value: Sequence, at: Location) -> Any:
        if len(value) < self.least:
            return WRONG
        items = [self.item.read(context, item, at) for item in value if not context.is_full]
        return self.make(tuple(item for item in items if item is not None))

    def write(self, context: Context, value: Any) -> Any:
        if not isinstance(value, tuple) or len(value) < self.least:
            raise CannotWriteError(value)
        return [self.item.write(context, item) for item in value]

    def own_schema(self) -> dict[str, Json]:
        return {"type": "array", "items": self.item.schema(), "minItems": self.least}


class Values(ListOf):
    """A list whose items may hold expressions: one value of the IR."""

    gives_value = True

    def __init__(self, least: int = 0) -> None:
        super().__init__(Anything(), least)

    def take(self, context: Context, value: Sequence, at: Location) -> Any:
        return WRONG if len(value) < self.least else context.read_value(value)

    def write(self, context: Context, value: Any) -> Any:
        written = context.write_value(value)
        if not isinstance(written, list) or len(written) < self.least:
            raise CannotWriteError(value)
        return written


class Texts(OneOf):
    """A text or a list of them."""

    def read(self, context: Context, value: Value, at: Location) -> Any:
        if super().read(context, value, at) is None:
            return None
        items = value if isinstance(value, Sequence) else (value,)
        return tuple(item.text for item in items if isinstance(item, Scalar))

    def write(self, context: Context, value: Any) -> Any:
        if not isinstance(value, tuple):
            raise CannotWriteError(value)
        return one_or_list(value)


def one_or_list(items: abc.Sequence[Any]) -> Any:
    """Returns a list as people write it: a single item is written alone."""
    return items[0] if len(items) == 1 else list(items)


class MapOf(Form):
    """An object whose keys the author chooses: names for expressions, names, or any texts.

    It is read as pairs, or as the results of `make` for each name and value (or attributes), which
    cannot be marked. A wrong value is reported, and left out or replaced.
    """

    shape = Mapping

    def __init__(
        self, value: Form, words: str = "an object",
        names: Literal["plain", "dashed", "any"] = "plain", *, least: int = 0,
        make: Callable[..., Any] | None = None, if_wrong: Any = None,
    ) -> None:  # fmt: skip
        self.value, self.words, self.names, self.least = value, words, names, least
        self.make, self.if_wrong = make, if_wrong

    def take(self, context: Context, value: Mapping, at: Location) -> Any:
        if len(value) < self.least:
            return WRONG
        pairs: list[tuple[Any, Any]] = []
        if self.make is None and context.is_marked(value):
            pairs += getattr(context.read_value(value), "entries", ())
        else:
            for entry in value:
                if context.is_full:
                    break
                if self.names != "any":
                    context.check_name(entry.key, f"a name in {at.words}", self.names)
                inner = Location(f"{at.field!r} of {at.owner}", entry.name, entry.key.span)
                read = self.value.read(context, entry.value, inner)
                pairs.append((entry.name, self.if_wrong if read is None else read))
        pairs = [pair for pair in pairs if pair[1] is not None]
        if (make := self.make) is None:
            return tuple(pairs)
        return tuple(make(n, **p) if isinstance(p, dict) else make(n, p) for n, p in pairs)

    def write(self, context: Context, value: Any) -> Any:
        pairs = [item if isinstance(item, tuple) else (item.name, item) for item in value]
        names = [name for name, _ in pairs if isinstance(name, str)]
        is_mark = context.exact and self.make is None and native.is_mark_of(names)
        if len(set(names)) == len(pairs) and len(pairs) >= self.least and not is_mark:
            return {name: self.value.write(context, item) for name, item in pairs}
        return context.write_marked(ir.Fields(tuple(pairs)))

    def own_schema(self) -> dict[str, Json]:
        schema: dict[str, Json] = {"type": "object", "additionalProperties": self.value.schema()}
        if self.names != "any":
            schema["propertyNames"] = {"pattern": f"^{native.NAMES[self.names]}$"}
        return {**schema, "minProperties": self.least} if self.least else schema


class FieldsOf(MapOf):
    """An object whose values may hold expressions, as Fields of the IR."""

    gives_value = True

    def take(self, context: Context, value: Mapping, at: Location) -> Any:
        entries = super().take(context, value, at)
        return WRONG if entries is WRONG else ir.Fields(entries)

    def write(self, context: Context, value: Any) -> Any:
        if not isinstance(value, ir.Fields):
            raise CannotWriteError(value)
        return super().write(context, value.entries)


def read_object(
    context: Context, value: Mapping, table: FieldTable, at: Location
) -> dict[str, Any]:
    """Reads the fields of an object into attributes; reports unknown, wrong and missing ones.

    Steps are read first, since other fields may refer to them; `block` holds their options.
    """
    attributes: dict[str, Any] = {}
    for entry in sorted(value, key=lambda entry: entry.name != "steps"):
        if context.is_full:
            break
        if entry.name in table:
            attributes |= _read_field(context, entry, table[entry.name], at)
        else:
            report_unknown(context, entry, table, at)
    missing = [name for name, field in table.items() if field.required and name not in value]
    unknown = [entry.name for entry in value if entry.name not in table] if missing else []
    misspelt = {meant_field(name, table) for name in unknown}
    for name in missing:
        if name not in misspelt:
            context.report_missing(at.owner, name, at.span, f"add {name!r}: {table[name].doc}")
    options = attributes.pop("block", {})
    if "body" in attributes:
        attributes["body"] = replace(attributes["body"], **options)
    return attributes


def _read_field(context: Context, entry: Entry, field: Field, at: Location) -> dict[str, Any]:
    is_constant = field.attribute.startswith("inputs.") and not field.form.gives_value
    if is_constant and context.is_marked(entry.value):
        return {field.attribute: context.read_value(entry.value)}
    read = field.form.read(context, entry.value, Location(at.owner, entry.name, entry.key.span))
    if field.attribute == ALL or (read is None and not isinstance(field.form, Raw)):
        return read or {}
    if is_constant:
        read = context.read_value(entry.value)
    return {field.attribute: read}


def derive(context: Context, table: FieldTable, attributes: dict[str, Any]) -> None:
    """Adds the attributes that follow from others if a file does not have them."""
    for field in table.values():
        if field.derive is not None and field.attribute not in attributes:
            attributes[field.attribute] = field.derive(context, attributes)


def write_object(context: Context, table: FieldTable, item: Any) -> dict[str, Any]:
    """Returns the fields to write for a part of the IR, except those with default values."""
    maker: Any = type(item)
    usual = dict(defaults(maker))
    attributes = {name: getattr(item, name) for name in usual}
    written: dict[str, Any] = {}
    for name, field in table.items():
        attribute = field.attribute or name
        if field.is_read_only:
            continue
        value = item if attribute == ALL else attributes.get(attribute, OMIT)
        if field.derive is not None:
            usual[attribute] = field.derive(context, attributes)
        if value is not OMIT and not native.is_same(value, usual.get(attribute, OMIT)):
            written[name] = field.form.write(context, value)
    return {name: part for name, part in written.items() if part is not OMIT}


@cache
def defaults(maker: Any) -> dict[str, Any]:
    """Returns the attributes of a class of the IR with their defaults, without its place."""
    return {item.name: item.default for item in fields(maker) if item.name != "place"}


def report_unknown(context: Context, entry: Entry, table: FieldTable, at: Location) -> None:
    message = f"{at.owner} has no field {entry.name[:60]!r}"
    word = meant_field(entry.name, table)
    advice = f"did you mean {word!r}?" if word else suggest(entry.name, shown_names(table))
    context.report("W004", message, entry.key.span, label="unknown field", help=advice)


# Fields of other systems and languages: spelling does not lead from them to ours.
_FIELDS = dict.fromkeys(("maxiterations", "maxiter", "maxloops", "iterations", "limit"), "at_most")
_FIELDS |= dict.fromkeys(("prompt", "message", "messages"), "ask")


def meant_field(name: str, table: FieldTable) -> str | None:
    """Returns the field that a wrong name probably stands for."""
    shown = shown_names(table)
    word = _FIELDS.get(name.replace("_", "").lower())
    return word if word in shown else nearest(name, shown)


# Types of other languages, by ours.
_TYPES = {
    **dict.fromkeys(("str", "char", "varchar"), "string"),
    **dict.fromkeys(("float", "double", "decimal"), "number"),
    **dict.fromkeys(("dict", "map", "struct"), "object"),
    **dict(zip(("bool", "int", "array"), ("boolean", "integer", "list"), strict=True)),
}
_LIST_TYPE = re.compile(r"(?:list|array|sequence|tuple|set)?[\[<](\w*)[\]>]|(\w+)\[\]")


def meant_type(text: str, types: abc.Collection[str], *, has_items: bool = False) -> str:
    """Returns advice on a wrong text that probably stands for a type, or ""."""
    written = text.strip().removesuffix("?").lower()
    if match := _LIST_TYPE.fullmatch(written):
        item = match[1] or match[2] or "string"
        return f"write [{_TYPES.get(item, item)}]" if has_items else "did you mean 'list'?"
    word = _TYPES.get(re.split(r"\W", written)[0], "")
    word = "json" if word == "object" and word not in types else word
    return f"did you mean {word!r}?" if word in types else did_you_mean(text, types)


def shown_names(table: FieldTable) -> list[str]:
    """Returns the names of the fields that people write."""
    return [name for name, field in table.items() if not field.rare]


def schema_of(table: FieldTable) -> dict[str, Json]:
    required: list[Json] = [name for name, field in table.items() if field.required]
    properties: dict[str, Json] = {
        name: {"description": field.doc, **field.form.schema()} for name, field in table.items()
    }
    schema: dict[str, Json] = {"type": "object", "properties": properties}
    schema["additionalProperties"] = False
    return {**schema, "required": required} if required else schema
