"""The arguments of functions, checked in the words of Logic Apps; how values are printed."""

from __future__ import annotations

import base64
import json
import math
import re
from dataclasses import replace
from decimal import Decimal
from functools import partial
from struct import unpack
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard, TypeVar

from whorl.language import calls
from whorl.language.faults import EvaluationError
from whorl.language.values import INTEGER_MAX, UNDEFINED, kind_of, measure, to_result, well_formed

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping
    from types import UnionType

    from whorl.language.calls import FunctionEntry, Run
    from whorl.language.values import Json, Limits, Value


Number: TypeAlias = int | float | Decimal
CallT = TypeVar("CallT", bound="Callable[..., Value]")
Check: TypeAlias = "Callable[[str, int | None, Value], Any]"

_ORDINALS = ("first", "second", "third", "fourth")
_TYPE_NAMES: dict[type, str] = {type(None): "Null", bool: "Boolean", int: "Integer", str: "String"}
_TYPE_NAMES |= {float: "Float", Decimal: "Float", list: "Array"}


def type_name(value: Value) -> str:
    """Returns the name of a value's type in Logic Apps."""
    return _TYPE_NAMES.get(type(value), "Object")


def wrong(function: str, place: int | None, wanted: str, value: Value) -> EvaluationError:
    """Returns the error of an argument of the wrong type; without a place it is the only one."""
    which = "parameter" if place is None else f"{_ORDINALS[min(place, 3)]} parameter"
    return EvaluationError(
        f"The template language function {function!r} expects its {which} to {wanted}. "
        f"The provided value is of type {type_name(value)!r}"
    )


def not_valid(function: str, reason: str) -> EvaluationError:
    """Returns the error of arguments with the right types and wrong values."""
    return EvaluationError(f"The template language function {function!r} failed: {reason}")


def is_number(value: Value) -> bool:
    """Returns whether a value is a number; a boolean does not count."""
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def _checker(kind: type | UnionType, wanted: str) -> Check:
    """Returns the check that an argument (of a function, at a place) is of a type."""

    def check(function: str, place: int | None, value: Value) -> Value:
        if isinstance(value, kind) and (kind is bool or not isinstance(value, bool)):
            return value
        raise wrong(function, place, wanted, value)

    return check


text: Callable[[str, int | None, Value], str] = _checker(str, "be of type string")
boolean: Callable[[str, int | None, Value], bool] = _checker(bool, "be of type boolean")
number: Callable[[str, int | None, Value], Number] = _checker(Number, "be a number")


def whole(function: str, place: int | None, value: Value) -> int:
    if is_number(value) and value == value // 1:  # type: ignore[operator]
        return int(value)
    raise wrong(function, place, "be an integer", value)


# The types that a signature may have after a parameter.
_CHECKS: dict[str, Check] = {
    "str": text,
    "bool": boolean,
    "int": whole,
    "numeric": _checker(str | Number, "be a string or a number"),
    "array": _checker(list, "be of type array"),
    "array_or_null": _checker(list | None, "be of type array"),
    "object": _checker(dict, "be of type object"),
    "string": _checker(str, "be a string"),
    "collection": _checker(str | list | dict | None, "be an object, an array or a string"),
    "sequence": _checker(str | list, "be an array or a string"),
}


def within_integers(function: str, result: int) -> int:
    """Returns an integer of 64 bits; raises if it does not fit."""
    if -INTEGER_MAX <= result < INTEGER_MAX:
        return result
    raise not_valid(function, "the result is an integer beyond 64 bits")


def find_key(properties: Mapping[str, Value], name: str) -> str | None:
    """Returns the key that a name means: itself, or the first that differs in case only."""
    if name in properties:
        return name
    folded = name.lower()
    return next((key for key in properties if key.lower() == folded), None)


