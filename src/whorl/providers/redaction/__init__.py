"""Secrets: held so that they are never printed, and taken out of everything that is."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import TYPE_CHECKING, overload

from whorl.errors import ProviderError
from whorl.lazily import regex
from whorl.providers.redaction.secret_patterns import HIDDEN, Forms, without_wholes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from whorl.language import Json

__all__ = [
    "HIDDEN",
    "LENGTH_SURE",
    "Redaction",
    "Secret",
    "StreamedText",
    "redact",
    "redact_error",
]

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
# Python reads no more as a whole number.
_DIGITS_MAX = 4_000
_NUMBER = regex(r"-?[0-9]+(?:\.[0-9]+)?(?:e[-+]?[0-9]+)?")


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
    return _redacted(value, forms) if forms else value


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
    """Takes out of values what their owner has called secret, however simple it is.

    A short text would mangle others, so it is hidden where it stands as a word of its own. A number
    that is one of the texts is hidden, too, and an object or a list where it is a value.
    """

    __slots__ = ("_numbers", "_short", "_sizes", "_wholes", "_words", "forms")

    def __init__(self, secrets: Iterable[Json]) -> None:
        secrets = tuple(secrets)
        given = {text for text in secrets if isinstance(text, str) and text.strip()}
        long = {text for text in given if len(text.strip()) >= LENGTH_MIN}
        # Whoever pastes a key brings a line break along, and a long one may be told line by line.
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
            is_long = is_known and len(json.dumps(value)) >= LENGTH_MIN
            return HIDDEN if is_long else value
        return value

    def name(self, name: str) -> str:
        """The name of a model, also with its provider; a short word is hidden as a whole name."""
        provider, mark, own = self.forms.hide(name).rpartition("/")
        return f"{provider}{mark}{HIDDEN if own in self._short else own}"

    def _is_whole(self, value: dict[str, Json] | list[Json]) -> bool:
        return (type(value), len(value)) in self._sizes and _sorted(value) in self._wholes


def _number(text: str) -> int | float:
    return float(text) if {*".e"} & {*text} or len(text) > _DIGITS_MAX else int(text)


def _sorted(value: Json) -> str:
    return json.dumps(value, sort_keys=True)


class StreamedText:
    """A text that comes in pieces: what may be the beginning of a secret waits for the rest."""

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
        """What waited when the text ended; where it `is_whole`, that begins no secret."""
        held, self._held = self._held, ""
        return held if is_whole or len(held) < LENGTH_MIN else ""


@lru_cache(maxsize=32)
def _forms(secrets: tuple[Secret, ...]) -> Forms:
    texts = {text for secret in secrets if is_worth_redacting(text := secret.reveal())}
    long = {text for text in texts if len(text) >= LENGTH_SURE}
    return Forms(long, texts - long)


def _redacted(value: Json, forms: Forms) -> Json:
    if isinstance(value, str):
        return forms.hide(value)
    if isinstance(value, list):
        return [_redacted(item, forms) for item in value]
    if isinstance(value, dict):
        return {forms.hide(key): _redacted(item, forms) for key, item in value.items()}
    return value
