"""What is made when it is first used is what the standard library makes at once."""

from __future__ import annotations

import copy
import dataclasses
import gc
import pkgutil
import re
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import KW_ONLY, InitVar, field
from importlib import import_module
from typing import Any, ClassVar

import pytest

import whorl
from whorl import lazily

BOTH = [dataclasses.dataclass, lazily.dataclass]


def classes(decorator: Any) -> dict[str, Any]:
    """The same classes, made by one decorator."""

    @decorator(frozen=True, slots=True)
    class Point:
        x: int
        y: int = 2
        seen: list[int] = field(default_factory=list, compare=False, repr=False)

    @decorator(frozen=True, slots=True, kw_only=True)
    class Named:
        name: str
        size: float = 1.0
        rest: list[int] = field(default_factory=list, hash=False)

    @decorator(slots=True)
    class Counter:
        unit: ClassVar[str] = "s"
        count: int = 0
        doubled: int = field(init=False, default=7)
        parts: dict[str, int] = field(default_factory=dict)

    @decorator(eq=False)
    class Given:
        base: InitVar[int]
        _: KW_ONLY
        more: int = 1

        def __post_init__(self, base: int) -> None:
            self.total = base + self.more

    @decorator(frozen=True, slots=True)
    class Own:  # noqa: PLW1641 - the decorator makes it
        value: int

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Own)

        def __repr__(self) -> str:
            return "own"

    @decorator(frozen=True)
    class Base:
        a: int

    @decorator(frozen=True)
    class Below(Base):
        b: int = 3

    @decorator(slots=True)
    class Narrow(Counter):
        count: int
        more: list[int] = field(default_factory=list)

    @decorator(frozen=True)
    class Again(Below):
        a: int = field(default=4, repr=False)
        b: int

    every = (Point, Named, Counter, Given, Own, Base, Below, Narrow, Again)
    return {one.__name__: one for one in every}


def told(action: Any) -> Any:
    """What an action gives, or what it raises."""
    try:
        return action()
    except Exception as fault:
        return type(fault)


ACTIONS: dict[str, Any] = {
    "defaults": lambda c: repr(c["Point"](1)).rpartition(".")[2],
    "by name": lambda c: repr(c["Point"](y=5, x=1)).rpartition(".")[2],
    "missing": lambda c: c["Point"](),
    "too many": lambda c: c["Named"]("a"),
    "unknown": lambda c: c["Point"](1, z=1),
    "twice": lambda c: c["Point"](1, x=1),
    "a list of its own": lambda c: c["Point"](1).seen is c["Point"](1).seen,
    "named": lambda c: c["Named"](name="a").size,
    "equal": lambda c: c["Point"](1, 2, [1]) == c["Point"](1, 2, [2]),
    "unequal": lambda c: c["Point"](1) == c["Point"](2),
    "other class": lambda c: c["Point"](1) == c["Named"](name="a"),
    "one field": lambda c: c["Base"](float("nan")) == c["Base"](float("nan")),
    "hash": lambda c: hash(c["Point"](1)) == hash(c["Point"](1, 2)),
    "hash of a part": lambda c: len({c["Named"](name="a"), c["Named"](name="a", rest=[1])}),
    "no hash": lambda c: hash(c["Counter"]()),
    "factory": lambda c: c["Counter"]().parts is c["Counter"]().parts,
    "no init": lambda c: c["Counter"](1).doubled,
    "init only": lambda c: c["Given"](2, more=3).total,
    "identity": lambda c: c["Given"](2) == c["Given"](2),
    "own methods": lambda c: (c["Own"](1) == c["Own"](2), repr(c["Own"](1))),
    "own equality, no hash": lambda c: hash(c["Own"](1)) == hash(c["Own"](1)),
    "inherited": lambda c: dataclasses.astuple(c["Below"](1)),
    "replaced": lambda c: dataclasses.replace(c["Point"](1), y=9).y,
    "as a dictionary": lambda c: dataclasses.asdict(c["Counter"](2)),
    "copied": lambda c: copy.deepcopy(c["Point"](1, 2, [3])).seen,
    "matched": lambda c: c["Point"].__match_args__,
    "a default of below": lambda c: repr(c["Again"]()),
    "a field again": lambda c: [one.default for one in dataclasses.fields(c["Again"])],
    "fields": lambda c: [one.name for one in dataclasses.fields(c["Given"])],
}


