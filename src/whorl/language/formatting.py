"""Texts with places to fill in, `'%s'` and `'{}'`: bounded widths, no attribute access."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whorl.language.access import PATH_MAX, item_of
from whorl.language.faults import EvaluationError, LimitExceeded
from whorl.language.values import UNDEFINED, Value, kind_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from whorl.language.run import Run

WIDTH_MAX = 1_000
_NONE_LEFT = object()

_PERCENT = re.compile(
    r"%(?:\((?P<key>[^)]*)\))?(?P<flags>[-+ #0]*)(?P<width>\d*)(?:\.(?P<precision>\d*))?"
    r"(?P<type>[a-zA-Z%*]?)"
)
_FIELD = re.compile(r"(?P<root>[^.\[\]!:{}]*)(?P<path>(?:\.[^.\[\]!:{}]+|\[[^\]{}]+\])*)\Z")
_STEP = re.compile(r"\.([^.\[]+)|\[([^\]]+)\]")
_SPECIFICATION = re.compile(
    r"(?:.?[<>=^])?[-+ ]?#?0?(?P<width>\d*)[_,]?(?:\.(?P<precision>\d+))?[bcdeEfFgGnosxX%]?\Z"
)


def _check_width(*digits: str | None) -> None:
    for width in digits:
        if width and (len(width) > 4 or int(width) > WIDTH_MAX):
            raise LimitExceeded(f"a format takes at most {WIDTH_MAX} places, not {width}")


def fill_percent(run: Run, template: str, values: Value) -> str:
    """Fill the `%s`, `%d`, `%.2f`, `%(name)s` of a text."""
    named = values if isinstance(values, dict) else None
    waiting = iter(values if isinstance(values, list) else [values])
    out: list[str] = []
    size = end = 0
    for place in _PERCENT.finditer(template):
        run.spend(1)
        filled = _percent_place(run, place, named, waiting)
        out += (template[end : place.start()], filled)
        size += place.start() - end + len(filled)
        end = place.end()
        run.limit_text(size, "format")
    if named is None and next(waiting, _NONE_LEFT) is not _NONE_LEFT:
        raise EvaluationError("format was given more values than its text has places")
    run.check_text(size + len(template) - end, "format")
    out.append(template[end:])
    return "".join(out)


def _percent_place(
    run: Run, place: re.Match[str], named: Mapping[str, Value] | None, waiting: Iterator[Value]
) -> str:
    letter = place["type"]
    if letter == "%":
        return "%"
    if letter not in {*"diouxXeEfFgGsrac"}:
        raise EvaluationError(f"format does not know the place {place[0]!r}")
    _check_width(place["width"], place["precision"])
    if place["key"] is not None:
        if named is None or place["key"] not in named:
            raise EvaluationError(f"format was given no value named {place['key']!r}")
        value: Value = named[place["key"]]
    else:
        value = next(waiting, _NONE_LEFT) if named is None else named
        if value is _NONE_LEFT:
            raise EvaluationError("format was given fewer values than its text has places")
    precision = "" if place["precision"] is None else f".{place['precision']}"
    if letter in "sra":
        flags = place["flags"].replace("#", "")
        text = run.text(value) if letter == "s" else run.json_text(value)
        return f"%{flags}{place['width']}{precision}s" % text
    if not isinstance(value, int | float):
        raise EvaluationError(f"format place {place[0]!r} needs a number, not {kind_of(value)}")
    try:
        return f"%{place['flags']}{place['width']}{precision}{letter}" % value
    except (TypeError, ValueError, OverflowError) as error:
        raise EvaluationError(f"format place {place[0]!r}: {error}") from None


def fill_braces(
    run: Run, template: str, values: Sequence[Value], named: Mapping[str, Value]
) -> str:
    """Fill the `{}`, `{0}`, `{name.key}`, `{:.2f}` of a text."""
    out: list[str] = []
    listed = list(values)
    size = position = automatic = 0
    while position < len(template):
        run.spend(1)
        piece, field, position = _next_field(template, position)
        out.append(piece)
        size += len(piece)
        if field is not None:
            name, _, specification = field.partition(":")
            run.spend(2)
            value, automatic = _field_value(name, listed, named, automatic)
            filled = _format_field(run, value, specification)
            out.append(filled)
            size += len(filled)
        run.limit_text(size, "format")
    run.check_text(size, "format")
    return "".join(out)


def _next_field(template: str, start: int) -> tuple[str, str | None, int]:
    at = start
    while at < len(template) and template[at] not in "{}":
        at += 1
    literal = template[start:at]
    if at == len(template):
        return literal, None, at
    if template.startswith(("{{", "}}"), at):
        return literal + template[at], None, at + 2
    close = template.find("}", at)
    if template[at] == "}" or close < 0:
        raise EvaluationError("format has a brace without its partner", help="write `{{` for `{`")
    return literal, template[at + 1 : close], close + 1


def _field_value(
    name: str, values: list[Value], named: Mapping[str, Value], automatic: int
) -> tuple[Value, int]:
    if name.count(".") + name.count("[") > PATH_MAX:
        raise LimitExceeded(f"a place of a format has at most {PATH_MAX} parts")
    field = _FIELD.match(name)
    if field is None:
        raise EvaluationError(f"format does not know the place {'{' + name + '}'!r}")
    root = field["root"]
    if not root:
        root, automatic = str(automatic), automatic + 1
    if root.isdecimal() and len(root) < 10:
        value = item_of(values, int(root))
    else:
        value = named.get(root, UNDEFINED)
    for step in _STEP.finditer(field["path"]):
        key = step[1] or step[2]
        value = item_of(value, int(key) if key.isdecimal() and len(key) < 10 else key)
    if value is UNDEFINED:
        raise EvaluationError(f"format was given no value for {'{' + name + '}'!r}")
    return value, automatic


def _format_field(run: Run, value: Value, specification: str) -> str:
    if not specification:
        return run.text(value)
    allowed = _SPECIFICATION.match(specification)
    if allowed is None:
        raise EvaluationError(f"format does not know {specification!r}")
    _check_width(allowed["width"], allowed["precision"])
    if not isinstance(value, int | float) or isinstance(value, bool):
        value = run.text(value)
    try:
        return format(value, specification)
    except (TypeError, ValueError, OverflowError) as error:
        raise EvaluationError(f"format {specification!r}: {error}") from None
