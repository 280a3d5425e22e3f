"""Functions as data, how they take their values, and the run that pays for an expression."""

from __future__ import annotations

from ast import literal_eval
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Literal, TypeAlias, TypeVar

from whorl.language.faults import EvaluationError, LanguageError, LimitExceeded
from whorl.language.values import (
    INTEGER_MAX,
    UNDEFINED,
    Limits,
    Scope,
    Value,
    kind_of,
    measure,
    to_json_text,
    to_text,
)
from whorl.lazily import dataclass, regex

# Functions as data: what an entry of a library is, and how arguments become its parameters.

Kind: TypeAlias = Literal["filter", "test", "function", "method"]
Scalar: TypeAlias = bool | int | float | str | None
Argument = TypeVar("Argument")
_PARAMETER = regex(r"(\*{0,2}\w+|\.\.\.)(\?|=('[^']*'|[^,]+))?")
_WORDS: dict[str, Scalar] = {"": None, "none": None, "true": True, "false": False}
_WRITTEN = {"None": "none", "True": "true", "False": "false"}


@dataclass(frozen=True, slots=True)
class FunctionEntry:
    """A filter, test, function or method.

    `call` receives the run, the subject (not for functions), then one value per parameter. If
    `extra` names further arguments, it also receives a tuple and a dict of them. A function that
    looks up a name of the scope says so in `reads`; `borrows` means that it returns a part of that
    value unchanged.
    """

    kind: Kind
    family: str
    name: str
    call: Callable[..., object]
    doc: str
    required: tuple[str, ...] = ()
    optional: tuple[tuple[str, Scalar], ...] = ()
    extra: str = ""
    reads: str = ""
    borrows: bool = False

    @property
    def arguments_min(self) -> int:
        """Return how many arguments it needs, without the subject."""
        return len(self.required)

    @property
    def arguments_max(self) -> int | None:
        """Return how many arguments it takes, without the subject; None is any number."""
        return None if self.extra else len(self.required) + len(self.optional)

    @property
    def signature(self) -> str:
        """Return the parameters as a reader sees them, without the subject."""
        written = ((name, repr(default)) for name, default in self.optional)
        defaults = [f"{name}={_WRITTEN.get(default, default)}" for name, default in written]
        further = [self.extra] if self.extra else []
        return f"{self.name}({', '.join([*self.required, *defaults, *further])})"


class Family:
    """Makes the entries of one family of functions from their signatures."""

    def __init__(self, kind: Kind, name: str) -> None:
        self.kind = kind
        self.name = name

    def __call__(
        self,
        signature: str,
        call: Callable[..., object],
        doc: str = "",
        *,
        extra: str = "",
        reads: str = "",
        borrows: bool = False,
    ) -> FunctionEntry:
        """Make an entry from a signature such as `pad(width, fill=' ', left=false, mark?)`.

        A parameter with `?` is null if it is not given; `*values` or `...` is any number more.
        Without a `doc`, the function has it as its docstring.
        """
        name, _, parameters = signature.rstrip(")").partition("(")
        required: tuple[str, ...] = ()
        optional: tuple[tuple[str, Scalar], ...] = ()
        for parameter, mark, default in _PARAMETER.findall(parameters):
            if parameter[0] in "*.":
                extra = parameter
            elif mark:
                value = _WORDS[default] if default in _WORDS else literal_eval(default)
                optional += ((parameter, value),)
            else:
                required += (parameter,)
        sentence = (call.__doc__ or "").rstrip(".")
        doc = doc or sentence[:1].lower() + sentence[1:]
        described = (self.kind, self.name, name, call, doc)
        return FunctionEntry(*described, required, optional, extra, reads, borrows)


def declare(
    family: str, *calls: Callable[..., object], borrowing: Collection[object] = ()
) -> tuple[FunctionEntry, ...]:
    """Returns functions for a library, by the names that they and their parameters have.

    The first parameter is the run. Two last ones, of which the second is called `named`, are for
    any number of further arguments. `borrowing` are those that return parts of the scope.
    """
    entries: list[FunctionEntry] = []
    for call in calls:
        names = call.__code__.co_varnames[1 : call.__code__.co_argcount]
        is_open = names[-1:] == ("named",)
        required, extra = (names[:-2], "...") if is_open else (names, "")
        entry = FunctionEntry("function", family, call.__name__, call, "", required, extra=extra)
        entries.append(replace(entry, borrows=call in borrowing))
    return tuple(entries)