class Family:
    """Declares the functions of one family, as a decorator.

    A signature such as `take(list:array, count?:int)` also defines the types of its arguments.
    """

    def __init__(self, name: str, **checks: Check) -> None:
        self.make = calls.Family("function", name)
        self.checks = _CHECKS | checks
        self.entries: list[FunctionEntry] = []

    def __call__(
        self,
        signature: str,
        doc: str,
        *bound: object,
        alias: str = "",
        reads: str = "",
        borrows: bool = False,
    ) -> Callable[[CallT], CallT]:
        """Declares a function; its call receives the bound values, the run and checked arguments.

        A call whose first parameter is `function` receives its own name first. If the signature
        ends in `...`, the arguments are one list. No message names an alias.
        """
        name, _, parameters = signature.rstrip(")").partition("(")
        kinds = [parameter.partition(":") for parameter in parameters.split(", ")]
        checks = [(self.checks.get(kind), parameter[-1:] == "?") for parameter, _, kind in kinds]
        plain = f"{name}({', '.join(parameter for parameter, _, _ in kinds)})"

        def declare(call: CallT) -> CallT:
            leading = (name, *bound) if call.__code__.co_varnames[:1] == ("function",) else bound
            own: Callable[..., Value] = partial(call, *leading) if leading else call
            if parameters.endswith("..."):
                own = partial(_collected, own)
            elif any(check for check, _ in checks):
                own = _checked(name, own, checks)
            made = self.make(plain, own, doc, reads=reads, borrows=borrows)
            self.entries += [made, replace(made, name=alias)] if alias else [made]
            return call

        return declare


def _collected(call: Callable[..., Value], run: Run, *given: Value) -> Value:
    # After the parameters come a tuple of further arguments and a dict of named ones.
    *values, further, _named = given
    assert isinstance(further, tuple)
    return call(run, [*values, *further])


def _checked(
    name: str, call: Callable[..., Value], checks: list[tuple[Check | None, bool]]
) -> Callable[..., Value]:
    """Returns a call that checks its arguments first; an optional one may be null."""
    kept = [(at, check, optional) for at, (check, optional) in enumerate(checks) if check]

    def checked(run: Run, *given: Value) -> Value:
        values = list(given)
        for at, check, optional in kept:
            if not optional or values[at] is not None:
                values[at] = check(name, at if len(values) > 1 else None, values[at])
        return call(run, *values)

    return checked


_SHOWN_MAX = 20


def strict_item(value: Value, key: Value) -> Value:
    """Returns `value[key]`, or raises an error that names the existing keys."""
    missing = object()
    item = forgiving_item(value, key, missing)
    if item is not missing:
        return item
    if isinstance(value, dict):
        shown = ", ".join(list(value)[:_SHOWN_MAX]) + ", ..." * (len(value) > _SHOWN_MAX)
        raise EvaluationError(
            f"property {key!r} doesn't exist, available properties are {shown!r}",
            help=f"write ?[{key!r}] if it may be missing",
        )
    if isinstance(value, list):
        bounds = f"bounds (0, {len(value) - 1}) of array"
        raise EvaluationError(f"the array index '{key}' is outside {bounds}")
    raise EvaluationError(
        f"property {str(key)[:60]!r} cannot be selected of null",
        help="write ? before the property if the value may be null",
    )


def forgiving_item(value: Value, key: Value, missing: Value = None) -> Value:
    """Returns `value?[key]`: null if it is missing."""
    if isinstance(value, dict) and isinstance(key, str):
        own = find_key(value, key)
        return missing if own is None else value[own]
    if isinstance(value, list) and isinstance(key, int) and not isinstance(key, bool):
        return value[key] if 0 <= key < len(value) else missing
    if value is None or value is UNDEFINED:
        return missing
    reason = f"Property selection is not supported on values of type {type_name(value)!r}"
    if isinstance(value, list | dict):
        reason += f" by a key of type {type_name(key)!r}"
    raise EvaluationError(reason)


def same(run: Run, left: Value, right: Value) -> bool:
    """Returns whether two values are equal; the text `true` equals true, as in JSON."""
    if isinstance(left, str) and isinstance(right, str):
        run.spend(min(len(left), len(right)) >> 8)
        return left == right
    if isinstance(left, bool) or isinstance(right, bool):
        return _as_boolean(left) == _as_boolean(right)
    if isinstance(left, list | dict) and isinstance(right, list | dict):
        run.weigh(left)
        run.weigh(right)
    return identity(left) == identity(right)


def _as_boolean(value: Value) -> Value:
    """Returns a value as a boolean for comparison: by Microsoft's documentation, 1 equals true."""
    if isinstance(value, int) and value in (0, 1):
        return bool(value)
    return {"true": True, "false": False}.get(value) if isinstance(value, str) else None


def identity(value: Value) -> Hashable:
    """Returns a key that equal values share; the caller has measured the value."""
    if isinstance(value, list):
        return ("array", tuple([identity(item) for item in value]))
    if isinstance(value, dict):
        return ("object", frozenset([(key, identity(item)) for key, item in value.items()]))
    if isinstance(value, int | float | Decimal):
        return ("boolean" if isinstance(value, bool) else "number", value)
    return value if isinstance(value, str) else None


