"""Forms of lists and objects, and the fields of objects: each with its place in the IR."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, fields
from typing import TYPE_CHECKING, Any, Literal

from whorl import ir
from whorl.dialects.native.context import Location
from whorl.dialects.native.forms import (
    Form,
    OneOf,
    Raw,
    report_wrong,
    texts_of,
)
from whorl.dialects.native.values import (
    NAMES,
    CannotWriteError,
    check_name,
    is_mark_of,
    is_marked,
    is_same,
    read_value,
    write_marked,
)
from whorl.errors import nearest
from whorl.ir.checks.subject import suggest
from whorl.source import Mapping, Sequence

if TYPE_CHECKING:
    from collections import abc
    from collections.abc import Callable
    from typing import TypeAlias

    from whorl.dialects.native.context import Context
    from whorl.language import Json
    from whorl.source import Entry, Value

    # What a field is where a file does not say it, given the attributes beside it.
    Derive: TypeAlias = Callable[[Context, abc.Mapping[str, Any]], Any]

# The attribute of a field whose form reads several attributes of what it stands in.
ALL = "*"
# What a form writes that has nothing to say.
OMIT: Any = object()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Field:
    """A field: what it holds, one line about it for people, and the attribute of the IR it says.

    Without an attribute it is that of the field's name; `inputs.NAME` is an input of a task. Only
    converted files need a `rare` field, so messages do not mention it. Another field says the same
    as one that is read only.
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
    """An object of known fields; with `exactly_one` it has one of them, and is what that one is.

    Without `make` it reads attributes of the object that it stands in.
    """

    title: str
    fields: FieldTable
    make: Callable[..., Any] | None = None
    exactly_one: bool = False
    rare: bool = False
    shape = Mapping

    @property
    def words(self) -> str:
        names = ", ".join(name for name, field in self.fields.items() if not field.rare)
        return f"an object with {'one of ' if self.exactly_one else ''}{names}"

    def read(self, context: Context, value: Value, at: Location) -> Any:
        if not isinstance(value, Mapping):
            report_wrong(context, value, self, at)
            return None
        owner = Location(self._owner(at), "", value.span)
        found = read_object(context, value, self.fields, owner)
        if self.exactly_one:
            self._check_one(context, value, owner, at)
            return next(iter(found.values()), None)
        return found if self.make is None else self.build(context, found)

    def build(self, context: Context, found: dict[str, Any]) -> Any:
        """The part of the IR that has these attributes; None where it lacks one."""
        assert self.make is not None
        derive(context, self.fields, found)
        needed = [name for name, default in defaults(self.make).items() if default is MISSING]
        return self.make(**found) if all(name in found for name in needed) else None

    def _owner(self, at: Location) -> str:
        if self.title == "repeat":
            return at.owner.replace("step ", "loop ", 1)
        return f"{at.field!r} of {at.owner}" if at.field else f"{self.title} of {at.owner}"

    def _check_one(self, context: Context, value: Mapping, owner: Location, at: Location) -> None:
        known = [entry for entry in value if entry.name in self.fields]
        if len(known) > 1:
            context.report(
                "W007",
                f"{owner.owner} has {known[0].name!r} and {known[1].name!r}, but takes one of them",
                known[1].key.span,
                label="one too many",
                help="write them as a list: any of them counts; {all: [...]} wants all of them",
            )
        elif not value.entries:
            report_wrong(context, value, self, at)

    def write(self, context: Context, value: Any) -> Any:
        return write_object(context, self.fields, value)

    def own_schema(self) -> dict[str, Json]:
        count: dict[str, Json] = {"minProperties": 1, "maxProperties": 1}
        return {**schema_of(self.fields), **(count if self.exactly_one else {})}


@dataclass(eq=False, repr=False)
class Short(OneOf):
    """An object, or right in its place the field of it that says most."""

    forms: tuple[Form, ...] = ()
    name: str = ""

    @property
    def long(self) -> Object:
        """The object."""
        found = self.forms[-1]
        assert isinstance(found, Object)
        return found

    def read(self, context: Context, value: Value, at: Location) -> Any:
        found = super().read(context, value, at)
        if found is None or (isinstance(value, Mapping) and not is_marked(context, value)):
            return found
        attributes = {self.long.fields[self.name].attribute or self.name: found}
        return attributes if self.long.make is None else self.long.build(context, attributes)

    def write(self, context: Context, value: Any) -> Any:
        written = self.long.write(context, value)
        if list(written) != [self.name]:
            return written
        short = written[self.name]
        is_mark = self.forms[0].marked and context.exact
        return written if isinstance(short, dict) and not is_mark else short


