"""Forms of lists and objects, and the fields of objects: each with its place in the IR."""

from __future__ import annotations

from dataclasses import MISSING, fields, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from whorl import ir
from whorl.dialects.native.context import (
    NAMES,
    CannotWriteError,
    Context,
    Location,
    is_mark_of,
    is_same,
)
from whorl.dialects.native.field_types import Form, OneOf, Raw, report_wrong
from whorl.errors import nearest
from whorl.ir.checks.scopes import suggest
from whorl.lazily import dataclass
from whorl.source import Entry, Mapping, Scalar, Sequence, Value

if TYPE_CHECKING:
    from collections import abc
    from collections.abc import Callable

    from whorl.language import Json

# What a field is where a file does not say it, given the attributes beside it.
Derive: TypeAlias = "Callable[[Context, abc.Mapping[str, Any]], Any]"
# The attribute of a field whose form reads several attributes of what it stands in.
ALL = "*"
# What a form writes that has nothing to say.
OMIT: Any = object()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Field:
    """A field: what it holds, one line about it for people, and the attribute of the IR it says.

    The attribute `inputs.NAME` is an input of a task. Only converted files need a `rare` field, so
    messages do not mention it. Another field says the same as one that is read only.
    """

    form: Form
    doc: str
    attribute: str = ""
    required: bool = False
    rare: bool = False
    is_read_only: bool = False
    derive: Derive | None = None


FieldTable = dict[str, Field]


@dataclass(eq=False, repr=False)
class Object(Form):
    """An object of known fields; without `make` it reads attributes of what it stands in."""

    title: str
    fields: FieldTable
    make: Callable[..., Any] | None = None
    rare: bool = False
    shape = Mapping

    def __post_init__(self) -> None:
        self.words = "an object with " + ", ".join(shown_names(self.fields))

    def read(self, context: Context, value: Value, at: Location) -> Any:
        if not isinstance(value, Mapping):
            report_wrong(context, value, self, at)
            return None
        owner = at.words if at.field else f"{self.title} of {at.owner}"
        if self.title == "repeat":
            owner = at.owner.replace("step ", "loop ", 1)
        attributes = read_object(context, value, self.fields, Location(owner, "", value.span))
        return attributes if self.make is None else self.build(context, attributes)

    def build(self, context: Context, attributes: dict[str, Any]) -> Any:
        """The part of the IR that has these attributes; None where it lacks one."""
        assert self.make is not None
        derive(context, self.fields, attributes)
        needed = [name for name, default in defaults(self.make).items() if default is MISSING]
        return self.make(**attributes) if all(name in attributes for name in needed) else None

    def write(self, context: Context, value: Any) -> Any:
        return write_object(context, self.fields, value)

    def own_schema(self) -> dict[str, Json]:
        return schema_of(self.fields)


class Short(OneOf):
    """An object, or right in its place the field of it that says most."""

    def __init__(self, name: str, long: Object, form: Form | None = None) -> None:
        super().__init__((form or long.fields[name].form, long))
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


@dataclass(eq=False, repr=False)
class ListOf(Form):
    """A list, or what `make` makes of its items."""

    item: Form
    least: int = 0
    make: Callable[[tuple[Any, ...]], Any] = tuple
    words = "a list"
    shape = Sequence

    def read(self, context: Context, value: Value, at: Location) -> Any:
        if not isinstance(value, Sequence) or len(value) < self.least:
            report_wrong(context, value, self, at)
            return None
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

    def read(self, context: Context, value: Value, at: Location) -> Any:
        items = super().read(context, value, at)
        return None if items is None else context.read_value(value)

    def write(self, context: Context, value: Any) -> Any:
        written = self.item.write(context, value)
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
    """A list as people write it: one item stands alone."""
    return items[0] if len(items) == 1 else list(items)