@pytest.mark.parametrize("name", ACTIONS)
def test_they_do_the_same(name: str) -> None:
    theirs, ours = (classes(decorator) for decorator in BOTH)

    # At first and, compiled, later.
    for _ in range(30):
        assert told(lambda: ACTIONS[name](ours)) == told(lambda: ACTIONS[name](theirs))


@pytest.mark.slow
def test_the_standard_library_finds_the_same_fields_in_every_class_of_the_package() -> None:
    found = set()
    for module in pkgutil.walk_packages(whorl.__path__, "whorl."):
        if module.name.endswith("__main__"):
            continue
        with suppress(ImportError):
            found |= {one for one in vars(import_module(module.name)).values() if _is_ours(one)}
    assert len(found) > 300
    for one in found:
        every = one.__dataclass_fields__
        own = {name: every[name] for name in one.__annotations__ if name in every}
        own = {
            name: each for name, each in own.items() if each._field_type.name != "_FIELD_CLASSVAR"
        }
        assert shown(made_by_others(one)) == shown(own), one


def made_by_others(one: Any) -> dict[str, Any]:
    """The fields that the standard library finds where a class has the same annotations."""
    given = {
        name: dataclasses.field(
            default=each.default,
            default_factory=each.default_factory,
            init=each.init,
            repr=each.repr,
            compare=each.compare,
            kw_only=each.kw_only,
        )
        for name, each in one.__dataclass_fields__.items()
        if name in one.__annotations__ and each._field_type.name == "_FIELD"
    }
    words = {"__annotations__": one.__annotations__, "__module__": one.__module__}
    like: Any = dataclasses.dataclass(init=False)(type(one.__name__, (), given | words))
    found = like.__dataclass_fields__.items()
    return {name: each for name, each in found if each._field_type.name != "_FIELD_CLASSVAR"}


def shown(fields: dict[str, Any]) -> list[tuple[Any, ...]]:
    return [(one.name, one.type, one._field_type.name) for one in fields.values()]


def _is_ours(found: object) -> bool:
    return (
        isinstance(found, type)
        and found.__module__.startswith("whorl.")
        and dataclasses.is_dataclass(found)
    )


LATER = """
import re
import subprocess
import sys
from whorl import lazily
compiled = re.compile
with lazily.later_patterns():
    assert re.compile is compiled  # in a program that uses the library
lazily.begin_loading()
with lazily.later_patterns():
    wrong = re.compile("(")
    right = re.compile("a+", re.IGNORECASE)
assert re.compile is compiled
assert right.match("AA") is not None
try:
    wrong.match("")
except re.error:
    print("refused")
"""


def test_what_is_imported_meanwhile_compiles_its_patterns_when_it_uses_them() -> None:
    """In a process of its own: threads that other tests have left would keep it from that."""
    ended = subprocess.run(
        [sys.executable, "-c", LATER], check=False, capture_output=True, text=True
    )

    assert (ended.stdout, ended.stderr) == ("refused\n", "")


def test_patterns_are_compiled_at_once_where_another_thread_could_be_given_one() -> None:
    end = threading.Event()
    other = threading.Thread(target=end.wait)
    other.start()
    thresholds = gc.get_threshold()
    lazily.begin_loading()
    try:
        with lazily.later_patterns():
            found = re.compile("a+")
    finally:
        gc.set_threshold(*thresholds)
        end.set()
        other.join()

    assert isinstance(found, re.Pattern)