# Values as text: what `@{}`, `concat`, `string` and `join` print, and what leaves the language.
#
# Booleans print as `True` and `False`, but as JSON does inside an array or object; a float prints
# without `.0`, but with it inside. An object that holds content (`$content-type`, `$content`)
# prints as its content.

OCTETS = "application/octet-stream"
XML = "application/xml;charset=utf-8"

_BASE64 = re.compile(r"[A-Za-z0-9+/]*={0,2}\Z")
# Names of text encodings that content may have; a decoder is never looked up by a name from data.
_CHARSETS_TEXT = (
    "utf-8=utf-8 utf8=utf-8 us-ascii=ascii ascii=ascii iso-8859-1=latin-1 latin1=latin-1 "
    "windows-1252=cp1252 utf-16=utf-16 utf-16le=utf-16-le utf-16be=utf-16-be utf-32=utf-32"
)
_CHARSETS = dict(pair.split("=") for pair in _CHARSETS_TEXT.split())

_WIDE = re.compile("[\U00010000-\U0010ffff]")
_SURROGATE = re.compile("[\ud800-\udfff]")


def envelope(content: bytes, content_type: str = OCTETS) -> dict[str, Value]:
    return {"$content-type": content_type, "$content": encode(content)}


def is_envelope(value: Value) -> TypeGuard[dict[str, Value]]:
    parts = ("$content-type", "$content")
    return isinstance(value, dict) and all(isinstance(value.get(part), str) for part in parts)


def is_xml(value: Value) -> TypeGuard[dict[str, Value]]:
    if not is_envelope(value):
        return False
    kind = str(value["$content-type"]).partition(";")[0].strip().lower()
    return kind in ("application/xml", "text/xml") or kind.endswith("+xml")


def content_bytes(run: Run, value: dict[str, Value]) -> bytes:
    return decode(run, str(value["$content"]))


def content_text(run: Run, value: dict[str, Value]) -> str:
    """Returns content as text: in the encoding that its type names, or in UTF-8."""
    content_type = str(value["$content-type"])
    if any("=" not in parameter for parameter in content_type.split(";")[1:]):
        raise EvaluationError(f"the content type {content_type!r} is not valid")
    charset = charset_named(["utf-8", *_parameter(content_type, "charset")][-1])
    return decode_text(content_bytes(run, value), charset)


def decode_text(content: bytes, encoding: str) -> str:
    """Decodes bytes; invalid ones become U+FFFD."""
    text = content.decode(encoding, "replace")
    return text.removeprefix("\ufeff") if encoding == "utf-8" else text


def _parameter(content_type: str, name: str) -> list[str]:
    """Returns the values that a content type has for a parameter."""
    pairs = (parameter.partition("=") for parameter in content_type.split(";")[1:])
    return [value.strip().strip('"') for key, _, value in pairs if key.strip().lower() == name]


def charset_named(name: str) -> str:
    encoding = _CHARSETS.get(name.lower())
    if encoding is None:
        raise EvaluationError(f"the character set {name!r} is not supported")
    return encoding


def to_units(text: str) -> str:
    """Return a text with one character for each unit of UTF-16, as .NET counts and cuts it."""
    if text.isascii() or _WIDE.search(text) is None:
        return text
    content = text.encode("utf-16-le", "surrogatepass")
    return "".join(map(chr, unpack(f"<{len(content) // 2}H", content)))


def of_units(units: str) -> str:
    """Returns the text of some units; a character that was cut becomes U+FFFD."""
    if units.isascii() or _SURROGATE.search(units) is None:
        return units
    return units.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def encode(content: bytes) -> str:
    return base64.b64encode(content).decode("ascii")


def decode(run: Run, text: str) -> bytes:
    """Reads base64, ignoring white space."""
    run.check_text(len(text), "base64")
    compact = "".join(text.split())
    if not _BASE64.match(compact) or len(compact) % 4:
        raise EvaluationError(
            "the value is not a valid base64 string", help="base64 has 4 characters for 3 bytes"
        )
    return base64.b64decode(compact)


_NAME_START = "A-Z_a-z\u00c0-\u02ff\u0370-\u1fff\u2c00-\ud7ff:"
_NOT_IN_NAME = re.compile(rf"[^{_NAME_START}\-.0-9\u00b7\u0300-\u036f]")


