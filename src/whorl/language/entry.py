"""One function of the language as data: its name, parameters, documentation and Python code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar

from whorl.language.faults import EvaluationError, LanguageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

Kind: TypeAlias = Literal["filter", "test", "function", "method"]
Scalar: TypeAlias = bool | int | float | str | None
Argument = TypeVar("Argument")


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
        defaults = [f"{name}={_written(value)}" for name, value in self.optional]
        further = [self.extra] if self.extra else []
        return f"{self.name}({', '.join([*self.required, *defaults, *further])})"


@dataclass(frozen=True, slots=True)
class Refused:
    """A name that people expect and that the language leaves out, with the reason."""

    kind: Kind
    name: str
    reason: str


def _written(value: Scalar) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value)


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
        raise LanguageError(
            f"{entry.kind} {entry.name!r} takes {count or 'no'} argument{'s' * (count != 1)}, "
            f"{len(arguments)} were given",
            help=f"its signature is {entry.signature}",
        )
    surplus: dict[str, Argument] = {}
    for name, value in keywords.items():
        if name in taken or (name not in names and not entry.extra):
            problem = "twice" if name in taken else "but has no such parameter"
            raise LanguageError(
                f"{entry.kind} {entry.name!r} was given {name!r} {problem}",
                help=f"its signature is {entry.signature}",
            )
        (taken if name in names else surplus)[name] = value
    for name in entry.required:
        if name not in taken:
            raise LanguageError(
                f"{entry.kind} {entry.name!r} needs the argument {name!r}",
                help=f"its signature is {entry.signature}",
            )
    for name, default in entry.optional:
        if name not in taken:
            taken[name] = wrap_default(default)
    return tuple(taken[name] for name in names), further, surplus


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
