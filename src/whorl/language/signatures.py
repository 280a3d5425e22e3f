"""Functions as data: what an entry of a library is, and how arguments become its parameters."""

from __future__ import annotations

from ast import literal_eval
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar

from whorl.language.faults import EvaluationError, LanguageError
from whorl.lazily import dataclass, regex

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

Kind: TypeAlias = Literal["filter", "test", "function", "method"]
Scalar: TypeAlias = bool | int | float | str | None
Argument = TypeVar("Argument")
_PARAMETER = regex(r"(\*{0,2}\w+|\.\.\.)(\?|=('[^']*'|[^,]+))?")
_WORDS: dict[str, Scalar] = {"": None, "none": None, "true": True, "false": False}
_WRITTEN = {"None": "none", "True": "true", "False": "false"}


@dataclass(frozen=True, slots=True)
class FunctionEntry:
    """A filter, test, function or method.

    `call` receives the run, the subject (not for functions), then one value per parameter; if
    `extra` names what may follow, also a tuple and a dict of the further arguments. A function
    that looks up a name of the scope says so in `reads`; `borrows` means that it gives a part of
    that value as it stands.
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
        """How many arguments it needs, the subject aside."""
        return len(self.required)

    @property
    def arguments_max(self) -> int | None:
        """How many arguments it takes, the subject aside; None is any number."""
        return None if self.extra else len(self.required) + len(self.optional)

    @property
    def signature(self) -> str:
        """The parameters as a reader sees them, the subject aside."""
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

        A parameter with `?` is null where it is not given; `*values` or `...` is any number more.
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
    """The error for what an entry raised, at its place in the expression."""
    if isinstance(error, LanguageError):
        return error.at(offset)
    return EvaluationError(f"{entry.kind} {entry.name!r} failed: {error}", offset)
