"""The ways in which secrets may be written, and where they stand in a text."""

from __future__ import annotations

import json
from base64 import b64encode
from itertools import takewhile
from typing import TYPE_CHECKING

from whorl.lazily import regex
from whorl.providers.redaction.layers import (
    Layer,
    escape_begun,
    has_marks,
    layers_of,
    lowered,
    on_one_line,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

HIDDEN = "***"

_LENGTH_SURE = 8
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
    """Texts that are looked for, and how these begin and end."""

    __slots__ = ("_by_first", "_cores", "_end_cores", "_heads", "_reach", "_tails", "texts")

    def __init__(self, texts: Iterable[str]) -> None:
        self.texts = tuple(sorted({*texts} - {""}, key=len, reverse=True))
        self._heads: dict[str, list[str]] = {}
        self._tails: dict[str, list[str]] = {}
        for text in self.texts:
            length = min(len(text), max(_LENGTH_SURE, min(_PART_MAX, len(text) // 2)))
            self._heads.setdefault(text[:length], []).append(text)
            self._tails.setdefault(text[-length:], []).append(text)
        # Nobody escapes letters and digits of ASCII, so these are in each text that has a part.
        self._cores = {_core(head) for head in self._heads}
        self._end_cores = {_core(tail) for tail in self._tails} - self._cores
        self._by_first: dict[str, list[str]] = {}
        for text in self.texts:
            self._by_first.setdefault(text[0], []).append(text)
        self._reach = len(self.texts[0]) - 1 if self.texts else 0

    def cores_in(self, text: str, *, is_large: bool) -> list[str]:
        """What of them is in a text, even where they are in it with escapes."""
        found = [core for core in self._cores if core in text]
        return found + [core for core in self._end_cores if core in text] if is_large else found

    def parts(self, text: str, *, is_large: bool) -> Iterator[tuple[int, int]]:
        """Where they are, or what was cut of them, as far as it is the same."""
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
        """How many characters at the end of a text are the beginning of one of them."""
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
    """Every way in which secrets may be written: `in_any_case`, or as they are given."""

    __slots__ = ("_any_case", "_as_given", "_codes", "_least", "_reach")

    def __init__(
        self, in_any_case: Iterable[str], as_given: Iterable[str] = (), *, is_changed: bool = False
    ) -> None:
        """`is_changed`: letters may be changed before something is made of the secrets."""
        in_any_case, as_given = {*in_any_case}, {*as_given}
        cases = {each for text in in_any_case for each in _cases(text)}
        changed = {each for text in in_any_case for each in (text.upper(), text.lower())}
        coded = in_any_case | as_given | (changed if is_changed else set())
        forms = [form for text in cases for form in _written(text)]
        forms += [text.encode("utf-8", "replace").hex() for text in coded]
        self._any_case = SecretPatterns(
            low for form in forms for low in (lowered(form), form.lower())
        )
        self._as_given = SecretPatterns(form for text in as_given for form in _written(text))
        self._codes = SecretPatterns(code for text in coded for code in _codes(text))
        texts = (*self._any_case.texts, *self._as_given.texts, *self._codes.texts)
        self._least = min((len(text) for text in texts), default=0)
        self._reach = max((len(text) for text in texts), default=0) * _ESCAPED_MAX

    def __bool__(self) -> bool:
        return self._least > 0

    def hide(self, value: str) -> str:
        """The text without them, and without what was cut of them."""
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
        """Each way to look at a layer, and what is looked for in it."""
        if self._any_case.texts:
            yield layer, lowered(layer.text), self._any_case
        if self._as_given.texts:
            yield layer, layer.text, self._as_given
        line = layer.without_breaks()
        yield line, line.text, self._codes

    def _windows(self, value: str) -> list[tuple[int, int]]:
        """The parts of a text in which they may be."""
        whole, is_large = [(0, len(value))], len(value) >= _LARGE_MIN
        found = list[tuple[int, int]]()
        low, line = lowered(value), on_one_line(value)
        looked = ((self._any_case, low, low), (self._as_given, value, value))
        for sought, text, view in (*looked, (self._codes, value, line)):
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
        """Where they stand in a text, of what is found in a layer of it."""
        for layer, text, sought in self.views(whole):
            for span in sought.parts(text, is_large=is_large):
                yield layer.origin(*span)
            for cut in [*_CUT.finditer(text)][-_CUTS_MAX:] if is_cut else ():
                begun = sought.begun(text[: cut.start()])
                if begun >= _CUT_PART_MIN:
                    yield layer.origin(cut.start() - begun, cut.start())


def without_wholes(value: str, sought: list[Forms]) -> tuple[str, str]:
    """The text without them, and its end, which waits: that may begin one of them."""

    def views(text: str) -> Iterator[tuple[Layer, str, SecretPatterns]]:
        for layer in layers_of(text):
            for forms in sought:
                yield from forms.views(layer)

    spans = list[tuple[int, int]]()
    if any(forms.may_be_in(value) for forms in sought):
        spans += [
            layer.origin(*at) for layer, text, each in views(value) for at in each.wholes(text)
        ]
    rest = value[max((end for _, end in spans), default=0) :]
    waiting = 0
    for layer, text, each in views(rest):
        end = len(text) - escape_begun(layer.text)
        start, _ = layer.origin(end - each.begun(text[:end]), end)
        waiting = max(waiting, len(rest) - start)
    shown = len(value) - waiting
    return _hidden(value[:shown], spans), value[shown:]


def _hidden(value: str, spans: list[tuple[int, int]]) -> str:
    """The text without these parts of it; those that overlap are one."""
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
    """How many characters two texts have in common at their beginning."""
    if one == other:
        return len(one)
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _cases(text: str) -> set[str]:
    """A text with its letters changed; those of ASCII may be either wherever it is looked for."""
    return {text, text.upper(), text.lower(), text.title(), text.capitalize(), text.swapcase()}


def _written(text: str) -> set[str]:
    """A secret as it is once escapes are read, with spaces otherwise, and as bytes."""
    forms = {text, " ".join(text.split())}
    if has_marks(text):
        # What looks like an escape in the secret itself is read together with those around it.
        forms |= {layer.text for form in [*forms] for layer in layers_of(form)}
    forms |= {form.replace(" ", "+") for form in forms}
    if not text.isascii():
        forms |= {form.encode("utf-8", "replace").decode("latin-1") for form in forms}
    return forms


def _codes(text: str) -> set[str]:
    """What base64 makes of a text, whatever stands before and after it, also inside JSON."""
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
