"""What the standard library makes at once, made when it is first used: a command starts sooner.

A command that starts defines hundreds of dataclasses and makes objects of a few. The standard
library looks at all fields and compiles up to six methods for each: with it, `whorl run` starts
in twice the time (decision 10). So here fields are found when they are used, only `__init__` is
compiled, for classes that are used a lot, and the other methods are the same for all.

- `dataclass`: the same, with the options that are used here; `light_dataclass`: frozen for those
  who check types alone, for what there is a lot of.
- `regex`: a regular expression of the program itself; `later_patterns`: those of a module of
  somebody else, while it is imported.
- `TypedDict`: the types of its fields are for those who check them, and are never looked at here.
- `sha256`: of small contents without OpenSSL, which takes longer to load than they take.
- `begin_loading`, `end_loading`: what a command loads is there to stay, so that Python need not
  look for garbage in it.
"""

from __future__ import annotations

import dataclasses
import gc
import hashlib
import re
import sys
import threading
from contextlib import contextmanager
from operator import attrgetter
from reprlib import recursive_repr
from types import MemberDescriptorType
from typing import TYPE_CHECKING, Any

try:
    if sys.version_info >= (3, 12):
        from _sha2 import sha256 as _small_sha256  # type: ignore[import-not-found]
    else:
        from _sha256 import sha256 as _small_sha256  # type: ignore[import-not-found]
except ImportError:
    _small_sha256 = hashlib.sha256

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from dataclasses import Field, dataclass
    from dataclasses import dataclass as light_dataclass
    from inspect import Signature
    from typing import TypedDict

    regex = re.compile
else:

    def dataclass(cls=None, /, **options):
        """Makes a dataclass, with the options of the standard library that are used here."""
        return _made(cls, **options) if cls is not None else lambda cls: _made(cls, **options)

    def light_dataclass(cls=None, /, **options):
        """Makes a dataclass whose objects are frozen for those who check types."""
        return dataclass(cls, guarded=False, **options)

    def regex(text, flags=0):
        """What `re.compile` gives, later."""
        return _Regex(text, flags)

    class _Typed(type):
        """Makes plain dictionaries."""

        def __new__(cls, name, bases, namespace, *, total=True):
            return super().__new__(cls, name, bases, namespace)

        def __init__(cls, name, bases, namespace, *, total=True):
            super().__init__(name, bases, namespace)

        def __call__(cls, *args, **values):
            return dict(*args, **values)

    class TypedDict(metaclass=_Typed):
        """What the standard library has, for those who only check types before a program runs."""


__all__ = ["TypedDict", "begin_loading", "dataclass", "end_loading", "later_patterns"]
__all__ += ["light_dataclass", "regex", "sha256"]

_MISSING = dataclasses.MISSING
_COMPILE = re.compile
# How annotations of what is no field of an object begin, and what the standard library calls it.
_KINDS = {
    "ClassVar": dataclasses._FIELD_CLASSVAR,  # type: ignore[attr-defined]
    "InitVar": dataclasses._FIELD_INITVAR,  # type: ignore[attr-defined]
}
_NO_FIELDS = (*_KINDS, "KW_ONLY")
# How many objects of a class are made before its `__init__` is worth compiling.
_SLOW_MAX = 20
# More new objects than a command makes while it loads.
_LOADED_MAX = 200_000
_SMALL = 200_000


@dataclasses.dataclass(init=False, repr=False, eq=False)
class _Plain:
    """What a class without options has."""


def _made(
    cls: type,
    *,
    frozen: bool = False,
    slots: bool = False,
    eq: bool = True,
    repr: bool = True,  # noqa: A002 - the option's own name
    kw_only: bool = False,
    guarded: bool = True,
) -> type:
    own = dict(cls.__dict__)
    given = {name: getattr(cls, name) for name in cls.__annotations__ if hasattr(cls, name)}
    made = _with_slots(cls) if slots else _with_defaults(cls)
    methods: dict[str, Any] = {
        "__dataclass_fields__": _Fields(made, given, kw_only),
        "__dataclass_params__": _Plain.__dataclass_params__,  # type: ignore[attr-defined]
        "__match_args__": _Matched(made),
        "__init__": _init_at_first_use(made, frozen and guarded, slots),
    }
    if repr:
        methods["__repr__"] = _repr
    if frozen and guarded:
        methods |= _fixed(made)
        if slots:
            methods |= {"__getstate__": _state, "__setstate__": _restore}
    if eq:
        methods |= _compared(made, frozen)
        has_hash = "__hash__" in own and not (own["__hash__"] is None and "__eq__" in own)
        if has_hash:
            del methods["__hash__"]
    for name, method in methods.items():
        if name not in own or (name == "__hash__" and own[name] is None):
            setattr(made, name, method)
    if "__init__" not in own:
        made.__signature__ = _Signature()  # type: ignore[attr-defined]
    return made


def _with_slots(cls: type) -> type:
    """The class anew, with a slot for each of its fields that has none."""
    every = cls.__annotations__.items()
    own = [name for name, words in every if not _text(words).startswith(_NO_FIELDS)]
    namespace = {name: value for name, value in cls.__dict__.items() if name not in own}
    namespace.pop("__dict__", None)
    namespace.pop("__weakref__", None)
    taken = {name for base in cls.__mro__[1:] for name in getattr(base, "__slots__", ())}
    namespace["__slots__"] = tuple(name for name in own if name not in taken)
    made = type(cls)(cls.__name__, cls.__bases__, namespace)
    made.__qualname__ = cls.__qualname__
    return made