def short(name: str, long: Object, form: Form | None = None) -> Short:
    """The form of an object for which one of its fields may stand alone."""
    return Short((form or long.fields[name].form, long), name)


@dataclass(eq=False, repr=False)
class ListOf(Form):
    """A list."""

    item: Form
    least: int = 0
    shape = Sequence

    @property
    def words(self) -> str:
        return "a list"

    def read(self, context: Context, value: Value, at: Location) -> Any:
        if not isinstance(value, Sequence) or len(value) < self.least:
            report_wrong(context, value, self, at)
            return None
        found = [self.item.read(context, item, at) for item in value if not context.is_full]
        return tuple(one for one in found if one is not None)

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
        found = super().read(context, value, at)
        return None if found is None else read_value(context, value)

    def write(self, context: Context, value: Any) -> Any:
        written = self.item.write(context, value)
        if not isinstance(written, list) or len(written) < self.least:
            raise CannotWriteError(value)
        return written


class Texts(OneOf):
    """A text or a list of them."""

    def read(self, context: Context, value: Value, at: Location) -> Any:
        found = super().read(context, value, at)
        return None if found is None else texts_of(value)

    def write(self, context: Context, value: Any) -> Any:
        if not isinstance(value, tuple):
            raise CannotWriteError(value)
        return value[0] if len(value) == 1 else list(value)


@dataclass(eq=False, repr=False)
class MapOf(Form):
    """An object whose keys the author chooses: names for expressions, names, or any texts.

    It is read as pairs, or as whatever `make` makes of a name and a value; a wrong value, which is
    told, is left out or taken for another one.
    """

    value: Form
    what: str = "an object"
    names: Literal["plain", "dashed", "any"] = "plain"
    least: int = 0
    make: Callable[[str, Any], Any] | None = None
    if_wrong: Any = None
    shape = Mapping

    @property
    def words(self) -> str:
        return self.what

    def read(self, context: Context, value: Value, at: Location) -> Any:
        if is_marked(context, value):
            return self._made(getattr(read_value(context, value), "entries", ()))
        if not isinstance(value, Mapping) or len(value) < self.least:
            report_wrong(context, value, self, at)
            return None
        found: list[tuple[str, Any]] = []
        for entry in value:
            if self.names != "any":
                check_name(context, entry.key, f"a name in {at.words}", self.names)
            inner = Location(f"{at.field!r} of {at.owner}", entry.name, entry.key.span)
            read = self.value.read(context, entry.value, inner)
            found.append((entry.name, self.if_wrong if read is None else read))
        return self._made(tuple(pair for pair in found if pair[1] is not None))

    def _made(self, pairs: tuple[tuple[Any, Any], ...]) -> tuple[Any, ...]:
        return pairs if self.make is None else tuple(self.make(*pair) for pair in pairs)

    def write(self, context: Context, value: Any) -> Any:
        pairs = [one if isinstance(one, tuple) else (one.name, one) for one in value]
        names = [name for name, _ in pairs if isinstance(name, str)]
        is_mark = context.exact and is_mark_of(names)
        if len(set(names)) == len(pairs) and len(pairs) >= self.least and not is_mark:
            return {name: self.value.write(context, one) for name, one in pairs}
        return write_marked(context, ir.Fields(tuple(pairs)))

    def own_schema(self) -> dict[str, Json]:
        schema: dict[str, Json] = {
            "type": "object",
            "additionalProperties": self.value.schema(),
        }
        if self.names != "any":
            schema["propertyNames"] = {"pattern": f"^{NAMES[self.names]}$"}
        if self.least:
            schema["minProperties"] = self.least
        return schema


class FieldsOf(MapOf):
    """An object whose values may hold expressions, as Fields of the IR."""

    gives_value = True

    def read(self, context: Context, value: Value, at: Location) -> Any:
        found = super().read(context, value, at)
        return None if found is None else ir.Fields(found)

    def write(self, context: Context, value: Any) -> Any:
        if not isinstance(value, ir.Fields):
            raise CannotWriteError(value)
        return super().write(context, value.entries)


