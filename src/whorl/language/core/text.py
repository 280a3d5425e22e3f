"""Filters on texts and numbers, and between values and JSON text."""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING

from whorl.language.calls import Family, FunctionEntry, Run, number, positive, text, whole
from whorl.language.chunked_json import refuse_constant
from whorl.language.faults import EvaluationError, LimitExceeded
from whorl.language.operators import fill_percent
from whorl.language.values import well_formed

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.language.values import Value

_WORD_START = re.compile(r"([-\s({\[<]+)")
_WORD = re.compile(r"\w+")
_STRETCH = re.compile(r"\s+|\S+")
# A line that begins or ends a block of code in Markdown; only one that begins it names a language.
_FENCE = re.compile(r" {0,3}(`{3,}+|~{3,}+)[ \t]*+([^\s`]*+)[^`\n]*+$")
_FEW_CHARS = 64
_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "'": "&#39;", '"': "&#34;"})


def title(run: Run, value: Value) -> str:
    subject, words, end = run.text(value), [""], 0
    run.spend(1 + (len(subject) >> 4))
    # One by one: a single call that goes through a long text would hold up other threads.
    for mark in _WORD_START.finditer(subject):
        run.spend(2)
        words += (subject[end : mark.start()], mark[0])
        end = mark.end()
    words.append(subject[end:])
    return "".join(word[0].upper() + word[1:].lower() for word in words if word)


def trim(run: Run, value: Value, chars: Value) -> str:
    return stripped(run.text(value), None if chars is None else text(chars, "trim", "chars"))


def stripped(value: str, chars: str | None, *, left: bool = True, right: bool = True) -> str:
    """Strip characters from the ends; Python's own way takes the product of both lengths."""
    if chars is None or len(chars) <= _FEW_CHARS:
        if left and right:
            return value.strip(chars)
        return value.lstrip(chars) if left else value.rstrip(chars)
    gone = set(chars)
    start, end = 0, len(value)
    while left and start < end and value[start] in gone:
        start += 1
    while right and end > start and value[end - 1] in gone:
        end -= 1
    return value[start:end]


def replace(run: Run, value: Value, old: Value, new: Value, count: Value) -> str:
    subject, old, new = run.text(value), run.text(old), run.text(new)
    limit = -1 if count is None else whole(count, "replace", "count")
    places = subject.count(old) if old else len(subject) + 1
    if limit >= 0:
        places = min(places, limit)
    run.spend(len(subject) >> 6)
    run.check_text(len(subject) + places * (len(new) - len(old)), "replace")
    return subject.replace(old, new, limit)


def indent(run: Run, value: Value, width: Value, first: Value, blank: Value) -> str:
    """Lines after the first begin with spaces, or with the given text."""
    subject = run.text(value)
    if isinstance(width, str):
        margin = width
    else:
        count = whole(width, "indent", "width")
        run.check_text(count, "indent")
        margin = " " * count
    run.limit_text(len(subject), "indent")
    lines = f"{subject}\n".splitlines()
    run.spend(len(lines))
    run.check_text(len(subject) + (len(margin) + 1) * len(lines), "indent")
    lines[1:] = [margin + line if line or blank else line for line in lines[1:]]
    joined = "\n".join(lines)
    return margin + joined if first else joined


def truncate(  # noqa: PLR0917
    run: Run, value: Value, length: Value, killwords: Value, end: Value, leeway: Value
) -> str:
    """Cut to a length, at a word unless `killwords`; up to `leeway` characters more are allowed."""
    subject, mark = run.text(value), run.text(end)
    size, slack = whole(length, "truncate", "length"), whole(leeway, "truncate", "leeway")
    if size < len(mark) or slack < 0:
        raise EvaluationError(f"truncate needs a length of at least {len(mark)}, not {size}")
    if len(subject) <= size + slack:
        return subject
    kept = subject[: size - len(mark)]
    return (kept if killwords else kept.rsplit(" ", 1)[0]) + mark


def wordcount(run: Run, value: Value) -> int:
    subject = run.text(value)
    run.spend(len(subject) >> 8)
    return sum(1 for _ in _WORD.finditer(subject))