def _with_defaults(cls: type) -> type:
    """The class itself, whose attributes are the values that its fields have by default."""
    for name in cls.__annotations__:
        value = cls.__dict__.get(name)
        if isinstance(value, dataclasses.Field):
            if value.default is _MISSING:
                delattr(cls, name)
            else:
                setattr(cls, name, value.default)
    return cls


class _Fields:
    """The fields of a class, found when somebody asks for them."""

    def __init__(self, made: type, given: dict[str, Any], kw_only: bool) -> None:
        self._made = made
        self._given = given
        self._kw_only = kw_only

    def __get__(self, instance: object, owner: type) -> dict[str, Field[Any]]:
        made: Any = self._made
        fields: dict[str, Field[Any]] = {}
        for base in made.__mro__[:0:-1]:
            fields |= getattr(base, "__dataclass_fields__", {})
        kw_only = self._kw_only
        for name, words in made.__annotations__.items():
            if _text(words) == "KW_ONLY":
                kw_only = True
            else:
                fields[name] = self._field(name, words, kw_only)
        made.__dataclass_fields__ = fields
        return fields

    def _field(self, name: str, words: object, kw_only: bool) -> Field[Any]:
        value = self._given.get(name, _MISSING)
        if isinstance(value, MemberDescriptorType):
            value = _MISSING
        made: Any = (
            value if isinstance(value, dataclasses.Field) else dataclasses.field(default=value)
        )
        made.name, made.type = name, words
        kinds = (kind for begin, kind in _KINDS.items() if _text(words).startswith(begin))
        made._field_type = next(kinds, dataclasses._FIELD)  # type: ignore[attr-defined]
        if made.kw_only is _MISSING:
            made.kw_only = kw_only
        return made  # type: ignore[no-any-return]


def _text(words: object) -> str:
    """An annotation as it is written."""
    return words if isinstance(words, str) else repr(words).rpartition("typing.")[2]


class _Matched:
    """The names of the fields that patterns may give by their places, when somebody asks."""

    def __init__(self, made: type) -> None:
        self._made = made

    def __get__(self, instance: object, owner: type) -> tuple[str, ...]:
        fields = dataclasses.fields(self._made)
        names = tuple(field.name for field in fields if field.init and not field.kw_only)
        self._made.__match_args__ = names  # type: ignore[attr-defined, misc]
        return names


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
    # A class that says what it is for has no signature made of it.
    more: dict[str, Any] = {"__doc__": "The `__init__` of another class."}
    if hasattr(made, "__post_init__"):
        more["__post_init__"] = None
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


def _compared(made: type, frozen: bool) -> dict[str, Any]:
    values: Callable[[Any], tuple[Any, ...]] | None = None
    hashed: Callable[[Any], tuple[Any, ...]] | None = None

    def __eq__(self: Any, other: object) -> bool:  # noqa: N807
        nonlocal values
        if other.__class__ is not self.__class__:
            return NotImplemented
        if values is None:
            values = _values_of([one.name for one in dataclasses.fields(made) if one.compare])
        return bool(values(self) == values(other))

    def __hash__(self: Any) -> int:  # noqa: N807
        nonlocal hashed
        if hashed is None:
            fields = dataclasses.fields(made)
            hashed = _values_of([one.name for one in fields if _is_hashed(one)])
        return hash(hashed(self))

    return {"__eq__": __eq__, "__hash__": __hash__ if frozen else None}


def _is_hashed(field: Field[Any]) -> bool:
    return field.compare if field.hash is None else field.hash


def _values_of(names: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    if len(names) > 1:
        return attrgetter(*names)
    return lambda self: tuple(getattr(self, name) for name in names)


def _fixed(made: type) -> dict[str, Any]:
    """What keeps an object as it was made."""

    def guard(act: str, method: str) -> Callable[..., None]:
        def refuse(self: object, name: str, *value: object) -> None:
            if type(self) is made or any(one.name == name for one in dataclasses.fields(made)):
                raise dataclasses.FrozenInstanceError(f"cannot {act} field {name!r}")
            getattr(super(made, self), method)(name, *value)

        return refuse

    methods = {"__setattr__": "assign to", "__delattr__": "delete"}
    return {method: guard(act, method) for method, act in methods.items()}


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
        found = getattr(_COMPILE(*self._given), name)
        setattr(self, name, found)
        return found


@contextmanager
def later_patterns() -> Iterator[None]:
    """What a command imports meanwhile has its regular expressions compiled when first asked.

    Another thread might be given such a one, too: where there is any, nothing is changed, nor is
    it in a program that uses the library.
    """
    if gc.get_threshold()[0] != _LOADED_MAX or threading.active_count() > 1:
        yield
        return
    before = re.compile
    re.compile = regex
    try:
        yield
    finally:
        re.compile = before


def begin_loading() -> None:
    """Lets Python look for garbage much later, until `end_loading`."""
    gc.set_threshold(_LOADED_MAX, *gc.get_threshold()[1:])


def end_loading(objects: int) -> None:
    """Lets Python look for garbage among what is made from now on, after so many new objects."""
    if gc.get_threshold()[0] == _LOADED_MAX:
        gc.freeze()
        gc.set_threshold(objects, *gc.get_threshold()[1:])


def sha256(content: bytes) -> Any:
    """What `hashlib.sha256` gives; OpenSSL is the faster one for what is large."""
    return hashlib.sha256(content) if len(content) > _SMALL else _small_sha256(content)
