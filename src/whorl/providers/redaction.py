"""Secrets: they are held so that they never print, and removed from all output.

They are recognized in each form in which they may be written.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from bisect import bisect_left, bisect_right
from functools import lru_cache
from itertools import takewhile
from typing import TYPE_CHECKING, overload

from whorl.errors import ProviderError
from whorl.lazily import regex

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from whorl.language import Json


HIDDEN = "***"

_BASE64_MIN = 5
# Of a longer secret, a part that begins or ends it is hidden, too, from so many characters on:
# texts are cut before anybody can look for secrets in them. In front of a cut, less is enough.
_PART_MAX = 16
_CUT_PART_MIN = 6
_CUT_MARKS = ("...", "…", " characters left out]")
_CUT = regex(r"\.\.\.|…|\n\[[0-9]+ characters left out\]")
_LARGE_MIN = 1_000
_CUTS_MAX = 50
_EXCERPT_MAX = 5_000
# How many characters one may become in escapes, and in how many places of a text these are read.
_ESCAPED_MAX = 16
_WINDOWS_MAX = 100
_PLAIN = regex("[0-9A-Za-z]+")
_URL_SAFE = str.maketrans("+/", "-_")


class SecretPatterns:
    """The texts to find, with their beginnings and ends."""

    __slots__ = ("_by_first", "_cores", "_end_cores", "_heads", "_reach", "_tails", "texts")

    def __init__(self, texts: Iterable[str]) -> None:
        self.texts = tuple(sorted({*texts} - {""}, key=len, reverse=True))
        self._heads: dict[str, list[str]] = {}
        self._tails: dict[str, list[str]] = {}
        for text in self.texts:
            length = min(len(text), max(LENGTH_SURE, min(_PART_MAX, len(text) // 2)))
            self._heads.setdefault(text[:length], []).append(text)
            self._tails.setdefault(text[-length:], []).append(text)
        # ASCII letters and digits are never escaped, so these are in each text that has a part.
        self._cores = {_core(head) for head in self._heads}
        self._end_cores = {_core(tail) for tail in self._tails} - self._cores
        self._by_first: dict[str, list[str]] = {}
        for text in self.texts:
            self._by_first.setdefault(text[0], []).append(text)
        self._reach = len(self.texts[0]) - 1 if self.texts else 0

    def cores_in(self, text: str, *, is_large: bool) -> list[str]:
        """Returns the parts of the texts that are in `text`, even with escapes."""
        found = [core for core in self._cores if core in text]
        return found + [core for core in self._end_cores if core in text] if is_large else found

    def parts(self, text: str, *, is_large: bool) -> Iterator[tuple[int, int]]:
        """Yields where the texts are, also cut ones, as far as they are equal."""
        for head, texts in self._heads.items():
            at = text.find(head)
            while at >= 0:
                end = at + max(_same(text[at : at + len(each)], each) for each in texts)
                yield at, end
                at = text.find(head, end)
        # Only large texts lose their beginning, or what is in the middle.
        for tail, texts in self._tails.items() if is_large else ():
            end = text.find(tail) + len(tail)
            while end >= len(tail):
                befores = [(text[max(0, end - len(each)) : end], each) for each in texts]
                yield end - max(_same(before[::-1], each[::-1]) for before, each in befores), end
                end = text.find(tail, end) + len(tail)

    def wholes(self, text: str) -> Iterator[tuple[int, int]]:
        for each in self.texts:
            at = text.find(each)
            while at >= 0:
                yield at, at + len(each)
                at = text.find(each, at + len(each))

    def begun(self, text: str) -> int:
        """Counts the characters at the end of a text that begin one of the texts."""
        tail = text[-self._reach :] if self._reach else ""
        least = len(tail)
        for first, texts in self._by_first.items():
            start = tail.find(first, 0, least)
            while start >= 0:
                end = tail[start:]
                if any(each.startswith(end) and each != end for each in texts):
                    least = start
                    break
                start = tail.find(first, start + 1, least)
        return len(tail) - least


class Forms:
    """The forms in which secrets may be written, in upper and lower case."""

    __slots__ = ("_codes", "_least", "_plain", "_reach")

    def __init__(self, secrets: Iterable[str], *, is_changed: bool = False) -> None:
        """`is_changed`: the case of letters may change before a secret is encoded."""
        secrets = {*secrets}
        changed = {each for text in secrets for each in (text.upper(), text.lower())}
        coded = secrets | changed if is_changed else secrets
        forms = [f for text in secrets for each in _cases(text) for f in _written(each)]
        forms += [text.encode("utf-8", "replace").hex() for text in coded]
        self._plain = SecretPatterns(low for form in forms for low in (lowered(form), form.lower()))
        self._codes = SecretPatterns(code for text in coded for code in _codes(text))
        texts = (*self._plain.texts, *self._codes.texts)
        self._least = min((len(text) for text in texts), default=0)
        self._reach = max((len(text) for text in texts), default=0) * _ESCAPED_MAX

    def __bool__(self) -> bool:
        return self._least > 0

    def hide(self, value: str) -> str:
        """Returns the text without secrets, and without parts of cut ones."""
        if len(value) < min(self._least, _CUT_PART_MIN) or not self:
            return value
        is_cut = len(value) <= _EXCERPT_MAX and any(mark in value for mark in _CUT_MARKS)
        windows = [(0, len(value))] if is_cut else self._windows(value)
        is_large = len(value) >= _LARGE_MIN
        spans = [
            (start + begin, start + stop)
            for start, end in windows
            for layer in layers_of(value[start:end])
            for begin, stop in self._spans(layer, is_large=is_large, is_cut=is_cut)
        ]
        return _hidden(value, spans) if spans else value

    def may_be_in(self, value: str) -> bool:
        return bool(self._windows(value))

    def views(self, layer: Layer) -> Iterator[tuple[Layer, str, SecretPatterns]]:
        """Yields each view of a layer, with the patterns to find in it."""
        yield layer, lowered(layer.text), self._plain
        line = layer.without_breaks()
        yield line, line.text, self._codes

    def _windows(self, value: str) -> list[tuple[int, int]]:
        """Returns the parts of a text that may have secrets."""
        whole, is_large = [(0, len(value))], len(value) >= _LARGE_MIN
        found = list[tuple[int, int]]()
        low = lowered(value)
        looked = ((self._plain, low, low), (self._codes, value, on_one_line(value)))
        for sought, text, view in looked:
            for core in sought.cores_in(view, is_large=is_large):
                places = [*_places(text, core)] if core and is_large else []
                # It is everywhere, or broken into lines, or the text is small.
                if not places or len(found) + len(places) > _WINDOWS_MAX:
                    return whole
                found += [(at, at + len(core)) for at in places]
        if not found:
            return []
        windows = list[tuple[int, int]]()
        for begin, stop in sorted(found):
            start, end = max(0, begin - self._reach), min(len(value), stop + self._reach)
            if windows and start <= windows[-1][1]:
                start = windows.pop()[0]
            windows.append((start, end))
        return windows

    def _spans(self, whole: Layer, *, is_large: bool, is_cut: bool) -> Iterator[tuple[int, int]]:
        """Yields where in the original text the secrets of a layer are."""
        for layer, text, sought in self.views(whole):
            for span in sought.parts(text, is_large=is_large):
                yield layer.origin(*span)
            for cut in [*_CUT.finditer(text)][-_CUTS_MAX:] if is_cut else ():
                begun = sought.begun(text[: cut.start()])
                if begun >= _CUT_PART_MIN:
                    yield layer.origin(cut.start() - begun, cut.start())


def without_wholes(value: str, sought: list[Forms]) -> tuple[str, str]:
    """Returns the text without secrets, and the end that waits: it may begin a secret."""

    def views(text: str) -> Iterator[tuple[Layer, str, SecretPatterns]]:
        for layer in layers_of(text):
            for forms in sought:
                yield from forms.views(layer)

    spans = list[tuple[int, int]]()
    if any(forms.may_be_in(value) for forms in sought):
        spans += [layer.origin(*at) for layer, text, one in views(value) for at in one.wholes(text)]
    rest = value[max((end for _, end in spans), default=0) :]
    waiting = 0
    for layer, text, each in views(rest):
        end = len(text) - escape_begun(layer.text)
        start, _ = layer.origin(end - each.begun(text[:end]), end)
        waiting = max(waiting, len(rest) - start)
    shown = len(value) - waiting
    return _hidden(value[:shown], spans), value[shown:]


def _hidden(value: str, spans: list[tuple[int, int]]) -> str:
    """Returns the text with these parts hidden; overlapping parts count as one."""
    parts, done, hidden = list[str](), 0, 0
    for start, end in sorted(spans):
        if start >= hidden:
            parts += [value[done:start], HIDDEN]
            hidden = end
        hidden = done = max(hidden, end)
    return "".join([*parts, value[done:]])


def _core(part: str) -> str:
    return max(_PLAIN.findall(part), key=len, default="")


def _places(text: str, core: str) -> Iterator[int]:
    at = text.find(core)
    while at >= 0:
        yield at
        at = text.find(core, at + len(core))


def _same(one: str, other: str) -> int:
    """Counts the characters that two texts share at their beginning."""
    if one == other:
        return len(one)
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _cases(text: str) -> set[str]:
    """Returns the text in other cases; ASCII letters are compared without their case."""
    return {text, text.upper(), text.lower(), text.title(), text.capitalize(), text.swapcase()}


def _written(text: str) -> set[str]:
    """Returns a secret with its escapes read, with other spaces, and as bytes."""
    forms = {text, " ".join(text.split())}
    if has_marks(text):
        # What looks like an escape in the secret itself is read together with those around it.
        forms |= {layer.text for form in [*forms] for layer in layers_of(form)}
    forms |= {form.replace(" ", "+") for form in forms}
    if not text.isascii():
        forms |= {form.encode("utf-8", "replace").decode("latin-1") for form in forms}
    return forms


def _codes(text: str) -> set[str]:
    """Returns what base64 makes of a text at each offset, also inside JSON."""
    forms: set[str] = set()
    for written in {text, json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]}:
        content = written.encode("utf-8", "replace")
        for before in range(3):
            whole = b64encode(bytes(before) + content).decode("ascii").rstrip("=")
            end = len(whole) if (before + len(content)) % 3 == 0 else len(whole) - 1
            own = whole[(0, 2, 3)[before] : end]
            if len(own) >= _BASE64_MIN:
                forms |= {own, own.translate(_URL_SAFE)}
    return forms


# A text as it is, and with its escapes undone, layer by layer: secrets are looked for in each.

# JSON in JSON in a URL, and what looks like an escape in a secret itself.
LAYERS_MAX = 4

_MARKS = ("%", "\\", "&")
_ESCAPE = regex(
    r"%([0-9A-Fa-f]{2})"
    r"|\\(?:u([Dd][89ABab][0-9A-Fa-f]{2})\\u([Dd][C-Fc-f][0-9A-Fa-f]{2})"
    r"|x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|([\"'\\/bfnrtav]))"
    r"|&(?:#([0-9]{1,7})|#[xX]([0-9A-Fa-f]{1,6})|(amp|lt|gt|quot|apos));"
)
# The beginning of an escape, where a text that comes in pieces has come so far.
_ESCAPE_BEGUN = regex(
    r"(?:%[0-9A-Fa-f]?|(?:\\u[Dd][89ABab][0-9A-Fa-f]{2})?"
    r"\\(?:x[0-9A-Fa-f]?|u[0-9A-Fa-f]{0,3}|U[0-9A-Fa-f]{0,7})?"
    r"|\\u[Dd][89ABab][0-9A-Fa-f]{2}|&(?:#[xX]?[0-9A-Fa-f]{0,7}|[a-z]{0,4}))\Z"
)
_ESCAPE_MAX = 12
_LETTERS = dict(zip("bfnrtav", "\b\f\n\r\t\a\v", strict=True))
_NAMES = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
_CODE_MAX = 0x10FFFF
_BREAK = regex(r"[\r\n][ \t\r\n]*")
# By a mark whose absence shows quickly that a text has none.
_WRITTEN_BREAKS = {
    "\n": ("\n",),
    "\r": ("\r",),
    "\\": ("\\n", "\\r"),
    "%": ("%0A", "%0D", "%0a", "%0d"),
}


class Layer:
    """A text that was made of another one, with the place of each of its parts in that one."""

    __slots__ = ("_below", "_places", "_shifts", "text")

    def __init__(
        self,
        text: str,
        below: Layer | None = None,
        places: list[float] | None = None,
        shifts: list[int] | None = None,
    ) -> None:
        self.text = text
        self._below = below
        # From each place on, the text below is so much further. A character that was an escape has
        # its place in its middle, so that it is taken as a whole; what was left out has it between
        # two characters, and belongs to neither.
        self._places = places or []
        self._shifts = [0, *(shifts or [])]

    def origin(self, start: int, end: int) -> tuple[int, int]:
        """Returns the place of a part of this text in the original text."""
        if self._below is None:
            return start, end
        start += self._shifts[bisect_right(self._places, start)]
        end += self._shifts[bisect_left(self._places, end)]
        return self._below.origin(start, end)

    def without_escapes(self) -> Layer | None:
        """Returns the text with each escape read once, or None if it has none."""
        if not has_marks(self.text):
            return None
        found = [(match, _meaning(match)) for match in _ESCAPE.finditer(self.text)]
        return self._made(found) if found else None

    def without_breaks(self) -> Layer:
        """Returns the text as one line: programs break base64 into many."""
        found = [(match, "") for match in _BREAK.finditer(self.text)]
        return self._made(found) if found else self

    def _made(self, found: list[tuple[re.Match[str], str]]) -> Layer:
        parts, places, shifts = list[str](), list[float](), list[int]()
        done = length = 0
        for match, meaning in found:
            parts += (self.text[done : match.start()], meaning)
            length += match.start() - done + len(meaning)
            done = match.end()
            places.append(length - 0.5 if meaning else length)
            shifts.append(done - length)
        return Layer("".join([*parts, self.text[done:]]), self, places, shifts)


def layers_of(text: str) -> Iterator[Layer]:
    """Yields the text, then the text with its escapes read once, twice, ..."""
    layer: Layer | None = Layer(text)
    for _ in range(1 + LAYERS_MAX):
        if layer is None:
            return
        yield layer
        layer = layer.without_escapes()


def has_marks(text: str) -> bool:
    return any(mark in text for mark in _MARKS)


def escape_begun(text: str) -> int:
    """Counts the characters at the end of a text that begin an escape, or an escaped one."""
    end = len(text)
    while found := _ESCAPE_BEGUN.search(text, max(0, end - _ESCAPE_MAX), end):
        end = found.start()
    return len(text) - end


def on_one_line(text: str) -> str:
    """Returns the text without line breaks, including escaped ones."""
    for mark, breaks in _WRITTEN_BREAKS.items():
        for written in breaks if mark in text else ():
            text = text.replace(written, "")
    return text


def lowered(text: str) -> str:
    """Returns the text in lower case, with the same length."""
    low = text.lower()
    if len(low) == len(text):
        return low
    return "".join(low if len(low := letter.lower()) == 1 else letter for letter in text)


def _meaning(match: re.Match[str]) -> str:
    """Returns the meaning of an escape; a byte is the character of its number."""
    found = match.lastindex
    digits = match[found or 0]
    if found == 3:
        return chr(0x10000 + (int(match[2], 16) - 0xD800) * 0x400 + int(digits, 16) - 0xDC00)
    if found == 7:
        return _LETTERS.get(digits, digits)
    if found == 10:
        return _NAMES[digits]
    code = int(digits, 10 if found == 8 else 16)
    return chr(code) if code <= _CODE_MAX else "?"


# A shorter text protects nothing, and hiding it would mangle texts. So would hiding a short word
# or number: below the sure length, a key has characters of more than one kind.
LENGTH_MIN = 4
LENGTH_SURE = 8
# What people write where a key must be given and none is needed; hiding it would mangle texts.
PLACEHOLDERS = frozenset(
    (
        *("localhost", "llamacpp", "llama.cpp", "lmstudio", "lm-studio", "no-key", "no_key"),
        *("notneeded", "not-needed", "not_needed", "not-used", "placeholder", "api-key"),
        *("api_key", "password"),
    )
)
# Python reads no more as a whole number.
_DIGITS_MAX = 4_000
_NUMBER = regex(r"-?[0-9]+(?:\.[0-9]+)?(?:e[-+]?[0-9]+)?")


class Secret:
    """A text that prints as `***`; only the code that sends it calls `reveal`."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return HIDDEN

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return HIDDEN

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._text == self._text

    def __hash__(self) -> int:
        return hash(self._text)

    def __reduce__(self) -> tuple[type[Secret], tuple[str]]:
        raise TypeError("a secret is not stored")


