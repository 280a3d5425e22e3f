"""References to the results of steps, while a workflow is written and has no values yet.

Attributes, items, comparisons and arithmetic make expressions of them, and an f-string makes a
template. Python itself cannot read the value: code that would have to is refused, with what to
write instead.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NoReturn, get_args, get_origin

from whorl.errors import UsageError, did_you_mean
from whorl.interfaces.python.values import fields_of, to_json

if TYPE_CHECKING:
    from collections.abc import Callable


class Ref:
    """The value of a step, an input or an expression over them; `make` writes it where it is used.

    `kind` is its type, as far as it is known.
    """

    __slots__ = ("_kind", "_make")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, make: Callable[[], str], kind: object = Any) -> None:
        object.__setattr__(self, "_make", make)
        object.__setattr__(self, "_kind", kind)

    def __getattr__(self, name: str) -> Ref:
        if name.startswith("__"):
            raise AttributeError(name)
        fields = fields_of(self._kind)
        if fields is not None and name not in fields:
            hint = did_you_mean(name, fields) or f"it has {', '.join(fields)}"
            raise AttributeError(f"{expression(self)} has no field {name!r}; {hint}")
        kind = Any if fields is None else fields[name]
        return Ref(lambda: f"{expression(self)}.{name}", kind)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise UsageError(
            f"{expression(self)}.{name} cannot be set: the result of a step does not change",
            help="keep what changes in the state of a loop: `polish.state.draft = ...`",
        )

    def __getitem__(self, key: Any) -> Ref:
        args = get_args(self._kind)
        is_list = isinstance(key, int) and get_origin(self._kind) in (list, tuple) and args
        kind = args[0] if is_list else (fields_of(self._kind) or {}).get(str(key), Any)
        return Ref(lambda: f"{expression(self)}[{expression(key)}]", kind)

    def __format__(self, form: str) -> str:
        if form:
            _refuse(self, f"the format {form!r}", "a template: '{{ x | round(2) }}'")
        return template(self)

    def __str__(self) -> str:
        return template(self)

    __repr__ = __str__

    def __bool__(self) -> NoReturn:  # noqa: PLE0304 - there is no value to look at
        words = "`with whorl.when(...)`, `loop.until(...)`, and & | ~ for and, or, not"
        _refuse(self, "if, while, and, or, not", words)

    def __iter__(self) -> NoReturn:
        _refuse(self, "a loop over it", "`whorl.each(function, items)`")

    def __contains__(self, item: object) -> NoReturn:
        _refuse(self, "`in`", "a function with @whorl.step")

    def __len__(self) -> NoReturn:  # noqa: PLE0303 - the same
        _refuse(self, "`len`", "a function with @whorl.step")

    def __int__(self) -> NoReturn:
        _refuse(self, "`int`", "a function with @whorl.step")

    def __float__(self) -> NoReturn:
        _refuse(self, "`float`", "a function with @whorl.step")

    def __call__(self, *args: object, **named: object) -> NoReturn:
        _refuse(self, "a call of it", "a function with @whorl.step that is given it")

    def __invert__(self) -> Ref:
        return Ref(lambda: f"(not {expression(self)})", bool)

    def __neg__(self) -> Ref:
        return Ref(lambda: f"(-{expression(self)})", self._kind)


def _two(sign: str, kind: object = None, *, turned: bool = False) -> Callable[[Ref, object], Ref]:
    def combine(self: Ref, other: object) -> Ref:
        def make() -> str:
            sides = (expression(self), expression(other))
            return f"({f' {sign} '.join(reversed(sides) if turned else sides)})"

        return Ref(make, self._kind if kind is None else kind)

    return combine


for _name, _sign in {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}.items():
    setattr(Ref, f"__{_name}__", _two(_sign, bool))
for _name, _sign in {"and": "and", "or": "or"}.items():
    setattr(Ref, f"__{_name}__", _two(_sign, bool))
    setattr(Ref, f"__r{_name}__", _two(_sign, bool, turned=True))
for _name, _sign in {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "mod": "%"}.items():
    setattr(Ref, f"__{_name}__", _two(_sign))
    setattr(Ref, f"__r{_name}__", _two(_sign, turned=True))


def _refuse(ref: Ref, what: str, instead: str) -> NoReturn:
    raise UsageError(
        f"{what} needs the value of {expression(ref)!r}, which is known only in a run",
        help=f"write {instead}",
    )


def expression(value: object) -> str:
    """Returns a value as an expression writes it; for a `Ref`, its path."""
    if isinstance(value, Ref):
        return str(value._make())
    match to_json(value):
        case None:
            return "none"
        case bool(truth):
            return "true" if truth else "false"
        case dict(table):
            pairs = (f"{json.dumps(str(name))}: {expression(item)}" for name, item in table.items())
            return f"{{{', '.join(pairs)}}}"
        case list(items):
            return f"[{', '.join(map(expression, items))}]"
        case plain:
            return json.dumps(plain, ensure_ascii=False)


def template(value: Ref) -> str:
    return f"{{{{ {expression(value)} }}}}"


def kind_of(value: object) -> object:
    return value._kind if isinstance(value, Ref) else type(value)


def written(value: object) -> object:
    """Returns a value with templates instead of what is not known yet."""
    if isinstance(value, Ref):
        return template(value)
    if hasattr(type(value), "values_now"):
        # The state of a loop.
        value = value.values_now()  # type: ignore[attr-defined]
    if isinstance(value, dict):
        return {name: written(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [written(item) for item in value]
    plain = to_json(value)
    # A dataclass or a model may hold what is not known yet.
    return written(plain) if type(plain) is not type(value) else plain