def read_object(
    context: Context, value: Mapping, known: FieldTable, at: Location
) -> dict[str, Any]:
    """Reads the fields of an object into attributes; what is unknown, wrong or missing is told.

    Steps come first: what stands beside them may speak of them.
    """
    found: dict[str, Any] = {}
    has_steps = "steps" in value
    for entry in sorted(value, key=lambda one: one.name != "steps") if has_steps else value:
        field = known.get(entry.name)
        if context.is_full:
            break
        if field is None:
            report_unknown(context, entry, known, at)
            continue
        read = _read_field(context, entry, field, at)
        if read is not None:
            found.update(read)
    missing = [name for name, field in known.items() if field.required and name not in value]
    unknown = [entry.name for entry in value if entry.name not in known] if missing else []
    misspelt = {nearest(name, shown_names(known)) for name in unknown}
    for name in missing:
        if name not in misspelt:
            context.report(
                "W006",
                f"{at.owner} lacks the field {name!r}",
                at.span,
                label=f"{name!r} is missing",
                help=f"add {name!r}: {known[name].doc}",
            )
    return found


def _read_field(
    context: Context, entry: Entry, field: Field, at: Location
) -> dict[str, Any] | None:
    inner = Location(at.owner, entry.name, entry.key.span)
    is_input = field.attribute.startswith("inputs.")
    if is_input and not field.form.gives_value and is_marked(context, entry.value):
        return {field.attribute: read_value(context, entry.value)}
    read = field.form.read(context, entry.value, inner)
    if (read is None and not isinstance(field.form, Raw)) or field.attribute == ALL:
        return read  # type: ignore[no-any-return]
    if is_input and not field.form.gives_value:
        read = read_value(context, entry.value)
    return {field.attribute or entry.name: read}


def derive(context: Context, known: FieldTable, found: dict[str, Any]) -> None:
    """Adds the attributes that follow from others where a file does not say them."""
    for name, field in known.items():
        attribute = field.attribute or name
        if field.derive is not None and attribute not in found:
            found[attribute] = field.derive(context, found)


def write_object(context: Context, known: FieldTable, item: Any) -> dict[str, Any]:
    """The fields that say what a part of the IR is, but for those that it has by default."""
    attributes = {one: getattr(item, one) for one in defaults(type(item))}
    usual = dict(defaults(type(item)))
    written: dict[str, Any] = {}
    for name, field in known.items():
        attribute = field.attribute or name
        if field.is_read_only:
            continue
        value = item if attribute == ALL else attributes.get(attribute, OMIT)
        if field.derive is not None:
            usual[attribute] = field.derive(context, attributes)
        if value is not OMIT and not is_same(value, usual.get(attribute, OMIT)):
            written[name] = field.form.write(context, value)
    return {name: one for name, one in written.items() if one is not OMIT}


_DEFAULTS: dict[Any, dict[str, Any]] = {}


def defaults(maker: Any) -> dict[str, Any]:
    """The attributes of a class of the IR with their defaults, but for the place in the text."""
    if maker not in _DEFAULTS:
        found = {one.name: one.default for one in fields(maker) if one.name != "place"}
        _DEFAULTS[maker] = found
    return _DEFAULTS[maker]


def report_unknown(context: Context, entry: Entry, known: FieldTable, at: Location) -> None:
    """Reports a field that an object does not have."""
    context.report(
        "W004",
        f"{at.owner} has no field {entry.name[:60]!r}",
        entry.key.span,
        label="unknown field",
        help=suggest(entry.name, shown_names(known)),
    )


def shown_names(known: FieldTable) -> list[str]:
    """The names of the fields that people write."""
    return [name for name, field in known.items() if not field.rare]


def schema_of(known: FieldTable) -> dict[str, Json]:
    """The JSON Schema of an object with these fields."""
    required: list[Json] = [name for name, field in known.items() if field.required]
    properties: dict[str, Json] = {
        name: {"description": field.doc, **field.form.schema()} for name, field in known.items()
    }
    schema: dict[str, Json] = {
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
    }
    return {**schema, "required": required} if required else schema
