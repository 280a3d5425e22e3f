"""Large JSON is read and written in pieces, and comes out as one call would have it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whorl.language import chunked_json
from whorl.language.chunked_json import read_pieces, write_pieces

if TYPE_CHECKING:
    from collections.abc import Iterator

DECODER = json.JSONDecoder()
ENCODE = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
TEXTS = st.text('ab",\\{}[]: é\n😀', max_size=15)
VALUES: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=12) | st.dictionaries(TEXTS, inner, max_size=8),
    max_leaves=40,
)


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Everything is large."""
    sizes = {"_WINDOW": 40, "_SMALL_WINDOW": 8, "_AT_ONCE": 3}
    for name, size in (sizes | {"_PARTS_LARGE": 4, "_CHARACTERS_LARGE": 10}).items():
        monkeypatch.setattr(chunked_json, name, size)
    return


@pytest.mark.slow
@given(VALUES)
def test_a_value_is_written_as_in_one_call(value: Any) -> None:
    assert "".join(write_pieces(value, ENCODE)) == ENCODE(value)
    assert "".join(write_pieces(value, json.dumps, " ")) == json.dumps(value)


@pytest.mark.slow
@given(VALUES, st.integers(0), st.sampled_from(["", *',]}":1x ']), st.booleans())
def test_a_broken_text_is_read_or_refused_as_in_one_call(
    value: Any, place: int, put: str, takes: bool
) -> None:
    text = json.dumps(value)
    at = place % (len(text) + 1)
    text = text[:at] + put + text[at + takes :]

    assert _outcome(read_pieces, text) == _outcome(lambda text, _: DECODER.decode(text), text)


def _outcome(read: Any, text: str) -> str:
    try:
        return repr(read(text, DECODER))
    except ValueError:
        return "refused"