@dataclass(eq=False, repr=False)
class MapOf(Form):
    """An object whose keys the author chooses: names for expressions, names, or any texts.

    It is read as pairs, or as whatever `make` makes of a name and a value, which cannot be marked;
    a wrong value, which is told, is left out or taken for another one.
    """

    value: Form
    words: str = "an object"
    names: Literal["plain", "dashed", "any"] = "plain"
    least: int = 0
    make: Callable[[str, Any], Any] | None = None
    if_wrong: Any = None
    shape = Mapping

    def read(self, context: Context, value: Value, at: Location) -> Any:
        if not isinstance(value, Mapping) or len(value) < self.least:
            report_wrong(context, value, self, at)
            return None
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
        return tuple(pairs if self.make is None else (self.make(*pair) for pair in pairs))

    def write(self, context: Context, value: Any) -> Any:
        pairs = [item if isinstance(item, tuple) else (item.name, item) for item in value]
        names = [name for name, _ in pairs if isinstance(name, str)]
        is_mark = context.exact and self.make is None and is_mark_of(names)
        if len(set(names)) == len(pairs) and len(pairs) >= self.least and not is_mark:
            return {name: self.value.write(context, item) for name, item in pairs}
        return context.write_marked(ir.Fields(tuple(pairs)))

    def own_schema(self) -> dict[str, Json]:
        schema: dict[str, Json] = {"type": "object", "additionalProperties": self.value.schema()}
        if self.names != "any":
            schema["propertyNames"] = {"pattern": f"^{NAMES[self.names]}$"}
        return {**schema, "minProperties": self.least} if self.least else schema


class FieldsOf(MapOf):
    """An object whose values may hold expressions, as Fields of the IR."""

    gives_value = True

    def read(self, context: Context, value: Value, at: Location) -> Any:
        entries = super().read(context, value, at)
        return None if entries is None else ir.Fields(entries)

    def write(self, context: Context, value: Any) -> Any:
        if not isinstance(value, ir.Fields):
            raise CannotWriteError(value)
        return super().write(context, value.entries)


def read_object(
    context: Context, value: Mapping, table: FieldTable, at: Location
) -> dict[str, Any]:
    """Reads the fields of an object into attributes; what is unknown, wrong or missing is told.

    Steps come first: what stands beside them may speak of them. `block` says more about them.
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
    misspelt = {nearest(name, shown_names(table)) for name in unknown}
    for name in missing:
        if name not in misspelt:
            message, label = f"{at.owner} lacks the field {name!r}", f"{name!r} is missing"
            advice = f"add {name!r}: {table[name].doc}"
            context.report("W006", message, at.span, label=label, help=advice)
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
    """Adds the attributes that follow from others where a file does not say them."""
    for field in table.values():
        if field.derive is not None and field.attribute not in attributes:
            attributes[field.attribute] = field.derive(context, attributes)


def write_object(context: Context, table: FieldTable, item: Any) -> dict[str, Any]:
    """The fields that say what a part of the IR is, but for those that it has by default."""
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
        if value is not OMIT and not is_same(value, usual.get(attribute, OMIT)):
            written[name] = field.form.write(context, value)
    return {name: part for name, part in written.items() if part is not OMIT}


@cache
def defaults(maker: Any) -> dict[str, Any]:
    """The attributes of a class of the IR with their defaults, but for the place in the text."""
    return {item.name: item.default for item in fields(maker) if item.name != "place"}


def report_unknown(context: Context, entry: Entry, table: FieldTable, at: Location) -> None:
    message = f"{at.owner} has no field {entry.name[:60]!r}"
    advice = suggest(entry.name, shown_names(table))
    context.report("W004", message, entry.key.span, label="unknown field", help=advice)


def shown_names(table: FieldTable) -> list[str]:
    """The names of the fields that people write."""
    return [name for name, field in table.items() if not field.rare]


def schema_of(table: FieldTable) -> dict[str, Json]:
    required: list[Json] = [name for name, field in table.items() if field.required]
    properties: dict[str, Json] = {
        name: {"description": field.doc, **field.form.schema()} for name, field in table.items()
    }
    schema: dict[str, Json] = {"type": "object", "properties": properties}
    schema["additionalProperties"] = False
    return {**schema, "required": required} if required else schema