@overload
def redact(value: str, secrets: Iterable[Secret]) -> str: ...
@overload
def redact(value: Json, secrets: Iterable[Secret]) -> Json: ...
def redact(value: Json, secrets: Iterable[Secret]) -> Json:
    """Returns the value with every secret in its texts and keys replaced by `***`."""
    forms = _forms(tuple(secrets))
    return _redacted(value, forms) if forms else value


def redact_error(
    fault: ProviderError, secrets: Iterable[Secret], detail: Mapping[str, Json] | None = None
) -> ProviderError:
    """Returns the error with more detail, and without secrets in its message and detail."""
    secrets = tuple(secrets)
    whole: dict[str, Json] = {**fault.detail, **(detail or {})}  # type: ignore[dict-item]
    redacted = redact(whole, secrets)
    assert isinstance(redacted, dict)
    return ProviderError(
        redact(str(fault), secrets),
        code=fault.code,
        retryable=fault.retryable,
        retry_after_s=fault.retry_after_s,
        detail={**redacted},
        answered=fault.answered,
    )


def is_worth_redacting(text: str) -> bool:
    """Whether a text is a key, and not a placeholder for one."""
    if text.lower() in PLACEHOLDERS or len(text) < LENGTH_MIN:
        return False
    kinds = (str.islower, str.isupper, str.isdigit, lambda mark: not mark.isalnum())
    return len(text) >= LENGTH_SURE or sum(any(map(kind, text)) for kind in kinds) > 1


