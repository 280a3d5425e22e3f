"""Forms of fields that hold numbers: within bounds, counts, and times."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whorl import ir
from whorl.dialects.native.context import (
    Context,
    is_template,
)
from whorl.dialects.native.field_types import WRONG, Form
from whorl.dialects.reading.fields import number_of
from whorl.ir.values import parse_count, parse_duration
from whorl.lazily import dataclass

if TYPE_CHECKING:
    from whorl.language import Json
    from whorl.source import Scalar


_TEMPLATE: dict[str, Json] = {"type": "string", "pattern": r"\{[{%#]"}
_UNITS = (("h", 3_600), ("m", 60), ("s", 1))


@dataclass(eq=False, repr=False)
class Number(Form):
    """A number within bounds; with `template` a text with {{ }} may stand in its place."""

    low: float | None = None
    high: float | None = None
    whole: bool = False
    template: bool = False
    is_limit: bool = False

    def __post_init__(self) -> None:
        self.marked = self.template
        self.words = "a whole number" if self.whole else "a number"
        bounds = {"minimum": self.low, "maximum": self.high}
        given = {name: bound for name, bound in bounds.items() if bound is not None}
        self.json = {"type": "integer" if self.whole else "number", **given}
        if self.high is not None and self.low == self.high:
            self.words = f"{self.high:,}"
        elif self.high is not None:
            self.words += f" from {self.low:,} to {self.high:,}"
        elif self.low is not None:
            self.words += f" of at least {self.low:,}"
        if self.template:
            self.json = {"anyOf": [self.json, _TEMPLATE]}

    def parse(self, context: Context, scalar: Scalar) -> Any:
        if self.template and isinstance(scalar.value, str) and is_template(scalar.value):
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


@dataclass(eq=False, repr=False)
class Duration(Form):
    """A duration such as 5s, in seconds; `template` allows a text with {{ }} in its place.

    With `is_delay` it is a value of the IR, and none is no delay at all.
    """

    template: bool = False
    is_delay: bool = False
    words = "a duration such as 250ms, 5s, 10m, 1h30m or PT5S"

    def __post_init__(self) -> None:
        self.marked = self.template
        self.json = {"type": ["string", "number"]}

    def parse(self, context: Context, scalar: Scalar) -> Any:
        if self.template and isinstance(scalar.value, str) and is_template(scalar.value):
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
    """The seconds that a scalar stands for, or WRONG."""
    if context.exact and number_of(scalar) is not None:
        return scalar.value
    try:
        return parse_duration(scalar.value)  # type: ignore[arg-type]
    except (ValueError, TypeError, AttributeError):
        return WRONG


def duration_text(seconds: float) -> str | float:
    """Seconds as 90s, 1h30m or 250ms; the number itself where no such text is exact."""
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