def bind(
    entry: FunctionEntry,
    arguments: Sequence[Argument],
    keywords: Mapping[str, Argument],
    wrap_default: Callable[[Scalar], Argument],
) -> tuple[tuple[Argument, ...], tuple[Argument, ...], dict[str, Argument]]:
    """Sort arguments into the parameters of an entry; raise LanguageError if they do not fit."""
    names = [*entry.required, *(name for name, _ in entry.optional)]
    taken = dict(zip(names, arguments, strict=False))
    further = tuple(arguments[len(names) :])
    if further and not entry.extra:
        count = len(names)
        problem = f"takes {count or 'no'} argument{'s' * (count != 1)}, "
        raise _misfit(entry, f"{problem}{len(arguments)} were given")
    surplus: dict[str, Argument] = {}
    for name, value in keywords.items():
        if name in taken or (name not in names and not entry.extra):
            problem = "twice" if name in taken else "but has no such parameter"
            raise _misfit(entry, f"was given {name!r} {problem}")
        (taken if name in names else surplus)[name] = value
    for name in entry.required:
        if name not in taken:
            raise _misfit(entry, f"needs the argument {name!r}")
    for name, default in entry.optional:
        if name not in taken:
            taken[name] = wrap_default(default)
    return tuple(taken[name] for name in names), further, surplus


def _misfit(entry: FunctionEntry, problem: str) -> LanguageError:
    message = f"{entry.kind} {entry.name!r} {problem}"
    return LanguageError(message, help=f"its signature is {entry.signature}")


def call_entry(
    entry: FunctionEntry,
    leading: tuple[object, ...],
    arguments: Sequence[object],
    keywords: Mapping[str, object],
) -> object:
    """Call an entry on values that become known only while the expression is evaluated."""
    try:
        bound, extra, surplus = bind(entry, arguments, keywords, lambda default: default)
    except LanguageError as error:
        raise EvaluationError(error.message, error.offset, error.help) from None
    if entry.extra:
        return entry.call(*leading, *bound, extra, surplus)
    return entry.call(*leading, *bound)


# What a function of the libraries may raise; a call turns all of it into a LanguageError.
CALL_FAULTS = (LanguageError, TypeError, ValueError, ArithmeticError, LookupError, AssertionError)


def call_fault(entry: FunctionEntry, error: Exception, offset: int) -> LanguageError:
    """Return the error for an exception of an entry, at its place in the expression."""
    if isinstance(error, LanguageError):
        return error.at(offset)
    return EvaluationError(f"{entry.kind} {entry.name!r} failed: {error}", offset)


# Where a place of a text begins and ends, and what comes there.
ArgumentPosition: TypeAlias = tuple[int, int, str]
FindFunction: TypeAlias = Callable[[Kind, str], FunctionEntry]


class Meter:
    """Counts the fuel of many evaluations."""

    __slots__ = ("fuel",)

    def __init__(self) -> None:
        self.fuel = 0