class Redaction:
    """Removes from values what their owner has called secret, however simple it is.

    Hiding a short text everywhere would mangle others, so it is hidden only as a separate word. A
    number that equals one of the texts is also hidden, and so is a secret object or list.
    """

    __slots__ = ("_numbers", "_short", "_sizes", "_wholes", "_words", "forms")

    def __init__(self, secrets: Iterable[Json]) -> None:
        secrets = tuple(secrets)
        given = {text for text in secrets if isinstance(text, str) and text.strip()}
        long = {text for text in given if len(text.strip()) >= LENGTH_MIN}
        # A pasted key may have a line break, and a long one may be repeated line by line.
        whole = {text.strip() for text in long}
        lines = {line for text in whole for line in text.splitlines() if len(line) >= LENGTH_SURE}
        self.forms = Forms(long | whole | lines, is_changed=True)
        self._short = given - long
        words = "|".join(sorted(map(re.escape, self._short), key=len, reverse=True))
        self._words = re.compile(rf"(?<!\w)(?:{words})(?!\w)") if words else None
        self._numbers = {_number(text) for text in long if _NUMBER.fullmatch(text)}
        objects = [value for value in secrets if isinstance(value, dict | list)]
        self._sizes = {(type(value), len(value)) for value in objects}
        self._wholes = {text for text in map(_sorted, objects) if len(text) >= LENGTH_SURE}

    def value(self, value: Json) -> Json:
        if isinstance(value, str):
            value = self.forms.hide(value)
            return value if self._words is None else self._words.sub(HIDDEN, value)
        if isinstance(value, dict | list) and self._is_whole(value):
            return HIDDEN
        if isinstance(value, list):
            return [self.value(item) for item in value]
        if isinstance(value, dict):
            return {str(self.value(name)): self.value(item) for name, item in value.items()}
        if self._numbers and isinstance(value, int | float) and not isinstance(value, bool):
            is_known = value in self._numbers or -value in self._numbers
            return HIDDEN if is_known and len(json.dumps(value)) >= LENGTH_MIN else value
        return value

    def name(self, name: str) -> str:
        """Redacts a model's name, also with its provider; a short word only as a whole name."""
        provider, mark, own = self.forms.hide(name).rpartition("/")
        return f"{provider}{mark}{HIDDEN if own in self._short else own}"

    def _is_whole(self, value: dict[str, Json] | list[Json]) -> bool:
        return (type(value), len(value)) in self._sizes and _sorted(value) in self._wholes


