"""What a field can hold, as data: the structure check and the editors' schema both come from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, eq=False)
class Text:
    """A text; where it is `needed`, one that holds more than spaces."""

    words: str = "a text"
    needed: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Condition:
    """A Jinja expression: a text, or true or false."""

    words: str = "an expression such as review.approved"


@dataclass(frozen=True, slots=True, eq=False)
class Number:
    """A number within bounds; `template` allows a text with {{ }} in its place.

    `code` is what a number out of bounds is reported as.
    """

    low: float | None = None
    high: float | None = None
    whole: bool = False
    template: bool = False
    code: Literal["W007", "W015"] = "W007"

    @property
    def words(self) -> str:
        """What is expected, for people."""
        kind = "a whole number" if self.whole else "a number"
        if self.low is None:
            return kind
        if self.high is None:
            return f"{kind} of at least {self.low:,}"
        return f"{kind} from {self.low:,} to {self.high:,}"


@dataclass(frozen=True, slots=True, eq=False)
class Truth:
    """True or false."""

    words: str = "true or false"


@dataclass(frozen=True, slots=True, eq=False)
class Nothing:
    """A field without a value."""

    words: str = "nothing"


@dataclass(frozen=True, slots=True, eq=False)
class Duration:
    """A duration such as 5s; `template` allows a text with {{ }} in its place."""

    template: bool = False
    words: str = "a duration such as 250ms, 5s, 10m, 1h30m or PT5S"


@dataclass(frozen=True, slots=True, eq=False)
class Moment:
    """A duration or a point in time."""

    words: str = "a duration such as 5s or PT5S, or a time such as 2030-01-31T09:00:00Z"


@dataclass(frozen=True, slots=True, eq=False)
class Count:
    """A positive whole number, also as 100k."""

    words: str = "a whole number such as 5000 or 100k"


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """One of a few words."""

    options: tuple[str, ...]

    @property
    def words(self) -> str:
        """What is expected, for people."""
        return "one of " + ", ".join(self.options) if len(self.options) > 1 else self.options[0]


@dataclass(frozen=True, slots=True, eq=False)
class Anything:
    """Any JSON value, with templates in its texts."""

    words: str = "any value"


@dataclass(frozen=True, slots=True, eq=False)
class ListOf:
    """A list."""

    item: Form
    least: int = 0

    @property
    def words(self) -> str:
        """What is expected, for people."""
        return "a list"


@dataclass(frozen=True, slots=True, eq=False)
class MapOf:
    """An object whose keys the author chooses: names for expressions, names, or any texts."""

    value: Form
    what: str = "an object"
    names: Literal["plain", "dashed", "any"] = "plain"
    least: int = 0

    @property
    def words(self) -> str:
        """What is expected, for people."""
        return self.what


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """A field: what it holds, and one line about it for people."""

    form: Form
    doc: str
    required: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Object:
    """An object of known fields; with `exactly_one` it has one of them and no more."""

    title: str
    fields: Mapping[str, Field]
    exactly_one: bool = False

    @property
    def words(self) -> str:
        """What is expected, for people."""
        names = ", ".join(self.fields)
        return f"an object with {'one of ' if self.exactly_one else ''}{names}"


@dataclass(frozen=True, slots=True, eq=False)
class OneOf:
    """Any of several forms, which are told apart by the kind of value."""

    forms: tuple[Form, ...]

    @property
    def words(self) -> str:
        """What is expected, for people."""
        return ", or ".join(form.words for form in self.forms)


@dataclass(frozen=True, slots=True, eq=False)
class Ref:
    """A form that is defined elsewhere, since forms contain each other."""

    name: str
    words: str


Form: TypeAlias = (
    Text
    | Condition
    | Number
    | Truth
    | Nothing
    | Duration
    | Moment
    | Count
    | Choice
    | Anything
    | ListOf
    | MapOf
    | Object
    | OneOf
    | Ref
)