class Run:
    """The state of one evaluation; it is made for it and discarded after it."""

    def __init__(self, scope: Scope, limits: Limits, find: FindFunction) -> None:
        self.scope = scope
        self.lookup = scope.lookup
        self.limits = limits
        self.find = find
        self.fuel = limits.fuel
        self.text_max = limits.text_max
        self.items_max = limits.items_max
        self.meter: Meter | None = getattr(scope, "meter", None)
        self.drawn = 0
        self.emitted = 0
        self.locals: dict[str, Value] = {}

    def spend(self, steps: int) -> None:
        self.fuel -= steps
        if self.fuel < 0:
            raise LimitExceeded(
                f"expression takes more than {self.limits.fuel} steps",
                help="loop over fewer items, or prepare the value in a step of its own",
            )

    def check_text(self, length: int, operation: str) -> None:
        """Refuse a text before it is built, and pay for it."""
        if length > self.text_max:
            raise LimitExceeded(
                f"{operation} would give a text of {length} characters, "
                f"more than the limit of {self.text_max}"
            )
        self.spend(length >> 6)

    def limit_text(self, length: int, operation: str) -> None:
        """Refuse a text that grows piece by piece; it is paid for when it is complete."""
        if length > self.text_max:
            self.check_text(length, operation)

    def check_items(self, count: int, operation: str) -> None:
        """Refuse a list before it is built, and pay for it."""
        if count > self.items_max:
            raise LimitExceeded(
                f"{operation} would give {count} items, more than the limit of {self.items_max}"
            )
        self.spend(count >> 2)

    def check_number(self, number: int | float | complex, operation: str) -> int | float:
        """Refuse an integer beyond 64 bits, and a number that is not finite."""
        if isinstance(number, int):
            if -INTEGER_MAX <= number <= INTEGER_MAX:
                return number
            raise LimitExceeded(f"{operation} gives an integer beyond 64 bits")
        if isinstance(number, float) and number - number == 0:
            return number
        raise EvaluationError(f"{operation} does not give a finite number")

    def draw(self) -> bytes:
        """Return 32 bytes that are new in this run; a replay returns the same ones.

        The scope says `$seed`, a text that is different for each evaluation.
        """
        seed = self.lookup("$seed")
        if not isinstance(seed, str):
            raise EvaluationError(
                "random values are not allowed here: a value that is evaluated again must stay the "
                "same"
            )
        # OpenSSL takes long to load, and few expressions draw.
        import hashlib

        self.drawn += 1
        return hashlib.sha256(f"{seed}\n{self.drawn}".encode("utf-8", "surrogatepass")).digest()

    def weigh(self, value: Value) -> int:
        """Pay for looking at all of a value; returns its weight."""
        if isinstance(value, str):
            weight = 1 + (len(value) >> 6)
        elif isinstance(value, list | dict):
            weight = measure(value, self.limits)
        else:
            return 1
        self.spend(weight)
        return weight

    def pay(self, value: Value) -> Value:
        """Pay for the length of a value and check it; its parts are not visited."""
        if isinstance(value, str):
            if len(value) > 63:
                self.check_text(len(value), "expression")
        elif isinstance(value, list | dict):
            self.check_items(len(value), "expression")
        elif isinstance(value, int | float):
            self.check_number(value, "expression")
        return value

    def read(self, value: Value, pay: Callable[[Run, Value], Value]) -> Value:
        """Pay for a value that a function reads or passes on; a text that it makes is limited."""
        if isinstance(value, str) and len(value) > self.text_max:
            self.spend((self.text_max >> 6) + (len(value) >> 9))
            return value
        return pay(self, value)

    def text(self, value: Value) -> str:
        """Turn a value into text, within the limits."""
        if isinstance(value, str):
            return value
        if isinstance(value, list | dict):
            return self.json_text(value)
        if value is None or value is UNDEFINED or isinstance(value, bool | int | float):
            return to_text(value)
        raise EvaluationError(f"{kind_of(value)} cannot be printed")

    def fill(self, template: str, places: Iterable[ArgumentPosition], operation: str) -> str:
        """Replace places of a text; it is refused while it grows, and paid for when it is done."""
        pieces: list[str] = []
        size = end = 0
        for start, stop, filled in places:
            pieces += (template[end:start], filled)
            size += start - end + len(filled)
            self.limit_text(size, operation)
            end = stop
        self.check_text(size + len(template) - end, operation)
        return "".join(pieces) + template[end:]

    def json_text(self, value: Value, indent: int | None = None) -> str:
        """Write a value as JSON, within the limits."""
        parts = measure(value, self.limits, self.text_max)
        self.spend(parts)
        if indent is not None:
            self.check_text(parts * indent, "indented JSON")
        text = to_json_text(value, indent)
        self.check_text(len(text), "JSON")
        return text


def items(value: Value, operation: str) -> list[Value]:
    """Return what can be looped over as a list: items, keys or characters; nothing of nothing.

    The list may be the value itself and must not be changed.
    """
    if isinstance(value, list):
        return value
    if isinstance(value, dict | str):
        return list(value)
    if value is UNDEFINED or value is None:
        return []
    raise EvaluationError(f"{operation} needs a list, not {kind_of(value)}")


def paid_items(run: Run, value: Value, operation: str) -> list[Value]:
    """Return the items of a value that a function will visit one by one, and pay for the visits."""
    if isinstance(value, str) and len(value) > run.items_max:
        run.check_items(len(value), operation)
    parts = items(value, operation)
    run.check_items(len(parts), operation)
    run.spend(len(parts))
    return parts


def whole(value: Value, operation: str, argument: str) -> int:
    if isinstance(value, int):
        return int(value)
    raise EvaluationError(f"{operation} needs a whole number as {argument!r}, not {kind_of(value)}")


def positive(value: Value, operation: str, argument: str) -> int:
    number = whole(value, operation, argument)
    if number < 1:
        raise EvaluationError(f"{operation} needs a number above 0 as {argument!r}, not {number}")
    return number


def number(value: Value, operation: str) -> int | float:
    if isinstance(value, int | float):
        return value
    raise EvaluationError(f"{operation} needs a number, not {kind_of(value)}")


def text(value: Value, operation: str, argument: str) -> str:
    if isinstance(value, str):
        return value
    raise EvaluationError(f"{operation} needs a text as {argument!r}, not {kind_of(value)}")