def encode_name(name: str) -> str:
    """Returns a name that XML allows: other characters become `_x0020_`."""
    encoded = _NOT_IN_NAME.sub(lambda match: f"_x{ord(match[0]):04X}_", name)
    if encoded and not re.match(f"[{_NAME_START}]", encoded):
        encoded = f"_x{ord(encoded[0]):04X}_{encoded[1:]}"
    return encoded


def decode_name(name: str) -> str:
    """Returns the name from which `encode_name` made this one."""
    return well_formed(re.sub(r"_x([0-9A-Fa-f]{4})_", lambda match: chr(int(match[1], 16)), name))


_PARTS_MAX = 1_000


def multipart_bodies(run: Run, content: bytes, content_type: str) -> list[Value]:
    """Return the parts of a message; each has headers and wrapped content."""
    boundary = next(iter(_parameter(content_type, "boundary")), "")
    if not boundary:
        raise EvaluationError("the content has several parts but does not name a boundary")
    run.spend(len(content) >> 6)
    mark = b"--" + boundary.encode("utf-8", "replace")
    parts = content.split(mark)[1:]
    run.check_items(len(parts), "message")
    bodies: list[Value] = []
    for part in parts[:_PARTS_MAX]:
        if part.startswith(b"--"):
            break
        head, _, body = part.removeprefix(b"\r\n").partition(b"\r\n\r\n")
        lines = (line.partition(":") for line in head.decode("utf-8", "replace").split("\r\n"))
        headers = {name.strip().lower(): value.strip() for name, mark, value in lines if mark}
        wrapped = envelope(body.removesuffix(b"\r\n"), headers.get("content-type") or OCTETS)
        bodies.append({"headers": headers, "body": wrapped})
    return bodies


_ESCAPED = str.maketrans({"\u0085": "\\u0085", "\u2028": "\\u2028", "\u2029": "\\u2029"})


def print_text(run: Run, value: Value) -> str:
    if isinstance(value, str):
        return value
    if value is None or value is UNDEFINED:
        return ""
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return float_text(value)
    if isinstance(value, Decimal):
        return format(value, "f")
    if is_envelope(value):
        return content_text(run, value)
    if isinstance(value, list | dict):
        run.spend(2 * measure(value, run.limits, run.text_max))
        written = _json_of(value)
        run.check_text(len(written), "JSON")
        return written
    raise EvaluationError(f"{kind_of(value)} cannot be printed")


def _json_of(value: Value) -> str:
    """Writes a value as compact JSON."""
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, list):
        return f"[{','.join([_json_of(item) for item in value])}]"
    if isinstance(value, dict):
        return f"{{{','.join([f'{quoted(key)}:{_json_of(item)}' for key, item in value.items()])}}}"
    if not isinstance(value, float | Decimal):
        return json.dumps(None if value is UNDEFINED else value)
    shown = float_text(value) if isinstance(value, float) else format(value, "f")
    if not math.isfinite(value):
        return quoted(shown)
    return shown if any(mark in shown for mark in ".E") else f"{shown}.0"


def quoted(text: str) -> str:
    written = json.dumps(text, ensure_ascii=False)
    return written if written.isascii() else written.translate(_ESCAPED)


def float_text(number: float) -> str:
    """Write a float as .NET does: the shortest digits that give it back."""
    if not math.isfinite(number):
        return "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"
    exact = Decimal(repr(number)).normalize()
    if not number or 1e-4 <= abs(number) < 1e15:
        return format(exact, "f")
    mantissa, _, power = format(exact, "E").partition("E")
    return f"{mantissa}E{power[0]}{power[1:].zfill(2)}"


def pay(run: Run, value: Value) -> Value:
    """Pays for the length of a value; infinite numbers are values here."""
    if isinstance(value, str):
        if len(value) > 63:
            run.check_text(len(value), "expression")
    elif isinstance(value, list | dict):
        run.check_items(len(value), "expression")
    return value


def to_plain_json(value: Value, limits: Limits) -> Json:
    """Turns a result into JSON: a decimal becomes a float, an infinite float its name."""
    if not isinstance(value, list | dict | float | Decimal):
        return to_result(value, limits)
    if isinstance(value, list | dict):
        measure(value, limits)
    return _plain(value)


def _plain(value: Value) -> Json:
    if isinstance(value, list):
        return [_plain(part) for part in value]
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, float) and not math.isfinite(value):
        return float_text(value)
    return None if value is UNDEFINED else value  # type: ignore[return-value]
