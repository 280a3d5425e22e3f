"""How the tables of this library are written: one line per function."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from whorl.language.entry import FunctionEntry

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.language.run import Run
    from whorl.language.values import Value

    Collected: TypeAlias = Callable[[Run, list[Value]], Value]


class Family:
    """Makes the entries of one family of functions."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(
        self, signature: str, call: Callable[..., Value], doc: str, *, reads: str = ""
    ) -> FunctionEntry:
        """Make an entry from a signature such as `substring(text, start, length?)`."""
        name, required, optional = _parameters(signature)
        return FunctionEntry(
            "function", self.name, name, call, doc, required, optional, reads=reads
        )

    def borrowing(
        self, signature: str, call: Callable[..., Value], doc: str, *, reads: str
    ) -> FunctionEntry:
        """Make an entry that gives a part of what it reads from the scope, unchanged."""
        name, required, optional = _parameters(signature)
        return FunctionEntry(
            "function", self.name, name, call, doc, required, optional, reads=reads, borrows=True
        )

    def collecting(self, signature: str, call: Collected, doc: str) -> FunctionEntry:
        """Make an entry that takes its parameters and any number after them as one list."""
        name, required, optional = _parameters(signature)
        assert not optional

        def collect(run: Run, *given: Value) -> Value:
            # After the parameters come a tuple of further arguments and a dict of named ones.
            *values, further, _named = given
            assert isinstance(further, tuple)
            return call(run, [*values, *further])

        return FunctionEntry("function", self.name, name, collect, doc, required, (), "...")


def _parameters(signature: str) -> tuple[str, tuple[str, ...], tuple[tuple[str, None], ...]]:
    name, _, rest = signature.rstrip(")").partition("(")
    names = [part.strip() for part in rest.split(",") if part.strip()]
    required = tuple(part for part in names if not part.endswith("?"))
    return name, required, tuple((part[:-1], None) for part in names if part.endswith("?"))