def _number(text: str) -> int | float:
    return float(text) if {*".e"} & {*text} or len(text) > _DIGITS_MAX else int(text)


def _sorted(value: Json) -> str:
    return json.dumps(value, sort_keys=True)


class StreamedText:
    """A text that comes in pieces; an end that may begin a secret waits for the rest."""

    __slots__ = ("_forms", "_held")

    def __init__(self, secrets: Iterable[Secret], redaction: Redaction | None = None) -> None:
        own = redaction.forms if redaction else None
        self._forms = [forms for forms in (_forms(tuple(secrets)), own) if forms]
        self._held = ""

    def take(self, piece: str) -> str:
        if not self._forms:
            return piece
        shown, self._held = without_wholes(self._held + piece, self._forms)
        return shown

    def rest(self, *, is_whole: bool = False) -> str:
        """Returns the text that waited at the end; if it `is_whole`, it begins no secret."""
        held, self._held = self._held, ""
        return held if is_whole or len(held) < LENGTH_MIN else ""


@lru_cache(maxsize=32)
def _forms(secrets: tuple[Secret, ...]) -> Forms:
    return Forms(text for secret in secrets if is_worth_redacting(text := secret.reveal()))


def _redacted(value: Json, forms: Forms) -> Json:
    if isinstance(value, str):
        return forms.hide(value)
    if isinstance(value, list):
        return [_redacted(item, forms) for item in value]
    if isinstance(value, dict):
        return {forms.hide(key): _redacted(item, forms) for key, item in value.items()}
    return value
