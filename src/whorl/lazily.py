"""What the standard library makes at once, made when it is first used: a command starts sooner.

- `dataclass`: a command that starts defines hundreds of such classes and makes objects of a few.
  The standard library compiles up to six methods for each; here only `__init__` is compiled, for
  classes that are used a lot, and the others are the same few functions for all.
- `regex`: a regular expression of the program itself, compiled when it is first asked.
"""

from __future__ import annotations

import dataclasses
import re
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from dataclasses import Field, dataclass
    from inspect import Signature

    regex = re.compile
else:

    def dataclass(cls=None, /, **options):
        """Makes a dataclass, with the options of the standard library that are used here."""
        return _made(cls, **options) if cls is not None else lambda cls: _made(cls, **options)

    def regex(text, flags=0):
        """What `re.compile` gives, later."""
        return _Regex(text, flags)


__all__ = ["dataclass", "regex"]

_MISSING = dataclasses.MISSING
# How many objects of a class are made before its `__init__` is worth compiling.
_SLOW_MAX = 20


def _made(
    cls: type,
    *,
    frozen: bool = False,
    slots: bool = False,
    eq: bool = True,
    repr: bool = True,  # noqa: A002 - the option's own name
    kw_only: bool = False,
) -> type:
    own = dict(cls.__dict__)
    plain: Callable[[type], type] = dataclasses.dataclass(
        init=False, repr=False, eq=False, slots=slots, kw_only=kw_only
    )
    made = plain(cls)
    fields = dataclasses.fields(made)
    methods: dict[str, Any] = {"__init__": _init_at_first_use(made, frozen, slots)}
    if repr:
        methods["__repr__"] = _repr
    if frozen:
        methods |= _fixed(made, frozenset(field.name for field in fields))
        if slots:
            methods |= {"__getstate__": _state, "__setstate__": _restore}
    if eq:
        methods |= _compared(fields, frozen)
        has_hash = "__hash__" in own and not (own["__hash__"] is None and "__eq__" in own)
        if has_hash:
            del methods["__hash__"]
    for name, method in methods.items():
        if name not in own or (name == "__hash__" and own[name] is None):
            setattr(made, name, method)
    if "__init__" not in own:
        made.__signature__ = _Signature()  # type: ignore[attr-defined]
    return made


class _Signature:
    """What inspect asks a class for: its `__init__` as it will be."""

    def __get__(self, instance: object, owner: type) -> Signature:
        import inspect

        made = next(base for base in owner.__mro__ if "__init__" in base.__dict__)
        init = made.__init__  # type: ignore[misc]
        found = inspect.signature(getattr(init, "compiled", lambda: init)())
        return found.replace(parameters=list(found.parameters.values())[1:])


def _init_at_first_use(made: type, frozen: bool, slots: bool) -> Callable[..., None]:
    """An `__init__` that does its work slowly at first, and has itself compiled if it is used."""
    binding: _Binding | None = None

    def compiled() -> Callable[..., None]:
        init = _compiled_init(made, frozen, slots)
        if made.__init__ is first:  # type: ignore[misc]
            made.__init__ = init  # type: ignore[misc]
        return init

    def first(self: object, *args: object, **named: object) -> None:
        nonlocal binding
        if binding is None:
            binding = _Binding(made, slots)
        if not binding.bind(self, args, named):
            # It is used a lot, or wrongly, and then the standard library says so.
            compiled()(self, *args, **named)

    first.compiled = compiled  # type: ignore[attr-defined]
    first.__qualname__ = f"{made.__qualname__}.__init__"
    return first


