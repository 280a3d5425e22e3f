"""Addresses that are refused, encoded and shown, and lists in pages that are too large."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whorl.errors import ProviderError
from whorl.providers.http import BYTES_MAX, all_pages
from whorl.providers.outbound.addresses import target_of
from whorl.providers.settings.tables import shown_url

ORIGIN = "https://example.com:8443"
# Everything but line breaks and other control characters, backslashes and lone surrogates.
TEXTS = st.text(
    st.characters(exclude_categories=("Cs",), exclude_characters="\\\x7f", min_codepoint=0x20)
    | st.sampled_from(" %\"'<>`{}|^[]?#&=+/@:é日😀"),
    max_size=60,
)


def refusal(url: str) -> str:
    with pytest.raises(ProviderError) as caught:
        target_of(url)
    assert caught.value.code == "P113"
    return str(caught.value)


@given(TEXTS, TEXTS, TEXTS)
def test_an_address_is_encoded_once_and_keeps_its_origin(
    path: str, query: str, fragment: str
) -> None:
    target = target_of(f"{ORIGIN}/{path}?{query}#{fragment}")

    assert target.origin == ORIGIN
    assert all("!" <= one <= "~" for one in target.path)
    assert target_of(f"{target.origin}{target.path}") == target


@given(TEXTS, TEXTS)
def test_no_host_has_a_space(before: str, after: str) -> None:
    host = re.sub(r"[/?#]", "", f"{before} {after}")

    assert refusal(f"https://{host}/")


@pytest.mark.parametrize(
    "host",
    [
        "exam ple.com",
        "example.com ",
        "1 ",
        "0x1 ",
        "1 .2",
        "ex<b>.com",
        "a%20b",
        " [::]",
        "a[::1]",
        "[::1]a:80",
    ],
)
def test_odd_characters_in_a_host_are_refused(host: str) -> None:
    assert "its host is not" in refusal(f"https://{host}/x")


@pytest.mark.parametrize("character", ["\n", "\r", "\t", "\0", "\x7f", "\\", "\ud800"])
@pytest.mark.parametrize("place", ["/p{}", "/?q=a{}b", "/#f{}", "{}/"])
def test_what_two_programs_could_read_in_two_ways_is_refused(character: str, place: str) -> None:
    assert f"it holds {character!r}, which" in refusal(ORIGIN + place.format(character))


def test_a_refused_address_is_shown_without_its_query() -> None:
    shown = refusal(f"{ORIGIN}/find\n?q=rust&api_key=hunter22#hunter22")

    assert f"the address '{ORIGIN}/find\\n' cannot" in shown


@pytest.mark.parametrize("mark", ["/v1/", "/#", "#", "/?", "?", "\\"])
def test_an_address_is_shown_with_the_host_that_is_connected_to(mark: str) -> None:
    shown = shown_url(f"http://127.0.0.1:8971{mark}@api.openai.com/v1")

    assert shown.startswith("'http://127.0.0.1:8971")


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://me:pass@host:1/x?key=1", "'http://host:1/x'"),
        ("//me:pass@host/x", "'//host/x'"),
        ("http:/me:pass@host", "'http:host'"),
        ("http://@@host", "'http://host'"),
        ("http://\u0430pi.openai.com", r"'http://\u0430pi.openai.com'"),
        (f"http://{'a.' * 200}evil.example", f"'http://{'a.' * 200}evil.example'"),
        (f"http://host/{'a' * 2_000}", f"'http://host/{'a' * 999}...'"),
        ("env:PLACE", "'env:PLACE'"),
    ],
)
def test_an_address_is_shown_without_what_is_secret(url: str, shown: str) -> None:
    assert shown_url(url) == shown


def test_pages_that_are_too_large_together_are_refused() -> None:
    async def fetch(place: str) -> tuple[dict[str, Any], int]:
        body = {"value": [1], "nextLink": f"{place}0"}
        return {"status": 200, "body": body}, BYTES_MAX // 2

    first: dict[str, Any] = {"status": 200, "body": {"value": [1], "nextLink": "/2"}}
    with pytest.raises(ProviderError, match="25,000,000 bytes") as refused:
        asyncio.run(all_pages(first, 10, 100, fetch))

    assert refused.value.code == "P106"
