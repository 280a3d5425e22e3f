"""Large JSON is read and written in pieces, and comes out as one call would have it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whorl.language import chunked_json
from whorl.language.chunked_json import is_large, read_pieces, write_pieces

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
@given(VALUES, st.sampled_from([None, 0, 2]), st.booleans())
def test_a_text_is_read_as_in_one_call(value: Any, indent: int | None, is_ascii: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=is_ascii)

    assert repr(read_pieces(text, DECODER)) == repr(DECODER.decode(text))


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


@pytest.mark.parametrize("number", ["1234567.5", "1234567e5", "123456e+5", "-123456E-5"])
def test_a_number_that_is_cut_in_the_middle_is_whole(number: str) -> None:
    text = f"[{number}, [{'1,' * 50}1]]"

    assert read_pieces(text, DECODER) == DECODER.decode(text)


def test_a_refusal_says_where() -> None:
    text = json.dumps(list(range(99)))[:-1] + ", oops]"
    with pytest.raises(json.JSONDecodeError) as caught:
        read_pieces(text, DECODER)

    assert caught.value.pos == text.index("oops")


def test_no_call_gets_more_than_a_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is around it: one call for a large value would hold up everybody else."""
    monkeypatch.undo()
    longest: list[int] = []

    def encode(value: Any) -> str:
        longest.append(len(ENCODE(value)))
        return ENCODE(value)

    records = [{"id": number, "tags": ["a", "b"]} for number in range(20_000)]
    value = {
        "a": [{"b": records}],
        "text": "x" * 900_000,
        "names": dict.fromkeys(map(str, records)),
    }
    assert "".join(write_pieces(value, encode)) == ENCODE(value)
    assert max(longest) < 300_000
    assert is_large(value)


def test_how_large_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    assert [is_large(value) for value in (1, "x" * 200_000, [1] * 5_000, {"a": ["b"]})] == [
        False
    ] * 4
    large = ("x" * 200_001, [1] * 5_001, {"a": [["x" * 100_001]] * 2}, [[0] * 99] * 99)
    assert all(map(is_large, large))
