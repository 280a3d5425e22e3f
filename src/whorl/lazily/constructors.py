"""How an object of a lazy dataclass is made: slowly at first, then by a compiled `__init__`."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_MISSING = dataclasses.MISSING
# How many objects of a class are made before its `__init__` is worth compiling.
_SLOW_MAX = 20


class Binding:
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


def compiled_init(made: type, frozen: bool, slots: bool) -> Callable[..., None]:
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
