"""Secrets: held so that they are never printed, and taken out of everything that is."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from functools import lru_cache
from itertools import takewhile
from typing import TYPE_CHECKING, overload
from urllib.parse import quote, quote_plus

from whorl.errors import ProviderError
from whorl.lazily import regex

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from whorl.language import Json

HIDDEN = "***"

# What is shorter protects nothing, and hiding it would mangle texts. So would hiding a short word
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
_CODED = regex("%[0-9A-F]{2}")
_NUMBER = regex(r"-?[0-9]+(?:\.[0-9]+)?(?:e[-+]?[0-9]+)?")
_URL_SAFE = str.maketrans("+/", "-_")


class Secret:
    """A text that shows itself to nobody; `reveal` is called where it is sent, nowhere else."""

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
    """The value with every secret in its texts and keys replaced by `***`."""
    forms = _forms(tuple(secrets))
    return _redacted(value, forms) if forms.texts else value


def redact_error(
    fault: ProviderError, secrets: Iterable[Secret], detail: Mapping[str, Json] | None = None
) -> ProviderError:
    """The error, with more detail, and with no secret in its message or its detail."""
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
    """Whether a key is one, and not a word that stands where none is needed."""
    if text.lower() in PLACEHOLDERS or len(text) < LENGTH_MIN:
        return False
    kinds = (str.islower, str.isupper, str.isdigit, lambda mark: not mark.isalnum())
    return len(text) >= LENGTH_SURE or sum(any(map(kind, text)) for kind in kinds) > 1


class Redaction:
    """Takes texts out of values that their owner has called secret, however simple they are.

    A short one would mangle texts, so it is hidden where it stands as a word of its own. A number
    that is one of them is hidden, too.
    """

    __slots__ = ("_numbers", "_short", "_words", "forms")

    def __init__(self, secrets: Iterable[str]) -> None:
        given = {text for text in secrets if text.strip()}
        long = {text for text in given if len(text.strip()) >= LENGTH_MIN}
        # Whoever pastes a key brings a line break along, and a long one may be told line by line.
        whole = {text.strip() for text in long}
        lines = {line for text in whole for line in text.splitlines() if len(line) >= LENGTH_SURE}
        parts = long | whole | lines
        cases = {case for text in parts for case in (text, text.upper(), text.lower())}
        self.forms = Forms(form for text in cases for form in _written(text))
        self._short = given - long
        words = "|".join(sorted(map(re.escape, self._short), key=len, reverse=True))
        self._words = re.compile(rf"(?<!\w)(?:{words})(?!\w)") if words else None
        self._numbers = {text for text in long if _NUMBER.fullmatch(text)}

    def value(self, value: Json) -> Json:
        if isinstance(value, str):
            value = self.forms.hide(value)
            return value if self._words is None else self._words.sub(HIDDEN, value)
        if isinstance(value, list):
            return [self.value(item) for item in value]
        if isinstance(value, dict):
            return {str(self.value(name)): self.value(item) for name, item in value.items()}
        if isinstance(value, int | float) and self._numbers and json.dumps(value) in self._numbers:
            return HIDDEN
        return value

    def name(self, name: str) -> str:
        """The name of a model, also with its provider; a short word is hidden as a whole name."""
        provider, mark, own = self.forms.hide(name).rpartition("/")
        return f"{provider}{mark}{HIDDEN if own in self._short else own}"


class Forms:
    """Every way in which secrets may be written, the longest first; and how these begin and end."""

    __slots__ = ("_heads", "_least", "_tails", "texts")

    def __init__(self, texts: Iterable[str]) -> None:
        self.texts = tuple(sorted(set(texts), key=len, reverse=True))
        self._heads: dict[str, list[str]] = {}
        self._tails: dict[str, list[str]] = {}
        for text in self.texts:
            length = min(len(text), max(LENGTH_SURE, min(_PART_MAX, len(text) // 2)))
            self._heads.setdefault(text[:length], []).append(text)
            self._tails.setdefault(text[-length:], []).append(text)
        self._least = min(map(len, self._heads), default=0)

    def hide(self, value: str) -> str:
        """The text without them, and without what was cut of them."""
        if len(value) < self._least:
            return value
        heads = [head for head in self._heads if head in value]
        # Only large texts lose their beginning, or what is in the middle.
        is_large = len(value) >= _LARGE_MIN
        tails = [tail for tail in self._tails if tail in value] if is_large else []
        if heads or tails:
            value = _without_whole(value, self.texts)
        for head in heads:
            value = _without_part(value, head, self._heads[head])
        for tail in tails:
            texts = [text[::-1] for text in self._tails[tail]]
            value = _without_part(value[::-1], tail[::-1], texts)[::-1]
        if len(value) > _EXCERPT_MAX or not any(mark in value for mark in _CUT_MARKS):
            return value
        for cut in reversed([*_CUT.finditer(value)][-_CUTS_MAX:]):
            before = value[: cut.start()]
            begun = max((_begun(before, text) for text in self.texts), default=0)
            if begun >= _CUT_PART_MIN:
                value = before[:-begun] + HIDDEN + value[cut.start() :]
        return value


def _without_whole(value: str, texts: tuple[str, ...]) -> str:
    for text in texts:
        if text in value:
            value = value.replace(text, HIDDEN)
    return value


def _without_part(value: str, head: str, texts: list[str]) -> str:
    """The text without what begins like this, as far as it is that of one of the secrets."""
    parts, at = list[str](), 0
    while (found := value.find(head, at)) >= 0:
        parts += [value[at:found], HIDDEN]
        at = found + max(_same(value, found, text) for text in texts)
    return "".join([*parts, value[at:]])


def _same(value: str, at: int, text: str) -> int:
    """How many characters of one text stand in another one, from a place on."""
    pairs = zip(value[at : at + len(text)], text, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


class StreamedText:
    """A text that comes in pieces: what may be the beginning of a secret waits for the rest."""

    __slots__ = ("_held", "_texts")

    def __init__(self, secrets: Iterable[Secret], redaction: Redaction | None = None) -> None:
        self._texts = _forms(tuple(secrets)).texts + (redaction.forms.texts if redaction else ())
        self._held = ""

    def take(self, piece: str) -> str:
        if not self._texts:
            return piece
        text = _without_whole(self._held + piece, self._texts)
        shown = len(text) - max(_begun(text, secret) for secret in self._texts)
        self._held = text[shown:]
        return text[:shown]

    def rest(self, *, is_whole: bool = False) -> str:
        """What waited when the text ended; where it `is_whole`, that begins no secret."""
        held, self._held = self._held, ""
        return held if is_whole or len(held) < LENGTH_MIN else ""


def _begun(text: str, secret: str) -> int:
    """How many characters at the end of a text are the beginning of a secret."""
    tail = text[-(len(secret) - 1) :]
    start = tail.find(secret[0])
    while start >= 0:
        if secret.startswith(tail[start:]):
            return len(tail) - start
        start = tail.find(secret[0], start + 1)
    return 0


@lru_cache(maxsize=32)
def _forms(secrets: tuple[Secret, ...]) -> Forms:
    texts = {secret.reveal() for secret in secrets}
    return Forms(form for text in texts if is_worth_redacting(text) for form in _written(text))


def _written(text: str) -> set[str]:
    """A secret as it is, in a URL, in JSON (also twice, also with `\\/`), in base64 and quoted."""
    forms = {text, " ".join(text.split()), quote_plus(text, errors="replace")}
    # As Python quotes it, whichever mark stands around it.
    quoted = [repr(f'"{part}')[2:-1] for part in text.split("'")]
    forms |= {"'".join(quoted), "\\'".join(quoted)}
    for safe in ("", "/"):
        coded = quote(text, safe=safe, errors="replace")
        forms |= {coded, _CODED.sub(lambda match: match[0].lower(), coded)}
    for once in (json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]):
        slashed = once.replace("/", "\\/")
        forms |= {once, slashed, json.dumps(once)[1:-1], json.dumps(slashed)[1:-1]}
    return forms | _base64(text.encode("utf-8", "replace"))


def _base64(content: bytes) -> set[str]:
    """What base64 makes of a text, whatever stands before and after it."""
    forms: set[str] = set()
    for before in range(3):
        whole = b64encode(bytes(before) + content).decode("ascii").rstrip("=")
        end = len(whole) if (before + len(content)) % 3 == 0 else len(whole) - 1
        own = whole[(0, 2, 3)[before] : end]
        if len(own) >= _BASE64_MIN:
            forms |= {own, own.translate(_URL_SAFE)}
    return forms


def _redacted(value: Json, forms: Forms) -> Json:
    if isinstance(value, str):
        return forms.hide(value)
    if isinstance(value, list):
        return [_redacted(item, forms) for item in value]
    if isinstance(value, dict):
        return {forms.hide(key): _redacted(item, forms) for key, item in value.items()}
    return value