class _Binding:
    """Sets the fields of an object from what its class was called with."""

    def __init__(self, made: type, slots: bool) -> None:
        every = made.__dataclass_fields__.values()  # type: ignore[attr-defined]
        self._fields = [one for one in every if one._field_type.name != "_FIELD_CLASSVAR"]
        given = [one for one in self._fields if one.init]
        self._positional = [one.name for one in given if not one.kw_only]
        self._names = {one.name for one in given}
        self._needed = {
            one.name for one in given if one.default is _MISSING and one.default_factory is _MISSING
        }
        self._slots = slots
        self._has_more = hasattr(made, "__post_init__")
        self._left = _SLOW_MAX

    def bind(self, made: Any, args: tuple[object, ...], named: dict[str, object]) -> bool:
        """Whether that was done."""
        self._left -= 1
        values = dict(zip(self._positional, args, strict=False)) | named
        is_right = len(values) == len(args) + len(named) and self._needed <= values.keys()
        if self._left < 0 or not is_right or not values.keys() <= self._names:
            return False
        passed = []
        for field in self._fields:
            if field.name in values:
                value = values[field.name]
            elif field.default_factory is not _MISSING:
                value = field.default_factory()
            elif field.default is not _MISSING and (field.init or self._slots):
                value = field.default
            else:
                continue
            if field._field_type.name == "_FIELD_INITVAR":
                passed.append(value)
            else:
                object.__setattr__(made, field.name, value)
        if self._has_more:
            made.__post_init__(*passed)
        return True


def _compiled_init(made: type, frozen: bool, slots: bool) -> Callable[..., None]:
    """The `__init__` that the standard library would have made."""
    fields: list[tuple[str, Any, Any]] = []
    for name, one in made.__dataclass_fields__.items():  # type: ignore[attr-defined]
        kind = one._field_type.name
        if kind == "_FIELD_CLASSVAR":
            continue
        copied = dataclasses.field(
            default=one.default,
            default_factory=one.default_factory,
            init=one.init,
            kw_only=one.kw_only,
        )
        fields.append((name, dataclasses.InitVar if kind == "_FIELD_INITVAR" else object, copied))
    more = {"__post_init__": None} if hasattr(made, "__post_init__") else {}
    like = dataclasses.make_dataclass(
        made.__name__, fields, namespace=more, repr=False, eq=False, frozen=frozen, slots=slots
    )
    init: Callable[..., None] = like.__init__  # type: ignore[misc]
    init.__qualname__ = f"{made.__qualname__}.__init__"
    return init


@recursive_repr()
def _repr(self: Any) -> str:
    shown = (
        f"{field.name}={getattr(self, field.name)!r}"
        for field in dataclasses.fields(self)
        if field.repr
    )
    return f"{self.__class__.__qualname__}({', '.join(shown)})"


def _compared(fields: tuple[Field[Any], ...], frozen: bool) -> dict[str, Any]:
    values = _values_of([field.name for field in fields if field.compare])
    hashed = [
        field.name for field in fields if (field.compare if field.hash is None else field.hash)
    ]
    hashed_values = _values_of(hashed)

    def __eq__(self: Any, other: object) -> bool:  # noqa: N807
        if other.__class__ is not self.__class__:
            return NotImplemented
        return bool(values(self) == values(other))

    def __hash__(self: Any) -> int:  # noqa: N807
        return hash(hashed_values(self))

    return {"__eq__": __eq__, "__hash__": __hash__ if frozen else None}


def _values_of(names: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    if len(names) > 1:
        return attrgetter(*names)
    return lambda self: tuple(getattr(self, name) for name in names)


def _fixed(made: type, names: frozenset[str]) -> dict[str, Any]:
    """What keeps an object as it was made."""

    def __setattr__(self: object, name: str, value: object) -> None:  # noqa: N807
        if type(self) is made or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        super(made, self).__setattr__(name, value)  # type: ignore[arg-type]

    def __delattr__(self: object, name: str) -> None:  # noqa: N807
        if type(self) is made or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        super(made, self).__delattr__(name)  # type: ignore[arg-type]

    return {"__setattr__": __setattr__, "__delattr__": __delattr__}


def _state(self: Any) -> list[Any]:
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _restore(self: Any, state: list[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=False):
        object.__setattr__(self, field.name, value)


class _Regex:
    def __init__(self, text: str, flags: int) -> None:
        self._given = (text, flags)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = getattr(re.compile(*self._given), name)
        # It is looked up once.
        setattr(self, name, found)
        return found
