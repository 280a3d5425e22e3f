"""Dataclasses and patterns that are made when they are first used: a command starts sooner.

A command that starts defines hundreds of dataclasses and makes objects of a few. The standard
library inspects all fields and compiles up to six methods for each: with it, `whorl run` starts in
twice the time (decision 10). So here the standard library makes a class when its first object is
made, and only its `__init__`; the other methods are the same for all classes. Slots and frozen
objects are for type checkers only.

`dataclass` is that of the standard library, with the options that are used here.
`regex` makes a regular expression of Whorl itself.
`later_patterns` delays those of another package's module, while it is imported.
`begin_loading` and `end_loading` keep what a command loads, so that Python need not collect it.
"""

from __future__ import annotations

import dataclasses
import gc
import re
import threading
from contextlib import contextmanager
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from dataclasses import dataclass

    regex = re.compile
else:

    def dataclass(cls=None, /, **options):
        """Makes a dataclass, with the options of the standard library that are used here."""
        return _made(cls, **options) if cls is not None else lambda cls: _made(cls, **options)

    def regex(text, flags=0):
        """Returns a pattern as `re.compile` does, but compiles it on first use."""
        return _Regex(text, flags)


__all__ = ["begin_loading", "dataclass", "end_loading", "later_patterns", "regex"]

# How many objects of a class are made before its `__init__` is worth compiling.
_SLOW_MAX = 20
_MISSING: Any = dataclasses.MISSING
_COMPILE = re.compile
# More new objects than a command makes while it loads.
_LOADED_MAX = 200_000


def _made(
    cls: type,
    *,
    frozen: bool = False,
    slots: bool = False,
    eq: bool = True,
    repr: bool = True,  # noqa: A002 - the option's own name
    kw_only: bool = False,
) -> type:
    made: Any = cls
    own = dict(cls.__dict__)
    given = {name: getattr(cls, name) for name in cls.__annotations__ if hasattr(cls, name)}
    for name, value in given.items():
        if isinstance(value, dataclasses.Field):
            if value.default is _MISSING:
                delattr(cls, name)
            else:
                setattr(cls, name, value.default)

    def like(*, init: bool) -> Any:
        """A class with these fields that the standard library makes."""
        fields: dict[str, Any] = {}
        for base in cls.__mro__[:0:-1]:
            fields |= getattr(base, "__dataclass_fields__", {})
        words = {name: field.type for name, field in fields.items()} | cls.__annotations__
        kept = {name: field for name, field in fields.items() if name not in cls.__annotations__}
        simple = _simple_fields(cls)
        # Words that it need not take apart.
        plain = dict.fromkeys(simple) if simple else words
        about = {"__annotations__": plain, "__module__": cls.__module__, "__doc__": "Its fields."}
        more = {"__post_init__": None} if hasattr(cls, "__post_init__") else {}
        twin = type(cls.__name__, (), {**kept, **given, **about, **more})
        options: dict[str, Any] = {"init": init, "repr": False, "eq": False, "kw_only": kw_only}
        like: Any = dataclasses.dataclass(**options)(twin)
        for name in simple:
            like.__dataclass_fields__[name].type = words[name]
        return like

    left, fields = _SLOW_MAX, None

    def __init__(self: object, *args: object, **named: object) -> None:  # noqa: N807
        nonlocal left, fields
        left -= 1
        fields = _simple_fields(cls) if fields is None else fields
        values = named if kw_only else dict(zip(fields, args, strict=False)) | named
        is_whole = len(values) == len(args) + len(named)
        if left < 0 or not is_whole or not _bind(self, fields, values):
            # It is used a lot, or wrongly, or is not simple: then the standard library does it.
            made.__init__ = like(init=True).__init__
            made.__init__(self, *args, **named)

    made._own_fields = _own_fields(cls.__annotations__, given)
    found = ("__dataclass_fields__", "__match_args__")
    methods: dict[str, Any] = {name: _Found(name, cls, like) for name in found}
    methods["__init__"] = __init__
    if repr:
        methods["__repr__"] = _repr
    if eq:
        methods["__eq__"], methods["__hash__"] = _compared(cls)
        if not frozen:
            methods["__hash__"] = None
    for name, method in methods.items():
        if name not in own or (name == "__hash__" and own[name] is None and "__eq__" in own):
            setattr(cls, name, method)
    return cls


