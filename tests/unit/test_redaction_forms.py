"""A secret is hidden however programs write it: in URLs, JSON, HTML, base64, hex, any letters."""

from __future__ import annotations

import html
import json
import random
import textwrap
from base64 import b64encode, encodebytes, urlsafe_b64encode
from urllib.parse import quote, quote_plus

import pytest

from campaign import seeds
from stopwatch import within
from whorl.providers.redaction import Redaction, Secret, StreamedText, redact

KEYS = (
    "sk-abc/def+ghi?1234",
    *("correct horse!battery(staple)", "Pass/word!ABCDEFGH"),
    "it's~a@key:with/every?mark&in=the+list,of;them*",
    *('quo"ted\\key-<9>', "schlüssel-ö/1234!", "emoji-😀-key(1)", 'has%20percent&amp;and\\nmore"9'),
)
# What encoders leave as it is: encodeURIComponent, encodeURI, httpx in a path and in a query.
SAFE = ("", "/", "!'()*~", ";,/?:@&=+$#!'()*~", "/!$&'()*+,;=:@~", "/?:@!$'()*,;", "~")


def written(key: str) -> list[str]:
    inside = json.dumps({"a": [f"<{key}>"]})
    urls = [quote(key, safe=safe) for safe in SAFE]
    return [
        *(*urls, inside, inside.replace("/", "\\/"), json.dumps(key, ensure_ascii=False)),
        *(url.lower() for url in urls),
        *(quote_plus(key), quote(quote(key, safe="")), quote(inside), quote_plus(inside)),
        *(json.dumps(inside), json.dumps(json.dumps(inside)), html.escape(inside)),
        html.escape(key, quote=True).replace("&#x27;", "&#39;"),
        *(ascii(key), repr(key.encode()), repr(inside), key.encode().decode("latin-1")),
        *(key.encode().hex(), key.encode().hex().upper(), key.title(), key.capitalize()),
        *(key.swapcase(), key.upper()),
    ]


@pytest.mark.parametrize("key", KEYS)
def test_a_secret_is_hidden_in_every_form(key: str) -> None:
    for form in written(key):
        text = f"<{form}>"
        for hidden in (redact(text, [Secret(key)]), str(Redaction([key]).value(text))):
            assert "***" in hidden, form
            # Nothing of it is left beside what stood around it.
            assert len(hidden.replace("***", "")) <= len(text) - len(key), (form, hidden)


@pytest.mark.parametrize("key", KEYS)
def test_what_stands_around_a_secret_stays(key: str) -> None:
    for safe in SAFE:
        text = f"GET /a%20b/{quote(key, safe=safe)}&c=%22d%22\n gave 400"

        assert redact(text, [Secret(key)]) == "GET /a%20b/***&c=%22d%22\n gave 400"


@pytest.mark.campaign
@pytest.mark.parametrize("seed", seeds(20, 2_000))
def test_each_character_may_be_written_as_it_is_or_encoded(seed: int) -> None:
    chance = random.Random(seed)
    marks = "!'()*~@:/?&=+,; \"<>#%"
    key = "sk" + "".join(chance.choice("aBc9" + marks) for _ in range(14)) + "x"
    coded = [f"%{ord(mark):02{chance.choice('xX')}}" for mark in key]
    mixed = "".join(
        one if mark in marks and (mark in '"% ' or chance.random() < 0.5) else mark
        for mark, one in zip(key, coded, strict=True)
    )

    assert redact(f"at /h/{mixed}/end", [Secret(key)]) == "at /h/***/end"


LONG = "".join(random.Random(7).choice("abcdefghijKLMNOP0123456789+/~") for _ in range(700))


@pytest.mark.parametrize("width", [64, 76])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\\n", "%0A", "\n  "])
@pytest.mark.parametrize("before", ["", "u", "us", "user:"])
def test_base64_is_hidden_over_all_its_lines(width: int, end: str, before: str) -> None:
    for encode in (b64encode, urlsafe_b64encode):
        lines = textwrap.wrap(encode(f"{before}{LONG}.".encode()).decode(), width)
        text = f"file:{end}{end.join(lines)}{end}the end"
        hidden = redact(text, [Secret(LONG)])

        assert len(hidden) < 60 + 2 * len(end)
        assert hidden.startswith("file:")
        assert hidden.endswith("the end")


def test_base64_of_a_short_secret_is_hidden_where_a_line_ends_in_it() -> None:
    key = "sk-12345-abcdef"
    for before in range(80):
        text = encodebytes(b"." * before + key.encode() + b"..").decode()
        hidden = redact(text, [Secret(key)])

        assert len(hidden.replace("***", "")) <= len(text) - len(key)


@pytest.mark.campaign
@pytest.mark.parametrize("seed", seeds(20, 2_000))
def test_no_form_is_shown_while_it_streams(seed: int) -> None:
    chance = random.Random(seed)
    key = chance.choice(KEYS)
    form = chance.choice(written(key))
    text = f"{chance.choice(('', 'so ', '%20'))}{form} and no more"
    stream = StreamedText([], Redaction([key])) if seed % 2 else StreamedText([Secret(key)])
    shown, rest = "", text
    while rest:
        size = chance.randint(1, 9)
        shown += stream.take(rest[:size])
        rest = rest[size:]
    shown += stream.rest(is_whole=True)

    assert shown.endswith(" and no more")
    assert "***" in shown
    assert len(shown.replace("***", "")) <= len(text) - len(key)


@pytest.mark.parametrize("key", ["hunter2", "ends-in-\\", *KEYS])
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


def test_looking_for_secrets_costs_little() -> None:
    secrets = [Secret(f"sk-{number}-abcdefghijklmnop") for number in range(5)]
    text = "Lorem ipsum dolor sit amet, consectetur. " * 25_000
    redact("", secrets)

    assert within(0.5, lambda: redact(text, secrets), tries=3) == text


CUT = "sk-live-AbCdEfGhIjKlMnOpQrStUvWxYz0123456789"


@pytest.mark.parametrize("shown", range(1, len(CUT)))
@pytest.mark.parametrize("after", ["...", "…", "; ask again", ""])
def test_of_a_key_that_was_cut_little_is_shown(shown: int, after: str) -> None:
    told = redact(f"gave status 500: xx{CUT[:shown]}{after}", [Secret(CUT)])
    rest = "x" * 1_000
    ended = redact(f"[7 characters left out]\n{CUT[-shown:]} behind {rest}", [Secret(CUT)])

    assert CUT[:16] not in told
    assert CUT[-16:] not in ended
    assert after not in ("...", "…") or CUT[:6] not in told


@pytest.mark.parametrize(
    "key", ["Zq7Core'x\"tail99", 'Zq7"Core\\tail99', "Zq7\x1bCore\x7ftail\xa099"]
)
@pytest.mark.parametrize("around", ["no/", "it's ", 'say " ', "'\""])
def test_a_key_is_hidden_as_python_quotes_it(key: str, around: str) -> None:
    shown = redact(f"file {around + key + '.txt'!r} cannot be read", [Secret(key)])

    assert "***" in shown
    assert "tail" not in shown
