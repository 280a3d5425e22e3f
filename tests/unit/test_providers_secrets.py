"""Secrets are taken out of texts in every form in which texts carry them, and words are not."""

from __future__ import annotations

import json
import re
from base64 import b64encode, urlsafe_b64encode
from urllib.parse import quote

import pytest

from stopwatch import within
from whorl.providers.redaction import Secret, StreamedText, redact

KEYS = ("hunter2", "sk-abc/def+ghi?1234", 'quo"ted\\key-9', "schlüssel-ö/1234", "ends-in-\\")


@pytest.mark.parametrize("key", KEYS)
def test_a_key_is_hidden_however_it_is_written(key: str) -> None:
    coded = quote(key, safe="")
    forms = [
        key,
        coded,
        re.sub("%..", lambda match: match[0].lower(), coded),
        quote(key),
        json.dumps(key),
        json.dumps(key, ensure_ascii=False),
        json.dumps(key).replace("/", "\\/"),
        json.dumps(json.dumps({"key": key})),
    ]
    for form in forms:
        hidden = redact(f"before {form} after", [Secret(key)])
        assert key not in hidden
        assert "***" in hidden, form


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("before", ["", "u", "us", "use", "user:"])
@pytest.mark.parametrize("after", ["", "x", "xy", "xyz"])
def test_a_key_is_hidden_in_base64(key: str, before: str, after: str) -> None:
    content = f"{before}{key}{after}".encode()
    for text in (b64encode(content).decode(), urlsafe_b64encode(content).decode().rstrip("=")):
        hidden = redact(text, [Secret(key)])
        assert "***" in hidden
        assert len(hidden.replace("***", "")) <= len(text) - len(key)


@pytest.mark.parametrize("word", ["x", "none", "ollama", "score", "1234", "lm-studio", "EMPTY"])
def test_a_placeholder_mangles_no_text(word: str) -> None:
    assert redact(f"the {word}s are 12345", [Secret(word)]) == f"the {word}s are 12345"


def test_what_waited_is_shown_when_a_text_ends() -> None:
    stream = StreamedText([Secret("sk-12345678")])

    assert (stream.take("this is"), stream.rest(), stream.rest()) == ("this i", "s", "")


def test_looking_for_secrets_costs_little() -> None:
    secrets = [Secret(f"sk-{number}-abcdefghijklmnop") for number in range(5)]
    text = "Lorem ipsum dolor sit amet, consectetur. " * 25_000
    redact("", secrets)

    assert within(0.5, lambda: redact(text, secrets), tries=3) == text


LONG = "sk-live-AbCdEfGhIjKlMnOpQrStUvWxYz0123456789"


@pytest.mark.parametrize("shown", range(1, len(LONG)))
@pytest.mark.parametrize("after", ["...", "…", "; ask again", ""])
def test_of_a_key_that_was_cut_little_is_shown(shown: int, after: str) -> None:
    told = redact(f"gave status 500: xx{LONG[:shown]}{after}", [Secret(LONG)])
    rest = "x" * 1_000
    ended = redact(f"[7 characters left out]\n{LONG[-shown:]} behind {rest}", [Secret(LONG)])

    assert LONG[:16] not in told
    assert LONG[-16:] not in ended
    assert after not in ("...", "…") or LONG[:6] not in told


def test_what_two_forms_of_a_key_have_in_common_leaves_nothing_of_the_longer_part() -> None:
    key = 'sk-0123456789-"abcdefghijklmnop"-qrstuvwxyz'
    for text in (key[:35], json.dumps(key)[1:36]):
        assert redact(f"<{text}", [Secret(key)]) == "<***"


@pytest.mark.parametrize(
    "key", ["Zq7Core'x\"tail99", 'Zq7"Core\\tail99', "Zq7\x1bCore\x7ftail\xa099"]
)
@pytest.mark.parametrize("around", ["no/", "it's ", 'say " ', "'\""])
def test_a_key_is_hidden_as_python_quotes_it(key: str, around: str) -> None:
    shown = redact(f"file {around + key + '.txt'!r} cannot be read", [Secret(key)])

    assert "***" in shown
    assert "tail" not in shown


def test_a_key_is_hidden_with_plus_signs_and_single_spaces() -> None:
    key = "Zq7Core  tail99 end"

    assert redact("q=Zq7Core++tail99+end Zq7Core tail99 end", [Secret(key)]) == "q=*** ***"