def _own_fields(words: dict[str, Any], given: dict[str, Any]) -> dict[str, Any] | None:
    """Returns the fields that a class adds, with their defaults, or None if they are not simple."""
    fields: dict[str, Any] = {}
    for name, word in words.items():
        value, kind = given.get(name, _MISSING), str(word).rpartition("typing.")[2]
        is_odd = isinstance(value, dataclasses.Field) and (not value.init or value.kw_only is True)
        if is_odd or kind.startswith(("InitVar", "KW_ONLY")):
            return None
        if not kind.startswith("ClassVar"):
            fields[name] = value
    return fields


def _simple_fields(cls: type) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for base in cls.__mro__[::-1]:
        # One that the standard library has made has none.
        own = vars(base).get("_own_fields", None if "__dataclass_fields__" in vars(base) else {})
        if own is None:
            return {}
        fields |= own
    return fields


def _bind(made: Any, fields: dict[str, Any], values: dict[str, object]) -> bool:
    """Sets the fields of an object; returns False if the standard library has to do it."""
    if not fields or not values.keys() <= fields.keys():
        return False
    for name, default in fields.items():
        value: Any = values.get(name, default)
        if isinstance(value, dataclasses.Field) and name not in values:
            factory: Any = value.default_factory
            value = value.default if factory is _MISSING else factory()
        if value is _MISSING:
            return False
        object.__setattr__(made, name, value)
    if hasattr(made, "__post_init__"):
        made.__post_init__()
    return True


class _Found:
    """An attribute that the standard library makes of a class, on first access."""

    def __init__(self, name: str, made: Any, like: Callable[..., Any]) -> None:
        self._name, self._made, self._like = name, made, like

    def __get__(self, instance: object, owner: type) -> Any:
        found = self._like(init=False)
        for name in ("__dataclass_params__", "__match_args__", "__dataclass_fields__"):
            setattr(self._made, name, getattr(found, name))
        return getattr(found, self._name)


@recursive_repr()
def _repr(self: Any) -> str:
    fields = (field for field in dataclasses.fields(self) if field.repr)
    shown = (f"{field.name}={getattr(self, field.name)!r}" for field in fields)
    return f"{self.__class__.__qualname__}({', '.join(shown)})"


def _compared(made: Any) -> tuple[Callable[[Any, object], bool], Callable[[Any], int]]:
    known: dict[bool, Callable[[Any], Any]] = {}

    def of(self: Any, is_hashed: bool) -> Any:
        if is_hashed not in known:
            every = dataclasses.fields(made)
            names = [one.name for one in every if _counts(one, is_hashed)]
            several = attrgetter(*names) if len(names) > 1 else None
            known[is_hashed] = several or (lambda one: tuple(getattr(one, name) for name in names))
        return known[is_hashed](self)

    def __eq__(self: Any, other: object) -> bool:  # noqa: N807
        if other.__class__ is not self.__class__:
            return NotImplemented
        return bool(of(self, False) == of(other, False))

    return __eq__, lambda self: hash(of(self, True))


def _counts(field: dataclasses.Field[Any], is_hashed: bool) -> bool:
    return field.hash if is_hashed and field.hash is not None else field.compare


class _Regex:
    def __init__(self, text: str, flags: int) -> None:
        self._given = (text, flags)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = getattr(_COMPILE(*self._given), name)
        setattr(self, name, found)
        return found


@contextmanager
def later_patterns() -> Iterator[None]:
    """Delays the regular expressions of modules that a command imports until their first use.

    Another thread could receive such a pattern, so this does nothing if there are other threads,
    nor in a program that uses the library.
    """
    is_alone = gc.get_threshold()[0] == _LOADED_MAX and threading.active_count() == 1
    re.compile = regex if is_alone else _COMPILE
    try:
        yield
    finally:
        re.compile = _COMPILE


def begin_loading() -> None:
    """Delays Python's garbage collection until `end_loading`."""
    gc.set_threshold(_LOADED_MAX, *gc.get_threshold()[1:])


def end_loading(objects: int) -> None:
    """Collects garbage again, among newer objects only, after this many new objects."""
    if gc.get_threshold()[0] == _LOADED_MAX:
        gc.freeze()
        gc.set_threshold(objects, *gc.get_threshold()[1:])