def wordwrap(  # noqa: PLR0917
    run: Run,
    value: Value,
    width: Value,
    break_long_words: Value,
    wrapstring: Value,
    break_on_hyphens: Value,
) -> str:
    """Lines broken at a width."""
    import textwrap

    subject, size = run.text(value), positive(width, "wordwrap", "width")
    run.limit_text(len(subject), "wordwrap")
    mark = "\n" if wrapstring is None else run.text(wrapstring)
    longest = max((each.end() - each.start() for each in _STRETCH.finditer(subject)), default=0)
    # textwrap copies the rest of a long word or gap for each line that it cuts from it.
    run.spend((len(subject) >> 1) + (longest * longest // size >> 16))
    run.check_text(len(subject) * (1 + len(mark)) if size < len(mark) else len(subject), "wordwrap")
    wrapper = textwrap.TextWrapper(
        size,
        expand_tabs=False,
        replace_whitespace=False,
        break_long_words=bool(break_long_words),
        break_on_hyphens=bool(break_on_hyphens),
    )
    lines: list[str] = []
    for line in subject.splitlines():
        lines.append(mark.join(wrapper.wrap(line)))
    run.check_text(sum(map(len, lines)) + len(mark) * len(lines), "wordwrap")
    return mark.join(lines)


def escape(run: Run, value: Value) -> str:
    subject = run.text(value)
    run.check_text(len(subject) + 5 * sum(map(subject.count, "&<>'\"")), "escape")
    return subject.translate(_ESCAPES)


def format_values(
    run: Run, value: Value, values: tuple[Value, ...], named: dict[str, Value]
) -> str:
    if values and named:
        raise EvaluationError("format takes either values or named values, not both")
    return fill_percent(run, run.text(value), named if named else list(values))


def split(run: Run, value: Value, separator: Value, maxsplit: Value) -> list[str]:
    subject = run.text(value)
    return subject.split(*split_arguments(run, subject, separator, maxsplit))


def split_arguments(
    run: Run, subject: str, separator: Value, maxsplit: Value
) -> tuple[str | None, int]:
    """Check what a split needs, and that its result is not too long a list."""
    mark = None if separator is None else text(separator, "split", "separator")
    if mark == "":
        raise EvaluationError("split needs a separator that is not empty")
    limit = whole(maxsplit, "split", "maxsplit")
    run.limit_text(len(subject), "split")
    most = len(subject) // 2 + 1 if limit < 0 else min(len(subject) // 2, limit) + 1
    if most > run.items_max or mark is not None:
        count = len(subject.split()) if mark is None else subject.count(mark) + 1
        most = count if limit < 0 else min(count, limit + 1)
    run.check_items(most, "split")
    return mark, limit


def _with_affix(argument: str) -> Callable[[Run, Value, Value], bool]:
    operation = "startswith" if argument == "prefix" else "endswith"
    holds = getattr(str, operation)
    return lambda run, value, affix: holds(run.text(value), text(affix, operation, argument))


def urlencode(run: Run, value: Value) -> str:
    if not isinstance(value, dict):
        return _quoted(run, value, "/")
    run.spend(len(value) * 2)
    pairs = value.items()
    quoted = ["=".join(_quoted(run, part, "").replace("%20", "+") for part in p) for p in pairs]
    run.check_text(sum(map(len, quoted)) + len(quoted), "urlencode")
    return "&".join(quoted)


def _quoted(run: Run, value: Value, safe: str) -> str:
    from urllib.parse import quote

    subject = run.text(value)
    run.check_text(len(subject) * 3, "urlencode")
    return quote(subject, safe=safe, errors="replace")


def base64_encode(run: Run, value: Value) -> str:
    import base64

    subject = run.text(value)
    run.check_text(len(subject) * 4, "b64encode")
    return base64.b64encode(subject.encode("utf-8", "replace")).decode("ascii")


def base64_decode(run: Run, value: Value) -> str:
    import base64

    try:
        decoded = base64.b64decode(text(value, "b64decode", "value").encode("ascii"), validate=True)
    except ValueError:
        raise EvaluationError("b64decode was given a text that is not base64") from None
    return decoded.decode("utf-8", "replace")


def sha256(run: Run, value: Value) -> str:
    import hashlib

    subject = run.text(value)
    run.spend(len(subject) >> 8)
    return hashlib.sha256(subject.encode("utf-8", "replace")).hexdigest()


def code(run: Run, value: Value, language: Value) -> str:
    """The first block of code of a text, or the first of a language, without its fences."""
    subject = run.text(value)
    wanted = None if language is None else text(language, "code", "language").lower()
    first: str | None = None
    opening, start, end = "", 0, 0
    for line in subject.splitlines(keepends=True):
        run.spend(1 + (len(line) >> 6))
        fence, begin, end = _FENCE.match(line), end, end + len(line)
        if not opening and fence is not None:
            opening, start, named = fence[1], end, fence[2].lower()
        elif opening and fence is not None and fence[1].startswith(opening) and not fence[2]:
            if wanted in (None, named):
                return subject[start:begin]
            first, opening = subject[start:begin] if first is None else first, ""
    # A block without an end: the answer was cut.
    if opening and (first is None or wanted == named):
        return subject[start:]
    return subject if first is None else first


_text = Family("filter", "text")

TEXT: tuple[FunctionEntry, ...] = (
    _text("upper", lambda run, value: run.text(value).upper(), "the text in capital letters"),
    _text("lower", lambda run, value: run.text(value).lower(), "the text in small letters"),
    _text(
        "capitalize",
        lambda run, value: run.text(value).capitalize(),
        "the first letter a capital, the others small",
    ),
    _text("title", title, "every word begins with a capital"),
    _text("trim(chars=none)", trim, "without white space, or the given characters, at both ends"),
    _text("string", Run.text, "the value as text"),
    _text("safe", Run.text, "the value as text; templates escape nothing, so this changes nothing"),
    _text("replace(old, new, count=none)", replace, "every `old` replaced by `new`"),
    _text("indent(width=4, first=false, blank=false)", indent),
    _text("truncate(length=255, killwords=false, end='...', leeway=5)", truncate),
    _text("wordcount", wordcount, "how many words the text has"),
    _text(
        "wordwrap(width=79, break_long_words=true, wrapstring=none, break_on_hyphens=true)",
        wordwrap,
    ),
    _text("escape", escape, "the characters & < > ' \" as HTML entities"),
    _text("e", escape, "the same as escape"),
    _text("format(*values)", format_values, "the text with its `%s` placeholders filled in"),
    _text("split(separator=none, maxsplit=-1)", split, "a list of the parts between separators"),
    _text("startswith(prefix)", _with_affix("prefix"), "true if the text begins with `prefix`"),
    _text("endswith(suffix)", _with_affix("suffix"), "true if the text ends with `suffix`"),
    _text("urlencode", urlencode, "quoted for a URL; an object becomes a query string"),
    _text("b64encode", base64_encode, "the text's UTF-8 bytes in base64"),
    _text("b64decode", base64_decode, "the text decoded from base64"),
    _text(
        "code(language=none)",
        code,
        "the first block between ``` fences, or the first of a language; without fences the text",
    ),
    _text("sha256", sha256, "the SHA-256 hash of the text, in hexadecimal"),
)


# Filters on numbers, and between values and JSON text.

_DIGITS_MAX = 400


def absolute(run: Run, value: Value) -> Value:
    return run.check_number(abs(number(value, "abs")), "abs")


def to_integer(run: Run, value: Value, default: Value, base: Value) -> Value:
    radix = whole(base, "int", "base")
    if radix != 0 and not 2 <= radix <= 36:
        raise EvaluationError(f"int needs a base from 2 to 36, not {radix}")
    if isinstance(value, str) and len(value) > _DIGITS_MAX:
        return default
    try:
        number = int(value, radix) if isinstance(value, str) else int(value)  # type: ignore[call-overload]
    except (TypeError, ValueError, OverflowError):
        try:
            number = int(float(value))  # type: ignore[arg-type]
        except (TypeError, ValueError, OverflowError):
            return default
    return run.check_number(number, "int")


def to_float(run: Run, value: Value, default: Value) -> Value:
    if isinstance(value, str) and len(value) > _DIGITS_MAX:
        return default
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return default
    return number if math.isfinite(number) else default


def rounded(run: Run, value: Value, precision: Value, method: Value) -> Value:
    """Rounded; method common, ceil or floor."""
    subject, places = number(value, "round"), whole(precision, "round", "precision")
    if not -400 <= places <= 400:
        raise EvaluationError(f"round needs a precision from -400 to 400, not {places}")
    ways: dict[Value, Callable[[float], int]] = {"ceil": math.ceil, "floor": math.floor}
    if method == "common":
        return run.check_number(round(subject, places), "round")
    if not isinstance(method, str) or method not in ways:
        raise EvaluationError("round needs 'common', 'ceil' or 'floor' as its method")
    if not -18 <= places <= 18:
        raise EvaluationError(f"round needs a precision from -18 to 18 here, not {places}")
    scale = 10**places
    return run.check_number(ways[method](subject * scale) / scale, "round")


def make_range(run: Run, values: tuple[Value, ...], named: dict[str, Value]) -> list[int]:
    if named or not 1 <= len(values) <= 3:
        raise EvaluationError("range takes a stop, or a start and a stop, and a step")
    bounds = [whole(value, "range", "bounds") for value in values]
    if len(bounds) == 3 and bounds[2] == 0:
        raise EvaluationError("the step of a range cannot be 0")
    numbers = range(*bounds)
    count = max(0, -((numbers.start - numbers.stop) // numbers.step))
    run.check_items(count, "range")
    return list(numbers)


_numbers = Family("filter", "numbers")
_number_functions = Family("function", "numbers")

NUMBERS: tuple[FunctionEntry, ...] = (
    _numbers("abs", absolute, "the number without its sign"),
    _numbers("int(default=0, base=10)", to_integer, "a whole number, or the default"),
    _numbers("float(default=0.0)", to_float, "a number with decimals, or the default"),
    _numbers("round(precision=0, method='common')", rounded),
    _number_functions("range(*bounds)", make_range, "a list of numbers up to a stop"),
)


_INDENT_MAX = 16


def to_json(run: Run, value: Value, indent: Value) -> str:
    width = None if indent is None else whole(indent, "tojson", "indent")
    if width is not None and not 0 <= width <= _INDENT_MAX:
        raise EvaluationError(f"tojson needs an indent from 0 to {_INDENT_MAX}, not {width}")
    return run.json_text(value, width)


def from_json(run: Run, value: Value) -> Value:
    source = text(value, "fromjson", "value")
    run.check_text(len(source), "fromjson")
    run.spend(len(source) >> 4)

    def integer(digits: str) -> int | float:
        if len(digits) > 20:
            raise ValueError("an integer is beyond 64 bits")
        return run.check_number(int(digits), "fromjson")

    try:
        parsed: Value = json.loads(
            source, parse_constant=refuse_constant, parse_float=finite, parse_int=integer
        )
    except RecursionError:
        raise LimitExceeded("fromjson was given JSON that is nested too deeply") from None
    except ValueError as error:
        raise EvaluationError(f"fromjson was given a text that is not JSON: {error}") from None
    run.weigh(parsed)
    return without_surrogates(parsed) if "\\u" in source else parsed


def finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError("a number is too large")
    return number


def without_surrogates(value: Value) -> Value:
    """Replace lone surrogates, which no UTF-8 text can hold."""
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, list):
        return [without_surrogates(part) for part in value]
    if isinstance(value, dict):
        return {without_surrogates(key): without_surrogates(part) for key, part in value.items()}
    return value


_json = Family("filter", "json")

JSON: tuple[FunctionEntry, ...] = (
    _json("tojson(indent=none)", to_json, "the value as JSON"),
    _json("fromjson", from_json, "the value that a JSON text holds"),
)
