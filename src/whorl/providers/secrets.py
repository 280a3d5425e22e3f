"""Secrets: held so that they are never printed, and taken out of everything that is."""

from __future__ import annotations

from typing import TYPE_CHECKING, overload
from urllib.parse import quote

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whorl.language import Json

HIDDEN = "***"

# Placeholders such as `none` or `ollama` are no secrets, and hiding them would mangle texts.
LENGTH_MIN = 8


class Secret:
    """A text that shows itself to nobody; `reveal` is called where it is sent, nowhere else."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """The text itself."""
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
    texts = _texts(secrets)
    return _redacted(value, texts) if texts else value


class StreamedText:
    """A text that comes in pieces: what may be the beginning of a secret waits for the rest."""

    __slots__ = ("_held", "_texts")

    def __init__(self, secrets: Iterable[Secret]) -> None:
        self._texts = _texts(secrets)
        self._held = ""

    def take(self, piece: str) -> str:
        """What may be shown now, with every secret replaced by `***`."""
        if not self._texts:
            return piece
        text = str(_redacted(self._held + piece, self._texts))
        shown = len(text) - max(_begun(text, secret) for secret in self._texts)
        self._held = text[shown:]
        return text[:shown]


def _begun(text: str, secret: str) -> int:
    """How many characters at the end of a text are the beginning of a secret."""
    tail = text[-(len(secret) - 1) :]
    start = tail.find(secret[0])
    while start >= 0:
        if secret.startswith(tail[start:]):
            return len(tail) - start
        start = tail.find(secret[0], start + 1)
    return 0


def _texts(secrets: Iterable[Secret]) -> tuple[str, ...]:
    found = {secret.reveal() for secret in secrets}
    long = {text for text in found if len(text) >= LENGTH_MIN}
    return tuple(sorted(long | {quote(text, safe="") for text in long}, key=len, reverse=True))


def _redacted(value: Json, texts: tuple[str, ...]) -> Json:
    if isinstance(value, str):
        for text in texts:
            if text in value:
                value = value.replace(text, HIDDEN)
        return value
    if isinstance(value, list):
        return [_redacted(item, texts) for item in value]
    if isinstance(value, dict):
        return {str(_redacted(key, texts)): _redacted(item, texts) for key, item in value.items()}
    return value
